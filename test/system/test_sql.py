# SPDX-License-Identifier: Apache-2.0
"""SQL in a box: results, files as tables, the database file, limits, errors."""

import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

IDENTITY = "user"
TABLE = "application/json"


def run(code, *options, **kwargs):
    return harness.run(code, "-r", "sql", *options, **kwargs)


def record(code, *options, **kwargs):
    return harness.record(code, "-r", "sql", *options, **kwargs)


@harness.needs_shell_or_sql
class Sql(harness.Case):
    def workspace(self, **files):
        home = harness.make_dir()
        for name, text in files.items():
            with open(os.path.join(home, name.replace("_csv", ".csv")), "w", encoding="utf-8") as f:
                f.write(text)
        return home

    def test_value_and_displays(self):
        done = run("SELECT 6 * 7 AS answer; SELECT 'b' AS a")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(done.out, "┌────────┐\n│ answer │\n├────────┤\n│     42 │\n└────────┘\n"
                                   "┌───┐\n│ a │\n├───┤\n│ b │\n└───┘\n")

    def test_record(self):
        got = record("SELECT 1 AS a, NULL AS b")
        self.assertEqual((got["_status"], got["status"], got["runtime"]), (0, "ok", "sql"))
        self.assertEqual(got["value"][TABLE]["rows"], [[1, None]])
        self.assertEqual(got["files"], [])

    def test_by_ending_and_first_line(self):
        home = self.workspace()
        for name, text in (("q.sql", "SELECT 1"), ("q", "#!/usr/bin/env sqlite3\nSELECT 1")):
            path = os.path.join(home, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            self.assertIn("│ 1 │", harness.retort("run", path).out)

    def test_files_and_database(self):
        home = self.workspace(sales_csv="region,amount\nnorth,10\nsouth,2.5\nnorth,7\n")
        done = run("SELECT region, sum(amount) AS s FROM sales GROUP BY 1 ORDER BY s DESC", "-w", home)
        self.assertIn("│ north  │ 17.0 │", done.out)
        self.assertEqual(os.listdir(home), ["sales.csv"])
        got = record("CREATE TABLE t AS SELECT * FROM sales", "-w", home)
        self.assertEqual([f["path"] for f in got["files"]], ["retort.db"])
        done = harness.run("import sqlite3; c = sqlite3.connect('retort.db'); c.execute('INSERT INTO t VALUES (1, 2)');"
                           "c.commit(); print(c.execute('SELECT count(*) FROM t').fetchone()[0])", "-w", home)
        self.assertEqual(done.out, "4\n", done)
        self.assertEqual(record("SELECT count(*) FROM t", "-w", home)["value"][TABLE]["rows"], [[4]])

    def test_volume(self):
        home = self.workspace(x_csv="a\n5\n")
        got = record('SELECT a + 1 FROM "/data/x.csv"', "-v", home + ":/data")
        self.assertEqual(got["value"][TABLE]["rows"], [[6]])

    def test_error(self):
        done = run("SELECT 1;\nSELECT nam FROM (SELECT 1 AS a)")
        self.assertEqual(done.status, 1)
        self.assertIn("line 2\n    SELECT nam FROM", done.err)
        self.assertIn("SQLError: no such column: nam", done.err)
        self.assertIn("│ 1 │", done.out)
        got = record("CREATE TABLE t(a NOT NULL); INSERT INTO t VALUES (NULL)")
        self.assertEqual((got["status"], got["error"]["name"], got["_status"]), ("error", "ConstraintError", 1))

    def test_time_limit(self):
        got = record("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c",
                     "--timeout", "500ms")
        self.assertEqual((got["status"], got["_status"]), ("timeout", 124))
        self.assertLess(got["usage"]["wall_ms"], 5000)

    def test_disk_limit(self):
        got = record("CREATE TABLE t(a); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 100) "
                     "INSERT INTO t SELECT zeroblob(1000000) FROM c", "--disk", "16m")
        self.assertEqual((got["status"], got["error"]["name"]), ("error", "DiskError"))

    def test_file_size_limit(self):
        got = record("CREATE TABLE t(a); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 100) "
                     "INSERT INTO t SELECT zeroblob(1000000) FROM c", "--file-size", "16m")
        self.assertEqual((got["status"], got["error"]["name"]), ("error", "DiskError"))
        self.assertIn("would exceed its size limit: raise it with --file-size", got["error"]["message"])

    def test_memory_limit(self):
        got = record("SELECT count(*) FROM (WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 20) "
                     "SELECT group_concat(hex(zeroblob(4000000)), i) OVER () FROM c)", "--memory", "64m")
        self.assertIn(got["status"], ("oom", "error", "killed"))

    def test_seed(self):
        a, b, c = (record("SELECT random()", "--seed", str(s))["value"] for s in (1, 1, 2))
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_nothing_of_the_host(self):
        done = run("ATTACH '/etc/x.db' AS a")
        self.assertEqual(done.status, 1)
        self.assertIn("DeniedError", done.err)

    def test_dump_is_a_database(self):
        done = run("CREATE TABLE t(a); INSERT INTO t VALUES ('é');\n.dump")
        copy = sqlite3.connect(":memory:")
        copy.executescript(done.out[:done.out.index("COMMIT;") + 7])
        self.assertEqual(copy.execute("SELECT a FROM t").fetchall(), [("é",)])
        copy.close()

    def test_no_interpreter_to_choose(self):
        done = run("SELECT 1", "--python", "/usr/bin/python3")
        self.assertEqual(done.status, 2)
        self.assertIn("sql has no interpreter", done.err)


if __name__ == "__main__":
    harness.main()
