# SPDX-License-Identifier: Apache-2.0
"""The drivers in images that have little: no bash, no SQLite, no glibc."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

BUSYBOX = next((path for path in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(path)), None)
STATIC_SQLITE = glob.glob("/usr/lib*/libsqlite3.a") + glob.glob("/usr/lib/*/libsqlite3.a")
MUSL_GCC = shutil.which(f"{os.uname().machine}-linux-musl-gcc")
MUSL_LOADERS = glob.glob("/lib/ld-musl-*.so.1")
# Prints what a seed fixes; musl has the older form of the wait only.
PROGRAM = """
#include <dirent.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
int main(void)
{
	unsigned word;
	sem_t sem;
	struct timespec until;
	if (getrandom(&word, sizeof word, 0) != sizeof word || sem_init(&sem, 0, 0))
		return 1;
	printf("%ld %x\\n", (long)time(NULL), word);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	int r = sem_timedwait(&sem, &until);
	printf("%d %ld\\n", r, (long)time(NULL));
	DIR *dir = opendir("/order");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		printf("%s ", entry->d_name);
	return 0;
}
"""


def is_sanitized():
    """Whether the SQL driver beside RETORT, in a build tree or installed, is built with sanitizers."""
    top = os.path.dirname(harness.RETORT)
    paths = (os.path.join(top, "drivers/sql/retort-sql"), os.path.join(top, "../share/retort/sql/retort-sql"))
    with open(next(path for path in paths if os.path.exists(path)), "rb") as f:
        return b"__asan_init" in f.read()


@unittest.skipUnless(BUSYBOX, "no static busybox")
class Images(harness.Case):
    def setUp(self):
        super().setUp()
        self.root = tempfile.mkdtemp(prefix="image-", dir=harness.TMP)
        os.chmod(self.root, 0o755)
        for name in ("bin", "dev", "etc", "home", "lib", "proc", "tmp"):
            os.mkdir(os.path.join(self.root, name))
        shutil.copy(BUSYBOX, os.path.join(self.root, "bin/busybox"))
        for name in ("sh", "ls", "cat", "echo"):
            os.symlink("busybox", os.path.join(self.root, "bin", name))

    def run_in(self, *args, **more):
        return harness.retort("run", "--rootfs", self.root, *args, **more)

    def test_no_bash(self):
        done = self.run_in("-r", "shell", "-c", "echo hi")
        self.assertEqual((done.status, done.out), (127, ""), done)
        self.assertIn("no bash in the image", done.err)
        self.assertEqual(done.err.count("\n"), 1, done)
        record = self.run_in("-r", "shell", "--json", "-c", "echo hi").json()
        self.assertEqual(record["error"]["message"], "no bash in the image")
        done = self.run_in("--", "/bin/sh", "-c", "echo hi")  # its session has the shell driver, which nobody asks
        self.assertEqual((done.status, done.out, done.err), (0, "hi\n", ""))

    def test_a_program_without_its_loader(self):
        with open(os.path.join(self.root, "bin/python3"), "w", encoding="ascii") as f:
            f.write("#!/no/such/loader\n")
        os.chmod(os.path.join(self.root, "bin/python3"), 0o755)
        done = self.run_in("--python", "/bin/python3", "-c", "1")
        self.assertEqual(done.status, 127, done)
        self.assertIn("the image has no loader for /bin/python3", done.err)

    @unittest.skipUnless(STATIC_SQLITE and not is_sanitized(), "the SQL driver is not static")
    def test_sql(self):
        done = self.run_in("-r", "sql", "-c", "select 'é日' as x, 'abc' regexp 'b' as y, date('2024-01-31', '+1 day') as z")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertIn("│ é日 │ 1 │ 2024-02-01 │", done.out)

    @unittest.skipUnless(STATIC_SQLITE and not is_sanitized(), "the SQL driver is not static")
    def test_sql_has_the_clock_of_the_run(self):
        code = "create table t(a default (datetime())); insert into t default values; " \
            "select a, unixepoch() as b, julianday('now') as c, random() as d from t"
        outs = {self.run_in("-r", "sql", "--seed", "5", "--time", "2024-02-29T12:00:00Z", "-c", code).out for _ in range(2)}
        self.assertEqual(len(outs), 1, outs)
        self.assertIn("│ 2024-02-29 12:00:00 │ 1709208000 │ 2460370", outs.pop())

    @unittest.skipUnless(MUSL_GCC and MUSL_LOADERS, "no musl")
    def test_a_seed_reaches_programs_of_musl(self):
        for loader in MUSL_LOADERS:
            shutil.copy(loader, os.path.join(self.root, "lib"))
        os.mkdir(os.path.join(self.root, "order"))
        for name in "cab":
            with open(os.path.join(self.root, "order", name), "w", encoding="ascii"):
                pass
        source = os.path.join(self.root, "tmp/program.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(PROGRAM)
        subprocess.run([MUSL_GCC, "-o", os.path.join(self.root, "bin/program"), source], check=True)
        runs = [self.run_in("--seed", seed, "--time", "1709208000", "--", "/bin/program") for seed in ("5", "5", "6")]
        for done in runs:
            self.assertEqual((done.status, done.err), (0, ""), done)
            first, second, third = done.out.splitlines()
            self.assertEqual(first.split()[0], "1709208000")
            self.assertEqual(second, "-1 1709208001")
            self.assertEqual(third.split(), [".", "..", "a", "b", "c"])
        self.assertEqual(runs[0].out, runs[1].out)
        self.assertNotEqual(runs[0].out, runs[2].out)


if __name__ == "__main__":
    harness.main()
