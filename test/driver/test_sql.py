# SPDX-License-Identifier: Apache-2.0
"""The SQL driver, spoken to directly: /usr/bin/python3 -I test_sql.py DRIVER_DIR [unittest args]

DRIVER_DIR is that of the Python driver, as for all tests here; ours stands beside it.
"""

import base64
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = None
STEP, BYE, SETUP, NAMES, CHECKPOINT = 1, 5, 7, 8, 9
READY, BEGIN, GUARD, DISPLAY, RESULT, DONE = 16, 17, 18, 19, 21, 23
TABLE = "application/json"


class Driver:
    def __init__(self, files=None, home=None, env=None):
        self.temporary = None if home else tempfile.TemporaryDirectory()
        self.home = home or self.temporary.name
        for name, text in (files or {}).items():
            path = os.path.join(self.home, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text.encode() if isinstance(text, str) else text)
        ours, theirs = socket.socketpair()
        environ = {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", **(env or {})}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                environ[name] = os.environ[name]
        # The driver's channel is descriptor 3, whatever number it has here.
        def give():
            os.dup2(theirs.fileno(), 3)
            os.set_inheritable(3, True)

        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.home,
            env=environ, close_fds=False, preexec_fn=give)
        theirs.close()
        self.channel = ours
        self.channel.settimeout(60)
        self.inbox = b""
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        if self.temporary:
            self.temporary.cleanup()

    def send(self, kind, message=None, raw=None):
        payload = raw if raw is not None else json.dumps(message).encode() if message is not None else b""
        self.channel.sendall(struct.pack(">IB", len(payload) + 1, kind) + payload)

    def frame(self):
        """(type, payload) of the next frame, or None at the end."""
        while True:
            if len(self.inbox) >= 5:
                size = struct.unpack(">I", self.inbox[:4])[0]
                if len(self.inbox) >= size + 4:
                    kind, payload = self.inbox[4], self.inbox[5:size + 4]
                    self.inbox = self.inbox[size + 4:]
                    return kind, json.loads(payload.decode("utf-8"))
            data = self.channel.recv(1 << 20)
            if not data:
                return None
            self.inbox += data

    def wait_for(self, kind):
        while True:
            got = self.frame()
            if got is None:
                raise AssertionError("the driver ended: %r" % self.process.stderr.read())
            if got[0] == kind:
                return got[1]

    def start(self, code, **rest):
        self.count += 1
        self.send(STEP, {"id": "s%d" % self.count, "code": code, "filename": "q.sql", "argv": [],
                         "mode": "session", "value_bytes": 1 << 20, **rest})

    def finish(self):
        self.displays = []
        while True:
            got = self.frame()
            if got is None:
                raise AssertionError("the driver ended: %r" % self.process.stderr.read())
            if got[0] == DISPLAY:
                self.displays.append(got[1]["data"])
            if got[0] == RESULT:
                return got[1]

    def step(self, code, **rest):
        self.start(code, **rest)
        return self.finish()


class Case(unittest.TestCase):
    maxDiff = 4000

    def driver(self, *args, **rest):
        driver = Driver(*args, **rest)
        self.addCleanup(driver.__exit__)
        return driver

    def rows(self, driver, code):
        got = driver.step(code)
        self.assertEqual(got["status"], "ok", got)
        return got["value"][TABLE]["rows"]

    def fails(self, driver, code, name, part=""):
        got = driver.step(code)
        self.assertEqual(got["status"], "error", got)
        self.assertEqual(got["error"]["name"], name, got)
        self.assertIn(part, got["error"]["message"])
        for line in got["error"]["traceback"]:
            self.assertNotIn("\n", line)
        return got


class Frames(Case):
    def test_order(self):
        d = self.driver()
        ready = d.frame()
        self.assertEqual(ready[0], READY)
        self.assertEqual(ready[1]["implementation"], "sqlite")
        self.assertIsInstance(ready[1]["pid"], int)
        d.start("SELECT 1; SELECT 2", checkpoint=True)
        d.send(CHECKPOINT, {"id": "s1"})
        kinds = [d.frame() for _ in range(4)]
        self.assertEqual([k for k, _ in kinds], [BEGIN, DISPLAY, RESULT, GUARD])
        self.assertEqual({m["id"] for _, m in kinds}, {"s1"})
        self.assertEqual(kinds[3][1], {"id": "s1", "reason": "runtime"})

    def test_no_guard_unasked(self):
        d = self.driver()
        d.step("SELECT 1")
        d.send(SETUP, {"id": "u", "session": "s-x"})
        self.assertEqual(d.frame(), (DONE, {"id": "u"}))
        d.send(CHECKPOINT, {"id": "v"})
        self.assertEqual(d.frame(), (GUARD, {"id": "v", "reason": "runtime"}))

    def test_bye_and_end(self):
        d = self.driver()
        d.send(BYE)
        self.assertEqual(d.process.wait(10), 0)
        d = self.driver()
        d.channel.shutdown(socket.SHUT_WR)
        self.assertEqual(d.process.wait(10), 0)

    def test_what_is_no_frame_ends_it(self):
        for raw in (b"\0\0\0\0\0", b"\xff\xff\xff\xff\1", b"\0\0\0\2\1{", b"\0\0\0\3\1[]", b"\0\0\0\3\1{}",
                    b'\0\0\0\x0b\1{"id": 17}', b'\0\0\0\x0c\1{"id": "x"}', b"\0\0\0\3\6{}", b"\0\0\0\3\3{}"):
            with self.subTest(raw=raw):
                d = self.driver()
                d.channel.sendall(raw)
                self.assertEqual(d.process.wait(10), 1)
                self.assertIn(b"retort: sql driver: ", d.process.stderr.read())

    def test_names(self):
        d = self.driver({"sales.csv": "region,amount\na,1\n"})
        d.step("CREATE TABLE people(name TEXT, age INT)")

        def names(text):
            d.send(NAMES, {"id": "n", "text": text})
            return d.wait_for(DONE)["names"]
        self.assertEqual(names("SELECT * FROM peo"), ["people"])
        self.assertEqual(names("SELECT people.a"), ["age"])
        self.assertEqual(names("SELECT sales.am"), ["amount"])
        self.assertIn("sales", names("SELECT * FROM sa"))
        self.assertIn("SELECT", names("sel"))
        self.assertIn("median", names("SELECT med"))
        self.assertEqual(names(".ta"), [".tables"])
        self.assertEqual(names("zzz"), [])


class Values(Case):
    def test_forms(self):
        got = self.driver().step("SELECT 1 AS a, 2.5 AS b, 'x<y' AS c, NULL AS d, x'00ff' AS e, 9007199254740993 AS f")
        value = got["value"]
        self.assertEqual(value[TABLE], {
            "columns": [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "REAL"},
                        {"name": "c", "type": "TEXT"}, {"name": "d", "type": "NULL"},
                        {"name": "e", "type": "BLOB"}, {"name": "f", "type": "INTEGER"}],
            "rows": [[1, 2.5, "x<y", None, {"base64": base64.b64encode(b"\0\xff").decode()}, 9007199254740993]],
            "row_count": 1, "truncated": False})
        self.assertEqual(value["text/plain"].split("\n")[3],
                         "│ 1 │ 2.5 │ x<y │ NULL │ X'00FF' │ 9007199254740993 │")
        self.assertIn("<td>x&lt;y</td>", value["text/html"])
        self.assertNotIn("x<y", value["text/html"])

    def test_null_is_not_the_word(self):
        text = self.driver().step("SELECT NULL AS a, 'NULL' AS b")["value"]["text/plain"]
        self.assertIn("│ NULL │ 'NULL' │", text)

    def test_numbers_stand_right_and_wide_characters_are_wide(self):
        text = self.driver().step("SELECT '日本' AS a, 5 AS bbb UNION ALL SELECT 'abcd', 7")["value"]["text/plain"]
        self.assertEqual(text.split("\n")[3:5], ["│ 日本 │   5 │", "│ abcd │   7 │"])

    def test_terminal_controls_are_shown(self):
        text = self.driver().step("SELECT char(27) || '[2J' || char(10) AS a")["value"]["text/plain"]
        self.assertNotIn("\x1b", text)
        self.assertIn("\\x1b[2J\\n", text)

    def test_many_rows(self):
        many = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT %d) SELECT i FROM c"
        d = self.driver()
        lines = d.step(many % 50)["value"]["text/plain"].split("\n")
        self.assertEqual(len(lines), 4 + 50)
        lines = d.step(many % 51)["value"]["text/plain"].split("\n")
        self.assertEqual([l.strip("│ ") for l in lines[3:-2]],
                         [str(i) for i in range(1, 41)] + ["…"] + [str(i) for i in range(42, 52)])
        self.assertEqual(lines[-1], "… 51 rows, 50 shown")
        got = d.step(many % 1000000)["value"]
        self.assertEqual(got[TABLE]["row_count"], 1000000)
        self.assertTrue(got[TABLE]["truncated"])
        self.assertEqual(got[TABLE]["rows"][:3], [[1], [2], [3]])
        self.assertLess(len(json.dumps(got)), 4 << 20)
        self.assertIn("│ 1000000 │", got["text/plain"])

    def test_wide_and_long_are_cut(self):
        d = self.driver()
        got = d.step("SELECT " + ", ".join("'%s' AS c%d" % ("x" * 500, i) for i in range(1999)))["value"]
        self.assertIn("1999 columns, 60 shown", got["text/plain"])
        self.assertEqual(len(got[TABLE]["columns"]), 1999)
        got = d.step("SELECT printf('%.*c', 50000000, 'x') AS a, zeroblob(60000000) AS b")["value"]
        self.assertTrue(got[TABLE]["truncated"])
        self.assertIn("(60000000 bytes)", got["text/plain"])
        self.assertLess(len(json.dumps(got)), 2 << 20)

    def test_invalid_utf8(self):
        self.assertEqual(self.rows(self.driver(), "SELECT CAST(x'61ff62' AS TEXT)"), [["a�b"]])

    def test_infinity(self):
        self.assertEqual(self.rows(self.driver(), "SELECT 9e999, -9e999, 0.1, 1e300, 3.0"),
                         [["Infinity", "-Infinity", 0.1, 1e300, 3.0]])

    def test_results_before_the_last_are_displays(self):
        d = self.driver()
        got = d.step("SELECT 1; CREATE TABLE t(a); SELECT 2; INSERT INTO t VALUES (1)")
        self.assertEqual(got["value"][TABLE]["rows"], [[2]])
        self.assertEqual([x[TABLE]["rows"] for x in d.displays], [[[1]]])

    def test_changes(self):
        d = self.driver()
        self.assertNotIn("value", d.step("CREATE TABLE t(a)"))
        self.assertNotIn("value", d.step("-- nothing\n;;"))
        self.assertEqual(d.step("INSERT INTO t VALUES (1), (2), (3)")["value"]["text/plain"], "3 rows changed")
        self.assertEqual(d.step("UPDATE t SET a = 5 WHERE a = 1")["value"]["text/plain"], "1 row changed")
        self.assertEqual(d.step("DELETE FROM t WHERE a = 99")["value"][TABLE], {"changes": 0})
        self.assertEqual(self.rows(d, "INSERT INTO t VALUES (9) RETURNING a"), [[9]])

    def test_what_was_rolled_back_has_not_changed(self):
        d = self.driver()
        for code, n in (("CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES (5), (7); ROLLBACK", 0),
                        ("INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2), (3); ROLLBACK", 1),
                        ("BEGIN; INSERT INTO t VALUES (2), (3); COMMIT; BEGIN; DELETE FROM t; ROLLBACK TRANSACTION", 2),
                        ("INSERT INTO t VALUES (4); SAVEPOINT a; DELETE FROM t; SAVEPOINT b; DELETE FROM t; "
                         "ROLLBACK TRANSACTION TO SAVEPOINT \"A\"; RELEASE a", 1),
                        ("BEGIN; SAVEPOINT c; INSERT INTO t VALUES (5)", 1),
                        ("INSERT INTO t VALUES (6); ROLLBACK TO c; COMMIT", 0),
                        ("CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('a')", 1)):
            with self.subTest(code=code):
                self.assertEqual(d.step(code)["value"][TABLE], {"changes": n})
        self.assertEqual(self.rows(d, "SELECT count(*) FROM t"), [[4]])

    def test_a_failure_tells_what_it_undid(self):
        d = self.driver()
        path = os.path.join(d.home, "retort.db")
        d.step("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1); CREATE TABLE p(a PRIMARY KEY); "
               "CREATE TABLE c(a REFERENCES p DEFERRABLE INITIALLY DEFERRED)")

        def stat():
            with open(path, "rb") as file:
                return os.stat(path).st_mtime_ns, file.read()

        for code, undone in (("INSERT INTO t VALUES (2); SELECT * FROM nosuch", "step"),
                             ("SELECT * FROM nosuch", "step"),
                             ("PRAGMA user_version; INSERT INTO t VALUES (2); SELECT * FROM nosuch", "step"),
                             ("BEGIN; INSERT INTO t VALUES (3); SELECT * FROM nosuch", "part"),
                             ("INSERT INTO t VALUES (4); SELECT * FROM nosuch", "step"),
                             ("INSERT OR ROLLBACK INTO t VALUES (1)", "transaction"),
                             ("INSERT OR ROLLBACK INTO t VALUES (1)", "step"),
                             ("PRAGMA foreign_keys = on; SELECT * FROM nosuch", "part"),
                             ("INSERT INTO c VALUES (9)", "step"),
                             ("INSERT INTO c VALUES (9); PRAGMA user_version", "step")):
            with self.subTest(code=code):
                before = stat()
                self.assertEqual(d.step(code)["undone"], undone)
                self.assertEqual(stat(), before)
        for code in ("INSERT INTO t VALUES (5); PRAGMA user_version; INSERT INTO t VALUES (6); SELECT * FROM nosuch",
                     "BEGIN; INSERT INTO t VALUES (7); COMMIT; INSERT INTO t VALUES (8); SELECT * FROM nosuch"):
            self.assertEqual(d.step(code)["undone"], "part")
        self.assertEqual(self.rows(d, "SELECT group_concat(a) FROM t"), [["1,5,7"]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM c"), [[0]])
        self.assertNotIn("undone", d.step("INSERT INTO t VALUES (10)"))

    def test_regular_expressions(self):
        d = self.driver()
        self.assertEqual(self.rows(d, r"SELECT 'abc' REGEXP 'b', 'a1' REGEXP '^\w\d$', 'ab' NOT REGEXP 'c', NULL REGEXP 'x', "
                                      r"regexpi('É', 'é'), 12 REGEXP '^1'"), [[1, 1, 1, None, 1, 1]])
        self.assertEqual(self.rows(d, "WITH p(x) AS (VALUES ('a'), ('b'), ('^$')) SELECT group_concat(x) FROM p "
                                      "WHERE 'ab' REGEXP x"), [["a,b"]])
        self.fails(d, "SELECT 'x' REGEXP '('", "SQLError", "parenthesis")
        self.fails(d, "SELECT (SELECT group_concat('a', '') FROM generate_series(1, 500)) REGEXP "
                      r"'(a|aa)+\d'", "SQLError", "limit")

    def test_series(self):
        d = self.driver()
        for asked, shown in (("1, 10, 3", "1,4,7,10"), ("3, 1, -1", "3,2,1"), ("1, 0", None), ("5, 5, 0", "5"), ("NULL, 3", None),
                             ("9223372036854775806, 9223372036854775807", "9223372036854775806,9223372036854775807")):
            self.assertEqual(self.rows(d, f"SELECT group_concat(value) FROM generate_series({asked})"), [[shown]])
        self.assertEqual(self.rows(d, "WITH t(x) AS (VALUES (1), (2)) SELECT t.x, s.value FROM t, generate_series(1, t.x) s"),
                         [[1, 1], [2, 1], [2, 2]])
        self.assertEqual(self.rows(d, "SELECT value FROM generate_series(7) LIMIT 2"), [[7], [8]])

    def test_a_sum_of_text_is_told(self):
        d = self.driver({"o.csv": "who,paid,n\nA,\"2,232.00\",1\nB,$5,2\n"})
        for code in ("SELECT who, sum(paid) FROM o GROUP BY 1", "SELECT avg(x.\"Paid\" * 2) FROM 'o.csv' AS x",
                     "CREATE TABLE t AS SELECT * FROM o; SELECT total([paid]) FROM t"):
            d.step(code)
        for code in ("SELECT sum(replace(paid, ',', '')), max(paid) FROM o", "SELECT sum(n), min(paid) FROM o",
                     "SELECT sum(who) FROM o", "SELECT 'sum(paid)' FROM o", "SELECT sum(CAST(paid AS REAL)) FROM o"):
            d.step(code)
        d.send(BYE)
        notes = d.process.stderr.read().decode().splitlines()
        self.assertEqual([line.split(":")[:2] for line in notes], [["retort", " note"]] * 3)
        self.assertIn("paid is text, such as \"2,232.00\"", notes[0])

    def test_functions(self):
        d = self.driver()
        self.assertEqual(self.rows(d, "WITH v(x) AS (VALUES (2), (4), (4), (4), (5), (5), (7), (9), (NULL)) "
                                      "SELECT median(x), stddev_pop(x), var_pop(x), round(stddev(x), 3) FROM v"),
                         [[4.5, 2.0, 4.0, 2.138]])
        self.assertEqual(self.rows(d, "SELECT median(NULL), stddev(1), median('x')"), [[None, None, None]])
        self.assertEqual(self.rows(d, "SELECT sqrt(16), json_extract('{\"a\": [1]}', '$.a[0]')"), [[4.0, 1]])

    def test_seed(self):
        code = "SELECT random(), hex(randomblob(4))"
        a, b = (self.rows(self.driver(env={"RETORT_SEED": "7"}), code) for _ in range(2))
        self.assertEqual(a, b)
        self.assertNotEqual(a, self.rows(self.driver(env={"RETORT_SEED": "8"}), code))
        d = self.driver()
        d.send(SETUP, {"id": "u", "seed": 7})
        d.wait_for(DONE)
        self.assertEqual(self.rows(d, code), a)
        self.assertNotEqual(self.rows(self.driver(), code), self.rows(self.driver(), code))


class Failures(Case):
    def test_place(self):
        d = self.driver()
        got = self.fails(d, "SELECT 1;\n\n-- é\nSELECT 'é',\n  nam\nFROM (SELECT 1 AS a)", "SQLError", "nam")
        self.assertEqual(got["error"]["line"], 5)
        self.assertEqual(got["error"]["traceback"],
                         ['  File "q.sql", line 5', "      nam", "      ^",
                          "SQLError: no such column: nam (SQLITE_ERROR)"])
        self.assertEqual(got["exit_code"], 1)
        self.assertEqual(d.displays[0][TABLE]["rows"], [[1]])

    def test_names_and_codes(self):
        d = self.driver()
        d.step("CREATE TABLE t(a INTEGER PRIMARY KEY, b UNIQUE NOT NULL); INSERT INTO t VALUES (1, 1)")
        self.fails(d, "INSERT INTO t VALUES (2, 1)", "ConstraintError", "SQLITE_CONSTRAINT_UNIQUE")
        self.fails(d, "INSERT INTO t VALUES (2, NULL)", "ConstraintError", "SQLITE_CONSTRAINT_NOTNULL")
        self.fails(d, "SELEC 1", "SQLError", "syntax error")
        self.fails(d, "SELECT zeroblob(999999999)", "LimitError", "SQLITE_TOOBIG")
        self.fails(d, "SELECT * FROM nowhere", "SQLError", "no such table: nowhere")
        self.fails(d, "SELECT " + "(" * 2000 + "1" + ")" * 2000, "SQLError")
        self.assertEqual(self.rows(d, "SELECT 1"), [[1]])

    def test_a_failed_step_changes_nothing(self):
        d = self.driver()
        d.step("CREATE TABLE t(a)")
        self.fails(d, "INSERT INTO t VALUES (1); CREATE TABLE u(b); SELECT * FROM nowhere", "SQLError")
        self.assertEqual(self.rows(d, "SELECT count(*) FROM t"), [[0]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM sqlite_schema WHERE name = 'u'"), [[0]])

    def test_transactions_of_the_user(self):
        d = self.driver()
        d.step("CREATE TABLE t(a)")
        d.step("BEGIN; INSERT INTO t VALUES (1)")
        self.fails(d, "INSERT INTO t VALUES (2); SELECT nothing", "SQLError")
        d.step("INSERT INTO t VALUES (3)")
        self.assertEqual(self.rows(d, "COMMIT; SELECT a FROM t"), [[1], [3]])
        d.step("BEGIN; DELETE FROM t")
        self.assertEqual(self.rows(d, "ROLLBACK; SELECT a FROM t"), [[1], [3]])
        d.step("SAVEPOINT x; DELETE FROM t")
        self.assertEqual(self.rows(d, "ROLLBACK TO x; RELEASE x; SELECT a FROM t"), [[1], [3]])
        self.assertEqual(self.rows(d, "INSERT INTO t VALUES (4); VACUUM; SELECT count(*) FROM t"), [[3]])
        self.fails(d, "INSERT OR ROLLBACK INTO nowhere VALUES (1)", "SQLError")
        self.assertEqual(self.rows(d, "PRAGMA foreign_keys = ON; PRAGMA foreign_keys"), [[1]])

    def test_deferred_constraint(self):
        d = self.driver()
        d.step("PRAGMA foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY);"
               "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
        self.fails(d, "INSERT INTO c VALUES (7)", "ConstraintError", "FOREIGNKEY")
        self.assertEqual(self.rows(d, "SELECT count(*) FROM c"), [[0]])

    def test_interrupt_keeps_state(self):
        d = self.driver()
        d.step("CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE TEMP TABLE mine(a)")
        d.start("INSERT INTO t VALUES (2); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) "
                "SELECT count(*) FROM c")
        d.wait_for(BEGIN)
        time.sleep(0.3)
        d.process.send_signal(signal.SIGINT)
        start = time.monotonic()
        got = d.finish()
        self.assertLess(time.monotonic() - start, 1)
        self.assertEqual((got["error"]["name"], got["exit_code"]), ("Interrupted", 130))
        self.assertEqual(self.rows(d, "SELECT count(*) FROM t"), [[1]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM mine"), [[0]])

    def test_interrupt_of_rows_that_never_end(self):
        d = self.driver()
        d.start("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i, 'text' FROM c")
        d.wait_for(BEGIN)
        time.sleep(0.3)
        d.process.send_signal(signal.SIGINT)
        self.assertEqual(d.finish()["error"]["name"], "Interrupted")
        self.assertEqual(self.rows(d, "SELECT 1"), [[1]])

    def test_corrupt_file(self):
        for content in (b"this is no database, of any kind" * 100, b"SQLite format 3\0" + os.urandom(5000)):
            d = self.driver({"retort.db": content})
            self.fails(d, "CREATE TABLE t(a)", "DatabaseError")
            self.fails(d, "SELECT 1", "DatabaseError")
            os.unlink(os.path.join(d.home, "retort.db"))
            self.assertEqual(self.rows(d, "SELECT 1"), [[1]])

    def test_damaged_pages(self):
        d = self.driver()
        d.step("CREATE TABLE t(a, b); CREATE INDEX i ON t(a); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT "
               "i + 1 FROM c LIMIT 5000) INSERT INTO t SELECT i, hex(randomblob(20)) FROM c")
        path = os.path.join(d.home, "retort.db")
        with open(path, "r+b") as file:
            size = file.seek(0, 2)
            for at in range(4096, size, 4096):
                file.seek(at + 3)
                file.write(os.urandom(40))
        self.fails(d, "SELECT sum(length(b)) FROM t ORDER BY a; DELETE FROM t", "DatabaseError")


class Access(Case):
    def test_refused(self):
        d = self.driver()
        outside = tempfile.TemporaryDirectory()
        self.addCleanup(outside.cleanup)
        os.symlink(outside.name, os.path.join(d.home, "out"))
        os.symlink(os.path.join(outside.name, "x.db"), os.path.join(d.home, "link.db"))
        for code in ("PRAGMA writable_schema = ON", "PRAGMA trusted_schema = ON", "PRAGMA temp_store_directory = '/'",
                     "PRAGMA schema_version = 7", "SELECT load_extension('x')", "ATTACH '/tmp/x.db' AS a",
                     "ATTACH '../x.db' AS a", "ATTACH 'out/x.db' AS a", "ATTACH 'link.db' AS a",
                     "ATTACH 'file:x.db?mode=ro' AS a", "ATTACH 'x' || '.db' AS a", "DETACH files",
                     "CREATE TABLE files.t(a)", "CREATE VIRTUAL TABLE v USING csv('/etc/passwd')",
                     "VACUUM INTO '%s/copy.db'" % outside.name):
            with self.subTest(code=code):
                self.fails(d, code, "DeniedError")
        self.assertEqual(os.listdir(outside.name), [])
        self.fails(d, "VACUUM INTO '%s/copy.db'" % outside.name, "DeniedError", "VACUUM INTO ")
        self.fails(d, "ATTACH '%s/copy.db' AS a" % outside.name, "DeniedError", "ATTACH ")
        self.fails(d, "SELECT readfile('/etc/passwd')", "SQLError", "no such function")
        self.fails(d, "UPDATE sqlite_schema SET sql = 'x'", "SQLError", "may not be modified")

    def test_the_database_is_no_link(self):
        d = self.driver()
        main, outside = os.path.join(d.home, "retort.db"), tempfile.TemporaryDirectory()
        self.addCleanup(outside.cleanup)
        moved = os.path.join(outside.name, "moved.db")
        d.step("CREATE TABLE t(a)")
        os.rename(main, moved)
        os.symlink(moved, main)
        self.fails(d, "INSERT INTO t VALUES (1)", "DatabaseError", "unable to open")
        os.remove(main)
        os.rename(moved, main)
        self.assertEqual(self.rows(d, "SELECT count(*) FROM t"), [[0]])

    def test_allowed(self):
        d = self.driver()
        os.mkdir(os.path.join(d.home, "sub"))
        self.assertEqual(self.rows(d, "ATTACH 'sub/other.db' AS o; CREATE TABLE o.t(a); INSERT INTO o.t VALUES (3);"
                                      "SELECT * FROM t"), [[3]])
        self.assertEqual(self.rows(d, "ATTACH ':memory:' AS m; CREATE TABLE m.x AS SELECT 1; SELECT * FROM m.x"), [[1]])
        self.assertEqual(self.rows(d, "PRAGMA integrity_check"), [["ok"]])
        self.assertEqual(d.step("VACUUM INTO 'copy.db'")["status"], "ok")
        self.assertTrue(os.path.exists(os.path.join(d.home, "copy.db")))


class State(Case):
    def test_queries_leave_no_file(self):
        d = self.driver({"a.csv": "x,y\n1,2\n"})
        self.assertEqual(self.rows(d, "SELECT x + y FROM a; PRAGMA page_count; SELECT sum(y) FROM a"), [[2]])
        self.assertEqual(os.listdir(d.home), ["a.csv"])
        d.step("CREATE TABLE t(a)")
        self.assertEqual(sorted(os.listdir(d.home)), ["a.csv", "retort.db"])

    def test_a_new_driver_goes_on(self):
        d = self.driver()
        d.step("CREATE TABLE t(a); INSERT INTO t VALUES (42)")
        d.process.kill()
        d.process.wait()
        self.assertEqual(self.rows(self.driver(home=d.home), "SELECT a FROM t"), [[42]])

    def test_with_python_at_once(self):
        d = self.driver()
        d.step("CREATE TABLE t(a)")
        other = sqlite3.connect(os.path.join(d.home, "retort.db"), isolation_level=None)
        self.addCleanup(other.close)
        for i in range(20):
            other.execute("INSERT INTO t VALUES (?)", (i,))
            self.assertEqual(self.rows(d, "INSERT INTO t VALUES (-1); SELECT count(*) FROM t"), [[2 * i + 2]])
        other.execute("BEGIN IMMEDIATE")
        d.start("INSERT INTO t VALUES (0)")
        d.wait_for(BEGIN)
        time.sleep(0.2)
        other.execute("COMMIT")
        self.assertEqual(d.finish()["status"], "ok")
        other.execute("BEGIN EXCLUSIVE")
        d.start("SELECT * FROM t")
        d.wait_for(BEGIN)
        time.sleep(0.2)
        d.process.send_signal(signal.SIGINT)
        self.assertEqual(d.finish()["error"]["name"], "Interrupted")

    def test_a_file_put_back(self):
        d = self.driver()
        path = os.path.join(d.home, "retort.db")
        d.step("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        with open(path, "rb") as file:
            before = file.read()
        for in_place in (False, True):
            d.step("INSERT INTO t VALUES (2)")
            if not in_place:
                os.rename(path, path + ".old")
            with open(path, "wb") as file:
                file.write(before)
            # As many writes as were undone: the file's own counter is again what it was.
            other = sqlite3.connect(path)
            other.execute("INSERT INTO t VALUES (3)")
            other.commit()
            other.close()
            self.assertEqual(self.rows(d, "SELECT a FROM t"), [[1], [3]], in_place)
            with open(path, "wb") as file:
                file.write(before)
            self.assertEqual(self.rows(d, "SELECT a FROM t"), [[1]])
        os.unlink(path)
        self.fails(d, "SELECT a FROM t", "SQLError", "no such table")


class Files(Case):
    def test_names(self):
        d = self.driver({"sales.csv": "a,b\n1,x\n", "data/t.tsv": "a\tb\n2\ty,z\n", "p.psv": "a|b\n3|z\n"})
        self.assertEqual(self.rows(d, 'SELECT * FROM "sales.csv"'), [[1, "x"]])
        self.assertEqual(self.rows(d, "SELECT s.a FROM sales s JOIN sales t USING (a)"), [[1]])
        self.assertEqual(self.rows(d, 'SELECT * FROM "data/t.tsv"'), [[2, "y,z"]])
        self.assertEqual(self.rows(d, 'SELECT * FROM "data/t", p'), [[2, "y,z", 3, "z"]])
        self.assertEqual(self.rows(d, "SELECT * FROM files.sales"), [[1, "x"]])
        self.assertEqual(self.rows(d, 'SELECT * FROM "%s/sales.csv"' % d.home), [[1, "x"]])

    def test_a_name_without_quotes_is_told(self):
        d = self.driver({"sales.csv": "a\n1\n", "csv.csv": "b\n2\n"})
        self.fails(d, "SELECT * FROM sales.csv", "SQLError", "no such table: sales.csv: put the name of a file in quotes")
        self.fails(d, "SELECT * FROM other.csv", "SQLError", "no such table: other.csv (")
        self.assertEqual(self.rows(d, "SELECT * FROM csv"), [[2]])

    def test_a_table_wins(self):
        d = self.driver({"sales.csv": "a\n1\n"})
        self.assertEqual(self.rows(d, "CREATE TABLE sales AS SELECT a * 10 AS a FROM sales; INSERT INTO sales VALUES (7); "
                                      "SELECT * FROM sales"), [[10], [7]])
        self.assertEqual(self.rows(d, "SELECT * FROM sales"), [[10], [7]])
        self.assertEqual(self.rows(d, 'SELECT * FROM "sales.csv"'), [[1]])

    def test_read_only(self):
        d = self.driver({"sales.csv": "a\n1\n"})
        for code in ("INSERT INTO sales VALUES (1)", "DELETE FROM sales", "DROP TABLE sales", "UPDATE sales SET a = 2",
                     "ALTER TABLE sales RENAME TO x", "CREATE INDEX files.i ON sales(a)"):
            with self.subTest(code=code):
                got = d.step(code)
                self.assertEqual(got["status"], "error")
                self.assertNotIn("sqlite_master", got["error"]["message"])
        self.assertEqual(self.rows(d, "SELECT * FROM sales"), [[1]])

    def test_a_changed_file_is_read_anew(self):
        d = self.driver({"a.csv": "x\n1\n"})
        self.assertEqual(self.rows(d, "SELECT * FROM a"), [[1]])
        with open(os.path.join(d.home, "a.csv"), "w", encoding="utf-8") as file:
            file.write("x,y\n2,z\n")
        self.assertEqual(self.rows(d, "SELECT * FROM a"), [[2, "z"]])

    def test_dialects(self):
        rows = [[1, 'a "b"', None], [2, "c\nd", 1.5]]
        for name, text in {
                "quoted": 'i,s,r\n1,"a ""b""",\n2,"c\nd",1.5\n', "crlf": 'i,s,r\r\n1,"a ""b""",\r\n2,"c\nd",1.5\r\n',
                "bom": '\ufeffi,s,r\n1,"a ""b""",\n2,"c\nd",1.5', "semicolon": 'i;s;r\n1;"a ""b""";\n2;"c\nd";1.5\n',
                "bar": 'i|s|r\n1|"a ""b"""|\n2|"c\nd"|1.5\n', "tab": 'i\ts\tr\n1\t"a ""b"""\t\n2\t"c\nd"\t1.5\n',
                "blank": '\n\ni,s,r\n\n1,"a ""b""",\n\n2,"c\nd",1.5\n\n', "ragged": 'i,s,r\n1,"a ""b"""\n2,"c\nd",1.5,x,y\n',
        }.items():
            with self.subTest(name=name):
                d = self.driver({"f.csv": text})
                self.assertEqual(self.rows(d, "SELECT i, s, r FROM f"), rows)

    def test_types_make_sums_and_order_right(self):
        d = self.driver({"f.csv": "n,zip,phone,mixed,big\n10,01234,+4912,1,123456789012345678901\n9,99999,+4913,x,1\n"})
        got = d.step("SELECT *, typeof(n) FROM f ORDER BY n")["value"][TABLE]
        self.assertEqual(got["rows"], [[9, "99999", "+4913", "x", "1", "integer"],
                                       [10, "01234", "+4912", "1", "123456789012345678901", "integer"]])
        self.assertEqual([c["type"] for c in got["columns"][:5]], ["INTEGER", "TEXT", "TEXT", "TEXT", "TEXT"])

    def test_headers(self):
        d = self.driver({"none.csv": "1,2\n3,4\n", "words.csv": "a,b\nc,d\n", "twice.csv": "a,A,,a\n1,2,3,4\n",
                         "only.csv": "a,b\n"})
        self.assertEqual(self.rows(d, "SELECT column1, column2 FROM none"), [[1, 2], [3, 4]])
        self.assertEqual(self.rows(d, "SELECT a FROM words"), [["c"]])
        got = d.step("SELECT * FROM twice")["value"][TABLE]
        self.assertEqual([c["name"] for c in got["columns"]], ["a", "A_2", "column3", "a_3"])
        self.assertEqual(self.rows(d, "SELECT * FROM only"), [])
        self.assertEqual(self.rows(d, "SELECT * FROM read_csv('words.csv', header = false)"), [["a", "b"], ["c", "d"]])
        self.assertEqual(self.rows(d, "SELECT * FROM read_csv('none.csv', all_text=true, skip=1, header=no) AS r"),
                         [["3", "4"]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM read_csv('none.csv', delim=';')"), [[1]])

    def test_read_csv_mistakes(self):
        d = self.driver({"a.csv": "x\n1\n"})
        for code in ("SELECT * FROM read_csv(5)", "SELECT * FROM read_csv('a.csv', x=1)", "SELECT * FROM read_csv('a.csv'",
                     "SELECT * FROM read_csv('a.csv', delim='ab')", "SELECT * FROM read_csv('nowhere.csv')",
                     "SELECT * FROM read_csv('a.csv', header=maybe)", "SELECT * FROM read_csv('/dev/zero')",
                     "SELECT * FROM read_csv('.')"):
            with self.subTest(code=code):
                self.fails(d, code, "SQLError")
                traceback = self.fails(d, "SELECT 1;\n" + code, "SQLError")["error"]["traceback"]
                self.assertIn(code, "\n".join(traceback))
        self.assertEqual(self.rows(d, "SELECT 'read_csv(5)' -- read_csv(5)"), [["read_csv(5)"]])

    def test_hostile(self):
        fifo = self.driver()
        os.mkfifo(os.path.join(fifo.home, "p.csv"))
        self.fails(fifo, 'SELECT * FROM "p.csv"', "SQLError")
        d = self.driver({"empty.csv": "", "utf16.csv": "a,b\n1,2\n".encode("utf-16"), "nul.csv": b"a,b\n1\0,2\n\0,3\n",
                         "open.csv": b'a,b\n1,"' + b"x" * (9 << 20), "wide.csv": b"," * 300000 + b"\n" + b"1," * 300000,
                         "same.csv": b"a," * 5000 + b"\n" + b"1," * 5000, "bad.csv": b"a,b\n\xff,\xfe\n"})
        self.fails(d, 'SELECT * FROM "empty.csv"', "SQLError", "it is empty")
        self.fails(d, 'SELECT * FROM "utf16.csv"', "SQLError", "UTF-16")
        self.fails(d, 'SELECT * FROM "open.csv"', "SQLError", "longer than 8 MiB")
        self.assertEqual(self.rows(d, "SELECT b FROM nul"), [[2], [3]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM wide"), [[1]])
        self.assertEqual(self.rows(d, "SELECT a_2, a FROM same"), [[1, 1]])
        self.assertEqual(self.rows(d, "SELECT * FROM bad"), [["�", "�"]])

    def test_join_uses_an_index(self):
        n = 30000
        left = "id,v\n" + "".join("%d,%d\n" % (i, i * 2) for i in range(n))
        right = "id,w\n" + "".join('"%05d",%d\n' % (i, i * 3) for i in reversed(range(n)))
        d = self.driver({"l.csv": left, "r.csv": right})
        start = time.monotonic()
        self.assertEqual(self.rows(d, "SELECT count(*), sum(v), sum(w) FROM l JOIN r ON l.id = r.id"),
                         [[n, sum(i * 2 for i in range(n)), sum(i * 3 for i in range(n))]])
        self.assertEqual(self.rows(d, "SELECT count(*) FROM l LEFT JOIN r ON r.id = l.id + 1 WHERE r.id IS NULL"), [[1]])
        self.assertLess(time.monotonic() - start, 20)

    def test_index_finds_what_a_scan_finds(self):
        values = ["1", "01", "1.0", " 1", "1 ", "+1", "-0", "0", "0.0", "1e0", "x", "", '""', "1.5", "9007199254740993",
                  "9007199254740992", "0.1", "abc"]
        text = "k,n\n" + "".join("%s,%d\n" % (v, i) for i, v in enumerate(values))
        for all_text in ("true", "false"):
            d = self.driver({"a.csv": text})
            source = "read_csv('a.csv', all_text=%s)" % all_text
            joined = "SELECT x.n, y.n FROM %s x %s JOIN %s y ON x.k = y.k ORDER BY 1, 2"
            got = self.rows(d, joined % (source, "", source))
            d.step("CREATE TABLE t AS SELECT * FROM " + source)
            self.assertEqual(got, self.rows(d, "SELECT x.n, y.n FROM t x JOIN t y ON x.k = y.k ORDER BY 1, 2"))
            d.step("CREATE TABLE k(k INT, n INT); INSERT INTO k SELECT k, n FROM t")
            self.assertEqual(self.rows(d, "SELECT k.n, y.n FROM k CROSS JOIN %s y ON k.k = y.k ORDER BY 1, 2" % source),
                             self.rows(d, "SELECT k.n, y.n FROM k CROSS JOIN t y ON k.k = y.k ORDER BY 1, 2"))

    def test_views(self):
        d = self.driver({"a.csv": "x\n1\n"})
        self.assertEqual(self.rows(d, "CREATE TEMP VIEW v AS SELECT x + 1 AS y FROM a; SELECT * FROM v"), [[2]])
        self.assertEqual(self.rows(d, "SELECT * FROM v"), [[2]])


class Dots(Case):
    def test_tables_and_schema(self):
        d = self.driver({"s.csv": "a,b\n1,x\n"})
        d.step("CREATE TABLE t(a INT);\nCREATE VIEW v AS SELECT 1; CREATE TEMP TABLE u(z)")
        self.assertEqual(self.rows(d, ".tables"),
                         [["s", "file s.csv"], ["t", "table"], ["u", "temp table"], ["v", "view"]])
        self.assertEqual(d.step(".schema t;")["value"]["text/plain"], "CREATE TABLE t(a INT);")
        self.assertIn('"b" TEXT', d.step(".schema s")["value"]["text/plain"])
        self.fails(d, ".schema nowhere", "SQLError", "no such table or file")

    def test_a_schema_is_whole_or_an_error(self):
        d = self.driver()
        for name in ("t", "u"):
            d.step(f"CREATE TABLE {name}(a INT, -- " + "x" * 700000 + "\n b INT)")
        self.assertIn("b INT);", d.step(".schema t")["value"]["text/plain"])
        self.fails(d, ".schema", "LimitError", "the definitions are over 1 MiB")

    def test_habits_of_other_databases(self):
        d = self.driver({"s.csv": "a,b\n1,x\n"})
        for code, hint in (("DESCRIBE s", ".schema TABLE"), ("SHOW TABLES", ".tables"), ("\\d s", ".schema"), ("USE x", "retort.db")):
            self.fails(d, code, "SQLError", hint)
        for code in ("PRAGMA table_info(s)", "PRAGMA table_xinfo('s')", "PRAGMA table_info = s"):
            self.assertEqual([row[1] for row in self.rows(d, code)][:2], ["a", "b"])

    def test_import(self):
        d = self.driver({"s.csv": "a,b\n1,x\n2,y\n"})
        self.assertEqual(d.step(".import s.csv t")["value"]["text/plain"], "2 rows changed")
        d.step(".mode csv\n.import 's.csv' t\n")
        self.assertEqual(self.rows(d, "SELECT sum(a), max(typeof(a)) FROM t"), [[6, "integer"]])
        self.fails(d, ".import nowhere.csv t", "SQLError", "no such file")
        self.fails(d, ".import s.csv", "SQLError", "usage: .import FILE TABLE")
        d.step("CREATE TABLE one(a)")
        self.fails(d, ".import s.csv one", "SQLError", "columns")

    def test_dump_reads_back(self):
        d = self.driver()
        d.step("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'it''s'), (NULL, x'00ff'), (2.5, 'é\n'), "
               "(9e999, -9e999); CREATE INDEX i ON t(a); CREATE VIEW v AS SELECT a FROM t")
        d.step('CREATE TABLE "a ""b"(x, y AS (x + 1), "z "" z" AS (x * 2) STORED, w);'
               """INSERT INTO "a ""b" VALUES (1, 'w')""")
        d.step(".dump")
        d.send(BYE)
        out = d.process.stdout.read().decode()
        copy = sqlite3.connect(":memory:")
        copy.executescript(out)
        self.assertEqual(copy.execute("SELECT * FROM t").fetchall(), [(1, "it's"), (None, b"\0\xff"), (2.5, "é\n"),
                                                                      (float("inf"), float("-inf"))])
        self.assertEqual(copy.execute("SELECT count(*) FROM sqlite_schema").fetchone(), (4,))
        self.assertEqual(copy.execute('SELECT * FROM "a ""b"').fetchall(), [(1, 2, 2, "w")])
        copy.close()

    def test_dump_of_virtual_tables_reads_back(self):
        d = self.driver()
        d.step("CREATE VIRTUAL TABLE f USING fts5(x, y); INSERT INTO f(rowid, x, y) VALUES (7, 'hello', 'it''s'); "
               "CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO r VALUES (3, 1, 2); CREATE TABLE f_mine(a); "
               "CREATE VIRTUAL TABLE bare USING fts5(x, content='')")
        d.step(".dump")
        d.send(BYE)
        out = d.process.stdout.read().decode()
        self.assertIn("-- left out: the rows of bare\n", out)
        again = self.driver()
        again.step(out)
        self.assertEqual(self.rows(again, "SELECT rowid, x, y FROM f WHERE f MATCH 'hello'"), [[7, "hello", "it's"]])
        self.assertEqual(self.rows(again, "SELECT id FROM r WHERE a < 2"), [[3]])
        self.assertEqual(self.rows(again, "SELECT count(*) FROM f_mine"), [[0]])

    def test_others(self):
        d = self.driver()
        self.assertIn(".import", d.step(".help")["value"]["text/plain"])
        got = self.fails(d, "SELECT 1;\n.shell rm x\n", "SQLError", ".shell: unknown command")
        self.assertEqual(got["error"]["line"], 2)
        self.assertEqual(self.rows(d, "SELECT 1;\n.quit\nSELECT nonsense"), [[1]])
        self.fails(d, ".schema 'x", "SQLError", "quote")


class Speed(Case):
    def test_first_result(self):
        """Generous: a busy machine. What it takes is in docs/languages/sql.md."""
        d = self.driver()
        start = time.monotonic()
        d.step("SELECT 1")
        self.assertLess(time.monotonic() - start, 2)


if __name__ == "__main__":
    PROGRAM = os.path.join(os.path.abspath(sys.argv.pop(1)), "..", "sql", "retort-sql")
    unittest.main()
