# SPDX-License-Identifier: Apache-2.0
"""Files that a rollback or an undo puts back: those of the host, their names, and who has them open."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import service  # noqa: E402
import test_transactions  # noqa: E402
from test_transactions import setUpModule, tearDownModule  # noqa: E402, F401


class Host(test_transactions.Case):
    """What a box shares with the host is put back, or is named."""

    def place(self, **files):
        path = harness.make_dir()
        os.chmod(path, 0o777)
        for name, text in files.items():
            self.put(os.path.join(path, name), text)
        return path

    def put(self, path, text):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(path, 0o666)

    def look(self, top):
        found = {}
        for path, _, names in os.walk(top):
            for name in names:
                with open(os.path.join(path, name), encoding="ascii") as f:
                    found[os.path.relpath(os.path.join(path, name), top)] = f.read()
        return found

    def destroys(self, s, end, status, **params):
        code = "import os; open('e', 'w').write('DESTROYED'); os.remove('f'); open('made', 'w').write('1')\n"
        record = self.fails(s, code + end, status, **params)
        return record.get("files_lost")

    def test_workspace_of_the_host(self):
        """Also when the step is the first of its box."""
        top = self.place(e="precious", f="too")
        was = self.look(top)
        s = self.session(workspace=top)
        for end, status, params in (("while 1: pass", "timeout", {"timeout_ms": 300}), ("os._exit(3)", "error", {}),
                                    ("os.kill(os.getpid(), 11)", "killed", {}), ("1 / 0", "error", {"atomic": True}),
                                    ("os.fork() or [open('e', 'w').write(str(i)) for i in iter(int, 1)]; os._exit(1)",
                                     "error", {})):
            self.assertIsNone(self.destroys(s, end, status, **params), end)
            self.assertEqual(self.look(top), was, end)
        record = s.run("open('e', 'w').write('x')\nx = b'x' * (1 << 30)")
        if record["state"]["outcome"] == "rolled_back":  # else it is a MemoryError, as any error
            self.assertEqual((record["status"], self.look(top)), ("oom", was))
        self.put(os.path.join(top, "e"), "precious")
        child = service.Session(test_transactions.engine, test_transactions.engine.call("session.branch", session=s.id))
        self.addCleanup(child.close)
        for one in (child, s):
            self.assertIsNone(self.destroys(one, "os._exit(1)", "error"))
            self.assertEqual(self.look(top), was)
        s.run("open('e', 'w').write('second')")
        child.close()
        self.assertNotIn("files_lost", self.undone(s))
        self.assertEqual(self.look(top), was)
        for i in range(7):
            s.run(f"x = {i}")
        back = s.undo(count=6)
        self.assertEqual((back["outcome"], back["files_lost"]), ("replayed", ["."]), "its steps were run over what is there")

    def taken_back(self, top, code, first, undo):
        """The record of a step that did @code in @top and failed, or of the undo after one that did not."""
        s = self.session(workspace=top)
        if not first:
            s.run("1")
        if undo:
            s.run("import os\n" + code)
            return self.undone(s)
        return self.fails(s, f"import os\n{code}\nos._exit(1)", "error")

    def test_names_that_became_another_files(self):
        big = "B" * (2 << 20)
        for first, undo in (False, False), (True, False), (False, True):
            for files, code, lost in (({"a": "A", "b": "B"}, "os.unlink('a'); os.link('b', 'a')", None),
                                      ({"a": "A", "b": big}, "os.unlink('a'); os.link('b', 'a')", ["b"]),
                                      ({"a": "A", "b": "B", "c": "C"}, "for n in 'bc': os.unlink(n); os.link('a', n)", None),
                                      ({"a": "A", "b": "B"}, "os.rename('a', 't'); os.rename('b', 'a'); os.rename('t', 'b')", None)):
                top = self.place(**files)
                record = self.taken_back(top, code, first, undo)
                self.assertEqual((self.look(top), record.get("files_lost")), (files, lost), (first, undo, code))

    def test_what_has_another_name_gets_its_own_back(self):
        """Also what is too large to be kept."""
        big = "B" * (2 << 20)
        for first, undo in (False, False), (True, False), (False, True):
            for code, lost in (("os.rename('big', 'q')", ["big"]), ("os.rename('big', 'a')", ["big"]),
                               ("os.rename('big', 'q'); open('big', 'w').write('new')", ["big"]),
                               ("os.mkdir('q'); os.rename('big', 'q/big')", ["big"]),
                               ("os.rename('a', 'q'); os.rename('big', 'a'); os.rename('q', 'big')", ["big"]),
                               ("os.rename('big', 'q'); os.mkdir('big'); open('big/x', 'w')", ["big"]),
                               ("os.rename('a', 'q'); os.rename('b', 'a'); os.rename('q', 'b')", None)):
                top = self.place(a="A", b="B", big=big)
                was = os.stat(os.path.join(top, "big")).st_ino
                record = self.taken_back(top, code, first, undo)
                self.assertEqual((self.look(top), record.get("files_lost")), ({"a": "A", "b": "B", "big": big}, lost),
                                 (first, undo, code))
                self.assertEqual(os.stat(os.path.join(top, "big")).st_ino, was, code)

    def test_what_is_known_of_files_beside_their_content(self):
        for code, lost in (("os.utime('f', (5, 5)); os.utime('d', (5, 5)); os.utime('l', (5, 5), follow_symlinks=False)", None),
                           ("open('f', 'w').write('2'); open('d/new', 'w'); os.unlink('l')", None),
                           ("os.unlink('f'); os.unlink('d/f'); os.unlink('d/three'); os.rmdir('d')", None),
                           ("os.chmod('fifo', 0o400); os.rename('fifo', 'd/fifo')", None),
                           ("os.unlink('one')", None), ("os.unlink('one'); os.unlink('two'); os.unlink('d/three')", None),
                           ("os.unlink('two'); open('two', 'w').write('2')", None), ("os.rename('f', 'one')", None)):
            for params in {}, {"workspace": self.place()}:
                s = self.session(**params)
                s.run("""
import os
def known():
    found = [os.path.join(path, n) for path, dirs, names in os.walk('.') for n in dirs + names]
    return sorted((n, oct(st.st_mode), st.st_nlink, st.st_mtime) for n in found for st in [os.lstat(n)])
os.mkdir('d'); os.mkfifo('fifo'); os.symlink('nowhere', 'l')
for i, n in enumerate(('f', 'd/f', 'one')): open(n, 'w').write(n); os.utime(n, (i, i))
os.link('one', 'two'); os.link('one', 'd/three'); os.utime('d', (9, 9)); os.utime('l', (9, 9), follow_symlinks=False)
""")
                was = s.value("known()")
                time.sleep(0.05)
                record = self.fails(s, code + "; os._exit(1)", "error")
                self.assertEqual((s.value("known()"), record.get("files_lost")), (was, lost), code)

    def test_what_no_box_may_set_is_named(self):
        top = self.place(f="f")
        for name in ("g", "kept"):
            os.mkdir(os.path.join(top, name))
            os.chmod(os.path.join(top, name), 0o2777)
        s = self.session(workspace=top)
        for _ in range(2):
            record = self.fails(s, "import os; open('kept/x', 'w'); open('f', 'w'); os._exit(1)", "error")
            self.assertNotIn("files_lost", record)
            self.assertEqual(os.stat(os.path.join(top, "kept")).st_mode & 0o7777, 0o2777)
        self.assertEqual(self.fails(s, "import os; os.chmod('g', 0o700); os._exit(1)", "error")["files_lost"], ["g"])

    def test_a_directory_gets_its_name_back(self):
        s = self.session()
        s.run("import os; os.makedirs('d/e'); open('d/e/f', 'w').write('f'); f = open('d/e/f', 'r+'); os.chdir('d/e')")
        for code in ("os.rename('/home/user/d', '/home/user/new')",
                     "os.rename('/home/user/d/e', '/home/user/e'); os.rename('/home/user/d', '/home/user/e/d')"):
            record = self.fails(s, code + "; os._exit(1)", "error")
            self.assertNotIn("files_lost", record)
            self.assertEqual(self.value(s, "os.getcwd(), os.listdir('/home/user'), open('f').read(), f.seek(0), f.read()"),
                             ("/home/user/d/e", ["d"], "f", 0, "f"))
            self.assertEqual(self.value(s, "f.seek(0), f.write('f'), f.flush(), open('f').read()")[-1], "f")

    def test_what_others_wrote_in_the_meantime_stays(self):
        top = self.place(e="precious", f="too")
        s = self.session(workspace=top)
        for text in ("1", "2"):
            self.put(os.path.join(top, "e"), text)
            self.put(os.path.join(top, "mine" + text), "m")
            self.assertIsNone(self.destroys(s, "os._exit(1)", "error"))
            self.assertEqual(self.look(top)["e"], text)
            self.assertIn("mine" + text, self.look(top))
            self.assertEqual(s.run("x = 1")["files"], [])

    def test_what_is_not_put_back_is_named(self):
        data, other = self.place(a="a", b="b", c="c"), self.place(x="x")
        os.mkdir(os.path.join(data, "d"))
        os.chmod(os.path.join(data, "d"), 0o777)
        self.put(os.path.join(data, "d", "old"), "o")
        time.sleep(0.05)
        s = self.session(volumes=[{"src": data, "dst": "data", "mode": "rw"}, {"src": other, "dst": "/o", "mode": "rw"},
                                  {"src": os.path.join(other, "x"), "dst": "x", "mode": "rw"}])
        for first in (True, False):
            record = self.fails(s, "import os; os._exit(1)", "error")
            self.assertNotIn("files_lost", record, "nothing was changed")
            record = self.fails(s, "import os; open('data/a', 'w').write('1'); open('data/made', 'w'); open('x', 'w')\n"
                                   "os.path.exists('data/d/old') and os.remove('data/d/old'); os._exit(1)", "error")
            self.assertEqual(sorted(record["files_lost"]),
                             ["/o/x", *(["data"] if first else []), "data/a", *(["data/d"] if first else []), "data/made", "x"])
            s.run("open('/tmp/t', 'w').write('t'); open('/dev/shm/s', 'w').write('s'); open('/tmp/same', 'w')")
            time.sleep(0.05)  # the kernel's times of changes are a few ms apart
        record = self.fails(s, "import os; open('/tmp/t', 'w').write('new'); os.remove('/dev/shm/s'); open('/tmp/n', 'w'); os._exit(1)",
                            "error")
        self.assertEqual(record["files_lost"], ["/tmp/t", "/dev/shm/s"])
        self.assertEqual(self.value(s, "import os; sorted(os.listdir('/tmp'))"), ["same", "t"])
        time.sleep(0.05)
        s.run("open('data/b', 'w').write('1')")
        self.assertEqual(self.undone(s)["files_lost"], ["data/b"])

    def test_what_was_removed_is_named_whatever_else_changed(self):
        """Where it was: a volume is not listed before each step."""
        for code, lost in (("os.remove('%s/a')", []), ("os.remove('%s/a'); open('%s/b', 'w').write('2')", ["b"]),
                           ("os.rename('%s/a', '%s/b')", ["b"]), ("os.remove('%s/a'); open('%s/new', 'w')", ["new"]),
                           ("os.remove('%s/a'); open('%s/d/x', 'w').write('2')", ["d/x"])):
            for way in ("first", "next", "branch", "undo"):
                data = self.place(a="a", b="b")
                os.mkdir(os.path.join(data, "d"))
                os.chmod(os.path.join(data, "d"), 0o777)
                self.put(os.path.join(data, "d", "x"), "x")
                time.sleep(0.05)
                s = self.session(volumes=[{"src": data, "dst": "/v", "mode": "rw"}])
                if way != "first":
                    s.run("1")
                if way == "branch":
                    s = service.Session(test_transactions.engine, test_transactions.engine.call("session.branch", session=s.id))
                    self.addCleanup(s.close)
                does = "import os; " + code.replace("%s", "/v")
                if way == "undo":
                    time.sleep(0.05)
                    s.run(does)
                    record = self.undone(s)
                else:
                    record = self.fails(s, does + "; os._exit(1)", "error")
                self.assertEqual(sorted(record["files_lost"]), sorted(["/v"] + ["/v/" + name for name in lost]), (code, way))
        s = self.session()
        for top in ("/tmp", "/dev/shm"):
            for code, lost in (("os.remove('%s/a'); open('%s/b', 'w').write('2')", ["a", "b"]), ("os.rename('%s/a', '%s/b')", ["a", "b"]),
                               ("os.remove('%s/a'); open('%s/new', 'w')", ["a"])):
                s.run(f"import os; [open('{top}/' + n, 'w').write('1') for n in 'ab']")
                time.sleep(0.05)
                record = self.fails(s, code.replace("%s", top) + "; os._exit(1)", "error")
                self.assertEqual(record["files_lost"], [f"{top}/{name}" for name in lost], code)

    def test_what_was_written_to_a_copy_of_a_file(self):
        """By a private mapping: its pages go when somebody cuts the file short."""
        make = "import mmap, os; open('m', 'wb').write(b'a' * 12288); f = open('m', 'r+b')\n" \
               "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY); f.close(); m[:4] = b'MINE'"
        for cut in ("open('m', 'wb').write(b'b' * 12288)", "open('m', 'wb').close()",
                    "os.truncate('m', 0); os.remove('m'); open('m', 'wb').write(b'b')"):
            for params in ({}, {"workspace": self.place()}):
                s = self.session(**params)
                s.run(make)
                for way in ("kill", "undo", "branch"):
                    if way == "branch":
                        s = service.Session(test_transactions.engine, test_transactions.engine.call("session.branch", session=s.id))
                        self.addCleanup(s.close)
                    if way == "undo":
                        s.run(cut)
                        self.undone(s)
                    else:
                        self.fails(s, cut + "; os._exit(1)", "error")
                    record = s.run("m[:5], m[5000:5001], open('m', 'rb').read(5)")
                    self.assertEqual(record["value"]["text/plain"], "(b'MINEa', b'a', b'aaaaa')", (cut, params, way))
                    self.assertNotIn("notice", record["state"])

    def test_too_much_written_to_a_copy_of_a_file_is_told(self):
        s = self.session(limits={"disk_bytes": 64 << 20})
        s.run("import mmap, os; open('m', 'wb').truncate(40 << 20); f = open('m', 'r+b')\n"
              "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY); m[:20 << 20] = b'x' * (20 << 20)")
        self.assertNotIn("notice", self.fails(s, "os._exit(1)", "error")["state"], "all of it is there")
        self.assertEqual(s.value("m[0], m[20 << 20]"), "(120, 0)")
        record = self.fails(s, "os.truncate('m', 0); os._exit(1)", "error")
        self.assertIn("gone: 20.0 MiB written to private mappings of files", record["state"]["notice"])

    def test_mode_of_the_workspace(self):
        for params in ({}, {"workspace": self.place()}):
            s = self.session(**params)
            mode = s.value("import os; os.stat('.').st_mode")
            for _ in range(2):
                record = self.fails(s, "import os; os.chmod('.', 0); os._exit(1)", "error")
                self.assertNotIn("files_lost", record)
                self.assertEqual(s.value("os.stat('.').st_mode"), mode)
            child = service.Session(test_transactions.engine, test_transactions.engine.call("session.branch", session=s.id))
            self.addCleanup(child.close)
            self.assertNotIn("files_lost", self.fails(child, "os.chmod('.', 0); os._exit(1)", "error"))
            self.assertEqual(child.value("os.stat('.').st_mode"), mode)


class Open(test_transactions.Case):
    """Who has a file open has the one that was put back."""

    OPEN = """
import mmap, os, shutil, sqlite3
os.makedirs('d/e'); os.chdir('d/e'); at = os.open('.', os.O_RDONLY)
f = open('f', 'w+'); f.write('ab'); f.flush(); again = os.dup(f.fileno()); own = open('f'); own.read(1)
m = open('m', 'w+b'); m.write(b'm' * 5000); m.flush(); m = mmap.mmap(m.fileno(), 0)
dbs = []
for mode in 'delete', 'wal':
    c = sqlite3.connect(mode + '.db'); c.execute('pragma journal_mode=' + mode).fetchall(); dbs.append(c)
    c.execute('create table t(a)'); c.execute('insert into t values(1)'); c.commit()
def look():
    f.write('c'); f.flush(); os.write(again, b'd'); m[0:1] = b'x'
    for c in dbs: c.execute('insert into t values(2)'); c.commit()
    return ([open(n).read(9) for n in 'fm'], own.read(), os.getcwd(), os.listdir(at) == os.listdir('/home/user/d/e'),
            [sqlite3.connect(n + '.db').execute('select count(*) from t').fetchone()[0] for n in ('delete', 'wal')])
"""

    def test_open_files_are_those_that_were_put_back(self):
        for code in ("shutil.rmtree('/home/user/d')",
                     "for n in os.listdir(): shutil.copy(n, 'x'); os.replace('x', n)",
                     "for n in os.listdir(): os.rename(n, 'x'); shutil.copy('x', n); os.unlink('x')"):
            for undo in False, True:
                s = self.session()
                s.run(self.OPEN)
                if undo:
                    s.run(code)
                    self.assertNotIn("notice", self.undone(s))
                else:
                    self.assertNotIn("notice", self.fails(s, code + "\nos._exit(1)", "error")["state"])
                self.assertEqual(self.value(s, "look()"), (["abcd", "xmmmmmmmm"], "bcd", "/home/user/d/e", True, [2, 2]), code)
                self.assertEqual(s.value("[c.execute('pragma integrity_check').fetchone()[0] for c in dbs]"), "['ok', 'ok']")

    def test_open_files_that_are_gone_are_told(self):
        s = self.session()
        s.run("import os; f = open('big', 'w+'); f.write('b' * (2 << 20)); f.flush()")
        record = self.fails(s, "os.unlink('big'); os._exit(1)", "error")
        self.assertEqual((record["files_lost"], record["state"]["notice"]), (["big"], "open, but gone: 1 file"))
        self.assertNotIn("notice", self.fails(s, "os._exit(1)", "error")["state"], "it has no name any more")


if __name__ == "__main__":
    harness.main()
