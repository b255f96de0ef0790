# SPDX-License-Identifier: Apache-2.0
"""Warnings, logs, stacks and debuggers in a box name no file of ours: what they say is what they say bare."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
PYTHON = "/usr/bin/python3"
SHOW = """
import asyncio, inspect, io, logging, pdb, sys, traceback, tracemalloc, warnings
warnings.simplefilter("always")
print(__file__, sys._getframe().f_code.co_filename, sys.argv[0])
async def f(): pass
f()
def warn(n): warnings.warn("%d up" % n, stacklevel=n)
for n in range(1, 8): warn(n)
warnings.warn("old", DeprecationWarning, stacklevel=3)
open("/etc/passwd")
logging.basicConfig(format="%(pathname)s:%(lineno)s %(funcName)s %(message)s")
def log(n): logging.warning("%d up", n, stacklevel=n, stack_info=n == 2)
for n in range(1, 6): log(n)
traceback.print_stack()
print(traceback.StackSummary.extract(traceback.walk_stack(None)).format()[0])
print([found.filename for found in inspect.stack()], [found.filename for found in traceback.extract_stack()])
def outer(): pdb.Pdb(stdin=io.StringIO("w\\nu\\nu\\n"), stdout=sys.stdout, nosigint=True).set_trace()
try: outer()
except BaseException as error: print(repr(error))
tracemalloc.start(9)
kept = [object() for _ in range(9)]
print(tracemalloc.get_object_traceback(kept).format())
found = [s for s in tracemalloc.take_snapshot().statistics("traceback")]
print([line for each in found for line in each.traceback.format() if "/retort" in line])
async def bad(): 1 / 0
async def main():
    print(asyncio.current_task())
    asyncio.create_task(bad())
    await asyncio.sleep(0)
asyncio.run(main(), debug=True)
tracemalloc.stop()
x = f()
y = open("/etc/passwd")
"""
ASKS = "RuntimeWarning: Enable tracemalloc", "ResourceWarning: Enable tracemalloc"
CELLS = """
import asyncio, inspect, io, logging, pdb, sys, traceback, tracemalloc, warnings
warnings.simplefilter("always")
async def f(): pass
f()
#
open("/etc/passwd")
#
def opened():
    y = open("/etc/passwd")
    1 / 0
opened()
#
1
#
2
#
3
#
4
#
async def h(): return asyncio.current_task()
print(asyncio.current_task(), await h(), asyncio.all_tasks())
(await h()).print_stack()
warnings.warn("x", stacklevel=9)
#
asyncio.create_task(f())
warnings.warn("x", stacklevel=9)
logging.warning("x", stack_info=True, stacklevel=9)
#
traceback.print_stack()
inspect.stack()
#
pdb.Pdb(stdin=io.StringIO("w\\nn\\nn\\n"), stdout=sys.stdout, nosigint=True).set_trace()
#
tracemalloc.start(20)
z = [object() for _ in range(99)]
#
[s.traceback.format() for s in tracemalloc.take_snapshot().statistics("traceback")]
#
open("/etc/passwd")
#
5
#
""".split("#\n")


class Files(harness.Case):
    @unittest.skipIf(sys.version_info < (3, 11), "before 3.11 logging counts every frame")
    def test_a_file_says_what_it_says_bare(self):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            with open(os.path.join(place, "x.py"), "w") as file:
                file.write(SHOW)
            bare, box = [
                subprocess.run(command, capture_output=True, text=True, cwd=place)
                for command in ([PYTHON, "x.py"], [harness.RETORT, "run", "x.py"])
            ]

            def lines(text):
                kept = [line for line in text.split("\n") if not line.startswith(ASKS) and " at 0x" not in line]
                return "\n".join(kept).replace(place, "/home/user")

            self.assertEqual(lines(box.stdout), lines(bare.stdout))
            self.assertEqual(lines(box.stderr), lines(bare.stderr))

    def test_a_traceback_and_a_syntax_error_name_the_path(self):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            for code in ("1/0\n", "f(\n", "import y\n"):
                for name in ("x.py", os.path.join(place, "x.py")):
                    for file, text in (("x.py", code), ("y.py", "def f(): 1/0\nf()\n")):
                        with open(os.path.join(place, file), "w") as out:
                            out.write(text)
                    bare = subprocess.run([PYTHON, name], capture_output=True, text=True, cwd=place)
                    box = subprocess.run(
                        [harness.RETORT, "run", "-v", "y.py", name], capture_output=True, text=True, cwd=place)
                    self.assertEqual(box.stderr, bare.stderr.replace(place, "/home/user"), name)


class Sessions(harness.Case):
    def test_cells_name_no_file_of_ours(self):
        engine = service.Engine()
        self.addCleanup(engine.stop)
        session, told = engine.session(), []
        for cell in CELLS:
            record = session.run(cell)
            told.append(record["stderr"])
            self.assertNotIn("/retort", str({key: record.get(key) for key in ("stdout", "stderr", "value", "error")}), cell)
        told = "".join(told)
        self.assertEqual(told.count("sys:1: RuntimeWarning: coroutine 'f' was never awaited"), 1)
        self.assertEqual(told.count("sys:1: ResourceWarning: unclosed file"), 2)
        self.assertEqual(told.count("sys:1: UserWarning: x"), 2)


if __name__ == "__main__":
    harness.main()
