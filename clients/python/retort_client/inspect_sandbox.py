# SPDX-License-Identifier: Apache-2.0
"""A sandbox provider for inspect_ai: `sandbox="retort"`.

Each sample gets a session of its own, whose box is its sandbox. The sandbox may be configured:

    Task(..., sandbox=("retort", "box.json"))    # parameters of `session.create`: limits, net, template, ...

The engine is that of RETORT_URL, or one that the provider starts for the task.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import shlex

from inspect_ai.util import (ExecResult, OutputLimitExceededError, SandboxConnection, SandboxEnvironment,
                             SandboxEnvironmentLimits, sandboxenv)
from pydantic import BaseModel

try:
    from inspect_ai.util import SandboxUnavailableError, SandboxUserUnsupportedError
except ImportError:  # older versions
    SandboxUnavailableError = SandboxUserUnsupportedError = RuntimeError

from .client import Client, Failed, Session

HOME = "/home/user"
ARGV_BYTES = 64 << 10  # of `process.start`; longer command lines go through a file
WAIT_S = 20  # for the rest of the output, when a program was killed
# Runs the program whose arguments a file has, separated by NUL.
FROM_FILE = ("import os, sys\nargs = open(sys.argv[1], 'rb').read().split(b'\\0')[:-1]\nos.remove(sys.argv[1])\n"
             "os.execvp(args[0], args)\n")

_client: Client | None = None


def _shared() -> Client:
    global _client
    if _client is None:
        _client = Client()
    return _client


class RetortConfig(BaseModel, frozen=True):
    """Parameters of `session.create`."""

    create: str = "{}"


def _parameters(config) -> dict:
    if config is None:
        return {}
    if isinstance(config, RetortConfig):
        return json.loads(config.create)
    if isinstance(config, str):
        with open(config, encoding="utf-8") as f:
            found = json.load(f)
        if not isinstance(found, dict):
            raise ValueError(f"{config}: not an object with parameters of session.create")
        return found
    raise ValueError(f"retort: cannot use a {type(config).__name__} as the configuration of a sandbox")


def _raise(failed: Failed, path: str):
    """As open() would: @path is what the caller has named."""
    text = str(failed)
    if failed.code == "not_found":
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path) from failed
    if failed.code == "access":
        raise PermissionError(errno.EACCES, "Permission denied", path) from failed
    if ": a directory" in text:
        raise IsADirectoryError(errno.EISDIR, "Is a directory", path) from failed
    if failed.code in ("gone", "box"):
        raise SandboxUnavailableError(text) from failed
    raise failed


@sandboxenv(name="retort")
class RetortSandboxEnvironment(SandboxEnvironment):
    """A box of retort."""

    def __init__(self, session: Session):
        super().__init__()
        self.session = session

    # ---- the life of a sandbox ----

    @classmethod
    def config_files(cls) -> list[str]:
        return ["retort.json"]

    @classmethod
    def config_deserialize(cls, config: dict) -> BaseModel:
        return RetortConfig(create=json.dumps(config["create"]) if isinstance(config.get("create"), dict)
                            else config.get("create", "{}"))

    @classmethod
    def default_concurrency(cls) -> int | None:
        return 2 * (os.cpu_count() or 1)

    @classmethod
    async def sample_init(cls, task_name, config, metadata):
        client = await asyncio.to_thread(_shared)
        session = await asyncio.to_thread(client.session, **_parameters(config))
        return {"default": cls(session)}

    @classmethod
    async def sample_cleanup(cls, task_name, config, environments, interrupted):
        for environment in environments.values():
            await asyncio.to_thread(environment.session.close)

    @classmethod
    async def task_cleanup(cls, task_name, config, cleanup):
        global _client
        if cleanup and _client is not None:
            client, _client = _client, None
            await asyncio.to_thread(client.close)

    async def connection(self, *, user=None) -> SandboxConnection:
        url = self.session.client.url
        where = f"--socket {shlex.quote(url[len('unix:'):])} " if url.startswith("unix:") else ""
        return SandboxConnection(type="retort", command=f"retort exec {where}-it {self.session.id} -- bash -l")

    # ---- programs ----

    def _argv(self, cmd: list[str]) -> list[str]:
        """The command line as it is, or one that reads it from a file if it is too long."""
        if sum(len(word.encode()) + 1 for word in cmd) <= ARGV_BYTES:
            return cmd
        path = f"/tmp/argv-{base64.b32encode(os.urandom(10)).decode().lower()}"
        self.session.write_file(path, b"".join(word.encode() + b"\0" for word in cmd))
        return ["python3", "-c", FROM_FILE, path]

    def _exec(self, cmd, data, cwd, env, timeout):
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        more = {"cwd": os.path.join(HOME, cwd)} if cwd else {}
        if env:
            more["env"] = env
        if timeout:
            more["timeout_ms"] = int(timeout * 1000)
        try:
            about, stdout, stderr = self.session.exec(self._argv(cmd), stdin=data, max_bytes=limit + 1, **more)
        except Failed as failed:
            if failed.code == "access" or "Permission denied" in str(failed):
                raise PermissionError(errno.EACCES, "Permission denied", cmd[0]) from failed
            if failed.code in ("not_found", "runtime"):  # what a shell would say of the program
                return ExecResult(False, 127, "", f"{failed}\n")
            if failed.code in ("gone", "box"):
                raise SandboxUnavailableError(str(failed)) from failed
            raise
        if about.get("timed_out"):
            raise TimeoutError(f"{shlex.join(cmd)[:200]}: over {timeout} s")
        if about.get("ended"):
            raise SandboxUnavailableError(f"the program has ended with its box: {about['ended']}")
        for text in (stdout, stderr):
            if len(text) > limit:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
                                               text[:limit].decode(errors="replace"))
        signal = about.get("signal")
        code = 128 + signal if signal else about.get("exit_code", 0)
        return ExecResult(code == 0, code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))

    async def exec(self, cmd, input=None, cwd=None, env=None, user=None, timeout=None, timeout_retry=True,
                   concurrency=True) -> ExecResult[str]:
        if user is not None and str(user) not in ("user", "1000"):
            raise SandboxUserUnsupportedError(f"a box of retort has one user, 'user': {user!r} is not there")
        data = input.encode() if isinstance(input, str) else input
        return await asyncio.to_thread(self._exec, list(cmd), data, cwd, env, timeout)

    # ---- files ----

    async def write_file(self, file: str, contents: str | bytes) -> None:
        try:
            await asyncio.to_thread(self.session.write_file, file, contents)
        except Failed as failed:
            _raise(failed, file)

    async def read_file(self, file: str, text: bool = True):
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            data = await asyncio.to_thread(self.session.read_file, file, limit)
        except Failed as failed:
            _raise(failed, file)
        if len(data) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return data.decode() if text else data
