# SPDX-License-Identifier: Apache-2.0
"""What sessions are compared with: a plain pipe loop, a Jupyter kernel, forks and bare branches of the same process."""

import os
import subprocess
import sys
import time

from service import PYTHON, clock_ms

# The least there can be: reads code by the line, runs it, says so. No sandbox, no checkpoint.
LOOP = """
import sys
space = {}
for line in sys.stdin:
    exec(line, space)
    sys.stdout.write("{}\\n")
    sys.stdout.flush()
"""

# fork, exit of the child, wait for it; and the return of fork alone.
FORKS = """
import os, time, gc
def forks(n):
    both, alone = [], []
    for _ in range(n):
        start = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        middle = time.perf_counter()
        os.waitpid(pid, 0)
        both.append((time.perf_counter() - start) * 1000)
        alone.append((middle - start) * 1000)
    return sorted(both)[n // 2], sorted(alone)[n // 2]
"""


class PipeLoop:
    """`exec` in a loop over pipes; @through is a program that stands between."""

    def __init__(self, preload="", through=()):
        self.process = subprocess.Popen(
            [*through, PYTHON, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        if preload:
            self.run(f"import {preload}")

    def run(self, code):
        start = clock_ms()
        self.process.stdin.write(code.encode() + b"\n")
        self.process.stdout.readline()
        return clock_ms() - start

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Bare:
    """Branches that are nothing else, of a process that has run @code; see bare.py."""

    def __init__(self, module, code=""):
        lean = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [PYTHON, "-I", os.path.join(os.path.dirname(__file__), "bare.py"), module, code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | lean)
        self.expect(b"ready\n")

    def expect(self, wanted):
        line = self.process.stdout.readline()
        if line != wanted:
            raise RuntimeError(f"bare.py: {line}")

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def run(self, code="print(1+1)", answer=b"2\n", n=1):
        """ms to the last answer of @n branches."""
        start = clock_ms()
        self.say((code.encode() + b"\n") * n)
        for _ in range(n):
            self.expect(answer)
        took = clock_ms() - start
        self.say(b"\n")
        self.expect(b"ended\n")
        return took

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def bare_is_possible():
    """May this user make namespaces, with a /proc of their own? Says so if not."""
    try:
        bare = Bare("os")
        bare.run()
        bare.close()
    except (OSError, RuntimeError) as e:
        print(f"  bare branches: left out: {e}", file=sys.stderr)
        return False
    return True


class Kernel:
    """ipykernel by jupyter_client."""

    def __init__(self):
        from jupyter_client.manager import start_new_kernel

        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or its debugger warns

        start = clock_ms()
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.start_ms = clock_ms() - start

    def run(self, code):
        start = clock_ms()
        wanted = self.client.execute(code)
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") == wanted and message["msg_type"] == "status":
                if message["content"]["execution_state"] == "idle":
                    break
        while self.client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != wanted:
            pass
        return clock_ms() - start

    def pid(self):
        return self.manager.provisioner.pid

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def kernel_is_here():
    """Are ipykernel and jupyter_client installed for this Python? Says so if not."""
    try:
        import ipykernel  # noqa: F401
        import jupyter_client  # noqa: F401
    except ImportError as e:
        print(f"  ipykernel: left out: {e} (apt install python3-ipykernel python3-jupyter-client)", file=sys.stderr)
        return False
    return True


def pause(ms):
    time.sleep(ms / 1000)
