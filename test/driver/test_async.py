# SPDX-License-Identifier: Apache-2.0
"""Top-level await, and the loop that goes on: /usr/bin/python3 -I test_async.py DRIVER_DIR [unittest args]"""

import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_driver  # noqa: E402
from test_driver import Driver, once  # noqa: E402


class Async(test_driver.Case):
    def test_top_level_await(self):
        with Driver() as driver:
            got = self.ok(driver.step("import asyncio\nawait asyncio.sleep(0, 5)"))
            self.assertEqual(got.text, "5")
            driver.step("async def f():\n  return asyncio.get_running_loop()\nloop = await f()")
            self.assertEqual(driver.step("loop is await f()").text, "True")
            self.assertEqual(driver.step("[x async for x in (i async for i in g())] "
                                         "if 0 else asyncio.run(asyncio.sleep(0, 7))").result["status"], "error")
            self.assertEqual(driver.step("asyncio.run(asyncio.sleep(0, 7))").text, "7")
            self.assertEqual(driver.step("await asyncio.sleep(0, 8)").text, "8")
            got = self.fails(driver.step("async def g():\n  1/0\nawait g()"), "ZeroDivisionError")
            self.assertIn("in g", got.trace)

    def test_tasks_of_steps_that_do_not_await(self):
        with Driver() as driver:
            driver.step("import asyncio, os\nasync def f(n):\n  await asyncio.sleep(0)\n  return n\n"
                        "def start(n): return asyncio.create_task(f(n))\nt = asyncio.create_task(f(1)); u = start(2)")
            self.assertEqual(driver.step("await t, await u").text, "(1, 2)")
            driver.step("loop = asyncio.get_event_loop(); t = loop.create_task(f(3))")
            self.assertEqual(driver.step("await t, loop is asyncio.get_running_loop()").text, "(3, True)")
            driver.step("t = asyncio.get_running_loop().create_task(f(4))")
            self.assertEqual(driver.step("asyncio.run(f(5)), asyncio.get_event_loop() is loop, await t").result["status"],
                             "error")  # it awaits, so a loop runs
            self.assertEqual(driver.step("asyncio.run(f(6))").text, "6")
            self.assertEqual(driver.step("asyncio.get_event_loop() is loop and loop.run_until_complete(f(7))").text, "7")
        self.fails(once("import asyncio\nasync def f(): pass\nc = f()\ntry: asyncio.create_task(c)\nfinally: c.close()"),
                   "RuntimeError")

    def test_context_of_a_step_that_awaits(self):
        with Driver() as driver:
            driver.step("import contextvars, asyncio, decimal\nv = contextvars.ContextVar('v', default=0)\nv.set(5)\n"
                        "decimal.getcontext().prec = 7\nawait asyncio.sleep(0)")
            self.assertEqual(driver.step("v.get(), decimal.getcontext().prec").text, "(5, 7)")
            self.fails(driver.step("v.set(6); await asyncio.sleep(0); 1/0"), "ZeroDivisionError")
            self.assertEqual(driver.step("v.get(), (await asyncio.sleep(0, v)).get()").text, "(6, 6)")

    def test_tasks_go_on_between_steps(self):
        with Driver() as driver:
            driver.step("import asyncio\nasync def f():\n  for i in range(3):\n    await asyncio.sleep(0.001); print(i)\n"
                        "  print('no newline', end=''); raise SystemExit(3)\nasync def g():\n  await asyncio.sleep(0.02)\n"
                        "  open('done', 'w').close()\n  while True: await asyncio.sleep(0)\n"
                        "t, u = asyncio.create_task(f()), asyncio.create_task(g())")
            deadline = time.monotonic() + 20
            while not os.path.exists(os.path.join(driver.home.name, "done")) and time.monotonic() < deadline:
                time.sleep(0.005)
            self.assertTrue(os.path.exists(os.path.join(driver.home.name, "done")))
            got = driver.step("t.done(), u.done()")
            self.assertEqual((got.text, got.out), ("(True, False)", "0\n1\n2\nno newline"))
            self.assertEqual(driver.step("print(1); u.cancel()").out, "1\n")

    def test_not_imported_without_need(self):
        got = self.ok(once("import sys; 'asyncio' in sys.modules"))
        self.assertEqual(got.text, "False")

    def test_interrupt(self):
        with Driver() as driver:
            def interrupt():
                deadline = time.monotonic() + 20
                while not os.path.exists(os.path.join(driver.home.name, "on")) and time.monotonic() < deadline:
                    time.sleep(0.005)
                driver.interrupt()

            got = driver.step("import asyncio\nasync def slow():\n  open('on', 'w').close()\n  await asyncio.sleep(20)\n"
                              "await slow()", at_begin=lambda: threading.Thread(target=interrupt).start())
            self.fails(got, "KeyboardInterrupt")
            self.assertIn("in slow", got.trace)
            self.assertEqual(driver.step("await asyncio.sleep(0, 3)").text, "3")

    def test_end_of_a_script(self):
        got = self.ok(once("""
            import asyncio
            async def f():
                try: await asyncio.sleep(30)
                finally: print("cancelled")
            t = asyncio.create_task(f()) if 0 else None
            async def main():
                global t
                t = asyncio.create_task(f()); await asyncio.sleep(0.01)
            await main()
            """))
        self.assertEqual((got.out, got.err), ("cancelled\n", ""))


if __name__ == "__main__":
    test_driver.DRIVER_DIR = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
