# SPDX-License-Identifier: Apache-2.0
"""What a program cannot do that is scored with test cases."""

import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
ANN, BOB = "ann-" + "a" * 28, "bob-" + "b" * 28
SECRET = "answer-4711"
# a checker that accepts the expected output only
CHECKER = {"language": "python", "code": "# checker-4711\nimport sys\n"
           "sys.exit(open('expected.txt').read().strip() != open('output.txt').read().strip())"}


class Judged(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--programs", "4")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def judge(self, code, cases, **params):
        return self.server.rpc("program.judge", language="python", code=code, cases=cases, all=True, **params)["cases"]

    def test_T_JUDGE_SEEN_in_files_and_processes(self):
        """Search files, memory and processes of the box for the expected output, the checker, or another case."""
        code = ("import glob, os\nfound = []\nfor top in ('/home', '/tmp', '/run', '/dev/shm', '/var', '/mnt'):\n"
                "    for at, _, names in os.walk(top):\n        for name in names:\n            try:\n"
                "                text = open(os.path.join(at, name), 'rb').read(1 << 20)\n            except OSError:\n"
                "                continue\n            found += [name for word in (b'answer-' + b'4711', b'checker-' + b'4711',"
                " b'other-' + b'case') if word in text and name != 'main.py']\n"
                "for at in glob.glob('/proc/[0-9]*/cmdline') + glob.glob('/proc/[0-9]*/environ'):\n    try:\n"
                "        found += [at] if b'answer-' + b'4711' in open(at, 'rb').read() else []\n    except OSError:\n        pass\n"
                "print(found)\n")
        cases = self.judge(code, [{"stdin": "other-case", "expected": SECRET}, {"expected": SECRET}], checker=CHECKER)
        self.assertEqual([(c["verdict"], c["run"]["stdout"]) for c in cases], [("wrong", "[]\n")] * 2)

    def test_T_JUDGE_SEEN_by_a_case_before(self):
        """Leave what a case was given for the next one: in files, in memory, in a process that stays."""
        code = ("import os, sys\nword = input()\nbefore = open('/tmp/left').read() if os.path.exists('/tmp/left') else ''\n"
                "open('/tmp/left', 'w').write(word)\nif os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(60)\n"
                "print(before, len(os.listdir('/proc/self/task')), flush=True)\nos._exit(0)\n")
        cases = self.judge(code, [{"stdin": f"case-{i}"} for i in range(6)])
        self.assertEqual({c["run"]["stdout"] for c in cases}, {" 1\n"})

    def test_T_JUDGE_VERDICT_of_ones_own(self):
        """Exit with 0 with another output, print marks, crash the checker, write its files, or end oneself early."""
        tries = ["print('passed')", "print('\\x1e' + '\"passed\"')", "import os\nos._exit(0)",
                 "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "print('\\0' * 100)",
                 "import os\nfor n in ('expected.txt', 'output.txt', 'main.py'):\n    open(n, 'w').write('')"]
        for code in tries:
            for params in ({}, {"checker": CHECKER}, {"compare": "json"}):
                for case in self.judge(code, [{"expected": SECRET}], **params):
                    self.assertIn(case["verdict"], ("wrong", "failed"), (code, params))
        crash = {"language": "python", "code": "import os\nif 'crash' in open('output.txt').read(): os.kill(os.getpid(), 9)"}
        self.assertEqual(self.judge("print('crash')", [{}], checker=crash)[0]["verdict"], "wrong")

    def test_T_JUDGE_FLOOD_of_values(self):
        """Print JSON whose values would need a hundred times its size in the engine."""
        def peak():
            with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as f:
                return int(next(line for line in f if line.startswith("VmHWM")).split()[1]) >> 10
        try:
            before = peak()
        except PermissionError:
            before = None  # the engine is not dumpable here
        code = "import sys\nsys.stdout.write('\\x1e[' + '{},' * 3000000 + '1]')"
        cases = self.judge(code, [{"expected": "[1]"}] * 2, compare="json", limits={"output_bytes": 12 << 20})
        self.assertEqual([c["verdict"] for c in cases], ["wrong"] * 2)
        if before is not None:
            self.assertLess(peak() - before, 300)

    def test_T_JUDGE_FLOOD_of_cases(self):
        """Take all places of programs with cases that do not end; another caller still gets a turn."""
        with web.Server("--programs", "4", tokens=f"ann {ANN}\nbob {BOB}\n") as server:
            headers = [{"Authorization": f"Bearer {token}"} for token in (ANN, BOB)]
            connection = server.connect()
            asked = web.question("program.judge", language="python", code="import time; time.sleep(1000)", cases=[{}] * 50,
                                 timeout_ms=1000000)

            def hold():
                try:
                    server.post(asked, headers[0], connection)
                except OSError:
                    pass  # it was shut down below
            thread = threading.Thread(target=hold)
            thread.start()
            self.assertTrue(web.wait(lambda: len(server.rpc("session.list", headers=headers[0])["sessions"]) >= 4))
            done = server.rpc("program.run", headers=headers[1], language="python", code="print('in time')")
            self.assertEqual(done["run"]["stdout"], "in time\n")
            connection.sock.shutdown(2)
            thread.join()


if __name__ == "__main__":
    harness.main()
