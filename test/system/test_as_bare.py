# SPDX-License-Identifier: Apache-2.0
"""A program of Python's in a box sees of its interpreter what it would see in a bare one."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PYTHON = "/usr/bin/python3"
SHOW = """
import sys, __main__
print(repr(__main__) if not hasattr(__main__, "__file__") else "", __loader__ if "Built" in repr(__loader__) else "")
print(type(__loader__).__name__, getattr(__loader__, "__name__", ""), __spec__, __name__, __doc__, __package__)
print(sys.argv, sys.orig_argv[1:], sys.executable, sys.modules["__main__"] is __main__, vars(__main__) is globals())
print([getattr(sys.flags, name) for name in dir(sys.flags) if name[:1] != "_" and not callable(getattr(sys.flags, name))])
import subprocess
print(subprocess._args_from_interpreter_flags())
"""
MODULES = """
import copy, pickle, sys
import retort, retort.tools
def f(): pass
f.__module__ = None
print(pickle.whichmodule(f, "f"), hasattr(retort.tools, "x"), hasattr(tools, "y"), getattr(retort.skills, "z", 5))
def outer():
    def inner(): pass
    del inner.__module__
    return inner
try: pickle.dumps(outer())
except Exception as error: print(type(error).__name__, error)
space = {}; exec("x = 1", space)
again = copy.deepcopy(space)
print(again["x"], again["__builtins__"]["tools"] is tools, pickle.loads(pickle.dumps(tools)) is tools)
for wrong in (lambda: list(tools), lambda: len(tools), lambda: tools[0]):
    try: wrong()
    except TypeError: print("TypeError")
try: tools.web.search("x")
except retort.ToolDenied as error: print(isinstance(error, AttributeError), "a variable tools of its own" in str(error))
"""
CHILD = """
import subprocess, sys
args = [sys.executable, *subprocess._args_from_interpreter_flags(), "-c"]
print(args[1:], subprocess.run([*args, "import sys; print('site' in sys.modules)"], capture_output=True, text=True).stdout)
"""


class Python(harness.Case):
    def box(self, *args, cwd=None, stdin=None):
        done = subprocess.run([harness.RETORT, "run", *args], capture_output=True, text=True, cwd=cwd, input=stdin)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def bare(self, *args, cwd=None):
        plain = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
        return subprocess.run([PYTHON, *args], capture_output=True, text=True, cwd=cwd, env=plain, check=True).stdout

    def test_how_it_was_started(self):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            with open(os.path.join(place, "x.py"), "w") as file:
                file.write(SHOW)
            for args in (["-c", SHOW, "a", "b"], ["x.py", "a"]):
                self.assertEqual(self.box(*args, cwd=place), self.bare(*args, cwd=place))

    def test_modules_of_ours(self):
        self.assertEqual(self.box("-c", MODULES).split("\n"), [
            "__main__ False False 5", "AttributeError Can't pickle local object 'outer.<locals>.inner'",
            "1 True True", "TypeError", "TypeError", "TypeError", "True True", ""])

    def test_children_are_started_as_bare_ones(self):
        self.assertEqual(self.box("-c", CHILD), "['-c'] True\n\n")


if __name__ == "__main__":
    harness.main()
