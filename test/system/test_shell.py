# SPDX-License-Identifier: Apache-2.0
"""The shell runtime in a box: scripts run as `bash FILE ARGS` runs them."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"


def shell(code, *options, **kwargs):
    return harness.run(code, "-r", "shell", *options, **kwargs)


@harness.needs_shell_or_sql
class Shell(harness.Case):
    def test_output_and_status(self):
        done = shell("echo hi; echo oops >&2; exit 3")
        self.assertEqual((done.status, done.out, done.err), (3, "hi\n", "oops\n"))
        self.assertEqual(shell("false").status, 1)

    def test_file_and_arguments(self):
        where = harness.make_dir()
        path = os.path.join(where, "job.sh")
        with open(path, "w", encoding="utf-8") as f:
            f.write('#!/bin/bash\necho "$0" "${BASH_SOURCE[0]}" $# "$2" "$PWD"\nnosuch\n')
        done = harness.retort("run", "job.sh", "a", "b c", cwd=where)
        self.assertEqual((done.status, done.out), (127, "job.sh job.sh 2 b c /home/user\n"))
        self.assertEqual(done.err, "job.sh: line 3: nosuch: command not found\n")

    def test_shebang(self):
        where = harness.make_dir()
        with open(os.path.join(where, "job"), "w", encoding="utf-8") as f:
            f.write("#!/usr/bin/env bash\necho ${BASH_VERSION:+bash}\n")
        self.assertEqual(harness.retort("run", "job", cwd=where).out, "bash\n")

    def test_record(self):
        record = harness.record("echo a\nif\nfi\n", "-r", "shell")
        self.assertEqual((record["status"], record["runtime"], record["exit_code"]), ("error", "shell", 2))
        self.assertEqual((record["error"]["name"], record["error"]["line"]), ("SyntaxError", 3))
        record = harness.record("echo x >f; (exit 4)", "-r", "shell")
        self.assertEqual((record["error"]["name"], record["exit_code"]), ("Exit", 4))
        self.assertEqual([f["path"] for f in record["files"]], ["f"])

    def test_standard_input(self):
        self.assertEqual(shell("cat", "--stdin", "-", stdin=b"in").out, "in")
        self.assertEqual(shell("cat").out, "")

    def test_signal(self):
        record = harness.record("kill -9 $$", "-r", "shell")
        self.assertEqual((record["status"], record["signal"], record["_status"]), ("killed", 9, 137))

    def test_time_limit(self):
        start = time.monotonic()
        self.assertEqual(shell("sleep 60", "--timeout", "300ms").status, 124)
        self.assertEqual(shell("trap '' INT; sleep 60", "--timeout", "300ms").status, 124)
        self.assertLess(time.monotonic() - start, 30)

    def test_interpreter_is_refused(self):
        done = shell("true", "--python", "/bin/sh")
        self.assertEqual(done.status, 2)
        self.assertIn("/bin/sh", done.err)

    def test_nothing_is_left_in_the_box(self):
        self.assertEqual(shell("ls -A /tmp /dev/shm; ls /proc/self/fd | wc -l").out, "/dev/shm:\n\n/tmp:\n4\n")


if __name__ == "__main__":
    harness.main()
