# SPDX-License-Identifier: Apache-2.0
"""A kernel of Jupyter in tests: started as Jupyter does, with the client that the distribution has."""

import os
import queue
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

os.environ["JUPYTER_RUNTIME_DIR"] = tempfile.mkdtemp(dir=harness.TMP)
try:
    import jupyter_client
    import zmq
    from jupyter_client.kernelspec import KernelSpecManager
except ImportError:
    jupyter_client = zmq = KernelSpecManager = None

needed = unittest.skipIf(jupyter_client is None, "python3-jupyter-client is not installed")


def install(*options):
    """`retort kernel install` below a directory of its own. Returns: that of the kernels."""
    prefix = harness.make_dir()
    done = harness.retort("kernel", "install", "--prefix", prefix, *options)
    assert done.status == 0, done
    return os.path.join(prefix, "share", "jupyter", "kernels")


class Cell:
    """What a cell has shown, and its reply."""

    def __init__(self, reply, outputs):
        self.reply, self.outputs = reply["content"], outputs
        self.status = self.reply["status"]

    def text(self, name="stdout"):
        return "".join(c["text"] for kind, c in self.outputs if kind == "stream" and c["name"] == name)

    def all(self, kind):
        return [content for found, content in self.outputs if found == kind]

    @property
    def result(self):
        found = self.all("execute_result")
        return found[0]["data"]["text/plain"] if found else None

    def __repr__(self):
        return f"{self.reply}\n{self.outputs}"[:4000]


class Kernel:
    """A kernel and its client. `with Kernel("-m", "256m") as k: k.run("1 + 1")`"""

    def __init__(self, *options, name="retort", transport="tcp", env=None):
        specs = KernelSpecManager(kernel_dirs=[install(*options)])
        place = {"ip": os.path.join(harness.make_dir(), "k")} if transport == "ipc" else {}
        self.manager = jupyter_client.KernelManager(
            kernel_name=name, kernel_spec_manager=specs, transport=transport, **place)
        self.err = open(os.path.join(harness.make_dir(), "stderr"), "w+b")
        self.manager.start_kernel(env=harness.environment(env), cwd=harness.make_dir(), stderr=self.err)
        self.connect()

    def connect(self):
        self.kept = []
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=harness.TIMEOUT_S)

    @property
    def pid(self):
        return self.manager.provisioner.pid

    def said(self):
        """What the kernel has written to its stderr."""
        self.err.seek(0)
        return self.err.read().decode()

    def begin(self, code, **how):
        return self.client.execute(code, **how)

    def take(self, request):
        """The next message about a request; None if there is none now. Those about others are kept."""
        for said in self.kept:
            if said["parent_header"].get("msg_id") == request:
                self.kept.remove(said)
                return said
        for take in (self.client.get_iopub_msg, self.client.get_shell_msg, self.client.get_stdin_msg):
            try:
                self.kept.append(take(timeout=0.01))
            except queue.Empty:
                continue
        return None

    def end(self, request, answers=()):
        """Wait until a cell is done: for its reply, and until it is idle. Answers its questions."""
        outputs, self.questions, answers = [], [], list(answers)
        end, is_idle, reply = time.monotonic() + harness.TIMEOUT_S, False, None
        while not is_idle or reply is None:
            assert time.monotonic() < end, outputs
            said = self.take(request)
            if said is None:
                continue
            kind, content = said["msg_type"], said["content"]
            if kind == "execute_reply":
                reply = said
            elif kind == "input_request":
                self.questions.append(content["prompt"])
                self.client.input(answers.pop(0))
            elif kind == "status":
                is_idle = content["execution_state"] == "idle"
            elif kind != "execute_input":
                outputs.append((kind, content))
        return Cell(reply, outputs)

    def run(self, code, answers=None, **how):
        return self.end(self.begin(code, allow_stdin=answers is not None, **how), answers or ())

    def ask(self, request, **content):
        """Send a request on shell. Returns: the content of its reply."""
        message = self.client.session.msg(request, content)
        self.client.shell_channel.send(message)
        end = time.monotonic() + harness.TIMEOUT_S
        while True:
            assert time.monotonic() < end, request
            said = self.take(message["header"]["msg_id"])
            if said and said["msg_type"] == request.replace("_request", "_reply"):
                return said["content"]

    def close(self):
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel()
        self.err.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
