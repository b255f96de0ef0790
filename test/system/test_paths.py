# SPDX-License-Identifier: Apache-2.0
"""Operations on any path of a box (path.*): what they give, and that they see what the box's programs see."""

import base64
import hashlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402

MIB = 1 << 20


class Case(programs.Case):
    def sh(self, command, **params):
        return self.out_of("/bin/sh", "-c", command, **params)

    def stat(self, path, **params):
        return self.call("path.stat", path=path, **params)

    def write(self, path, content, **params):
        return self.call("path.write", path=path, content=content, **params)

    def names(self, path, **params):
        got = self.call("path.list", path=path, **params)
        return [entry["path"] for entry in got["entries"]]

    def read(self, path, client=None, **params):
        """(result, event `file`, content) of path.read, whose events must be without a gap."""
        client = client or programs.Client(self.engine.path)
        self.addCleanup(client.close)
        number = client.send("path.read", **{"session": self.s, "path": path, "stream": True, **params})
        result = client.receive(number)
        events = client.events.pop(number, [])
        content, at = [], params.get("offset", 0)
        for event in events[1:]:
            self.assertEqual((event["event"], event["offset"]), ("content", at), str(event)[:200])
            content.append(programs.decoded(event))
            at += len(content[-1])
        self.assertEqual(events[0]["event"], "file")
        self.assertEqual(events[0]["entry"], result)
        return result, events[0], b"".join(content)


class Stat(Case):
    def test_a_file_as_the_box_sees_it(self):
        self.sh("printf hello > a.txt; chmod 640 a.txt; touch -d 2001-02-03T04:05:06.123456789Z a.txt")
        uid, gid, user, group = self.sh("stat -c '%u %g %U %G' a.txt").split()
        entry = self.stat("a.txt")
        self.assertEqual(entry, {
            "name": "a.txt", "path": "/home/user/a.txt", "type": "file", "size": 5, "mode": 0o640, "owner": user,
            "group": group, "uid": int(uid), "gid": int(gid), "modified_ms": 981173106123, "modified_ns": 456789})
        for path in ("/home/user/a.txt", "~/a.txt", "./b/../a.txt", "//home/./user//a.txt", "../user/a.txt"):
            self.assertEqual(self.stat(path), entry, path)

    def test_other_places(self):
        self.sh("echo > /tmp/t; echo > /dev/shm/s; mkfifo p")
        self.assertEqual(self.stat("/")["name"], "/")
        self.assertEqual(self.stat("~")["path"], "/home/user")
        for path, kind in {"/tmp/t": "file", "/dev/shm/s": "file", "/etc": "directory", "/dev/null": "other",
                           "p": "other", "/proc/self/status": "file"}.items():
            self.assertEqual(self.stat(path)["type"], kind, path)
        self.assertEqual(self.stat("/retort/files/retort-files")["mode"] & 0o222, 0o200 & self.stat(
            "/retort/files/retort-files")["mode"])

    def test_links(self):
        self.sh("mkdir -p d; printf abc > d/f; chmod 600 d/f; ln -s d/f l; ln -s d m; ln -s nothing b; ln -s o o")
        link = self.stat("l")
        self.assertEqual((link["type"], link["mode"], link["link"], link["link_mode"], link["size"]),
                         ("file", 0o600, "/home/user/d/f", 0o777, 3))
        self.assertEqual((self.stat("m")["type"], self.stat("m")["link"]), ("directory", "/home/user/d"))
        self.assertEqual(self.stat("m/f")["path"], "/home/user/m/f")
        self.assertEqual((self.stat("b")["type"], self.stat("b")["link"]), ("link", "nothing"))
        self.assertEqual((self.stat("o")["type"], self.stat("o")["link"]), ("link", "o"))
        self.fails("usage", "symbolic links", "path.list", path="o")
        self.fails("not_found", ".", "path.list", path="b")

    def test_errors(self):
        self.fails("not_found", "^/home/user/none: ", "path.stat", path="none")
        self.fails("not_found", ".", "path.stat", path="/etc/passwd/below")
        self.fails("usage", "path", "path.stat", path="")
        self.fails("usage", "path", "path.stat", path="x" * 4096)
        self.fails("usage", "over 4095 bytes", "path.stat", path="x" * 4090)
        self.fails("usage", ".", "path.stat", path="x" * 300)
        self.fails("not_found", ".", "path.stat", path="a", session="none")

    def test_names(self):
        """Any name comes back as it is; bytes that are not UTF-8 are told."""
        names = ["a\nb", "tab\t", "\x1b[31m", "ž č", "日本", "-rf", " ", "\"q\"", "a\\b", "~", "\u202e"]
        for name in names:
            path = f"/tmp/n/{name}"
            self.assertEqual(self.write(path, "x")["name"], name)
            self.assertEqual(self.stat(path)["path"], path)
            self.assertEqual(self.read(path)[2], b"x")
        self.assertEqual(sorted(self.names("/tmp/n")), sorted(f"/tmp/n/{name}" for name in names))
        self.out_of("/usr/bin/python3", "-c", "open(b'/tmp/n/\\xff\\xfe', 'w')")
        entry, = [e for e in self.call("path.list", path="/tmp/n")["entries"] if e.get("inexact")]
        self.assertEqual(entry["name"], "\ufffd\ufffd")


class Change(Case):
    def test_make(self):
        made = self.call("path.make", path="/tmp/a/b/c")
        self.assertEqual((made["is_new"], made["entry"]["path"], made["entry"]["type"], made["entry"]["mode"]),
                         (True, "/tmp/a/b/c", "directory", 0o755))
        self.assertFalse(self.call("path.make", path="/tmp/a/b/c/")["is_new"])
        self.sh("echo > /tmp/a/f")
        self.fails("usage", "a file has this name", "path.make", path="/tmp/a/f")
        self.fails("usage", "a file has this name", "path.make", path="/tmp/a/f/g")
        self.fails("not_found", ".", "path.make", path="x/y", parents=False)

    def test_move(self):
        self.sh("mkdir -p d/e; echo 1 > d/e/f; echo 2 > g")
        self.assertEqual(self.call("path.move", source="d", destination="n/m/d")["path"], "/home/user/n/m/d")
        self.assertEqual(self.sh("cat n/m/d/e/f; ls -d d 2>&1 || true").split("\n")[0], "1")
        self.call("path.move", source="g", destination="n/m/d/e/f")
        self.assertEqual(self.sh("cat n/m/d/e/f; ls"), "2\nn\n")
        self.fails("not_found", ".", "path.move", source="none", destination="x")
        for params in ({"source": "n", "destination": "n/m/x"}, {"source": "n/m/d/e/f", "destination": "n"}):
            self.fails("usage", ".", "path.move", **params)

    def test_move_across_file_systems(self):
        self.sh("mkdir -p d/e; echo 1 > d/e/f; chmod 750 d/e; chmod 400 d/e/f; ln -s nowhere d/l; mkfifo d/p;"
                "touch -d 2001-02-03 d/e/f")
        before = self.sh("cd d; find . -type f -printf '%P %y %m %T@\\n'; find . ! -type f -printf '%P %y %m %l\\n' | sort")
        here = "d"
        for there in ("/dev/shm/x/d", "/tmp/d", "/home/user/back"):
            self.call("path.move", source=here, destination=there)
            after = self.sh(f"cd {there}; find . -type f -printf '%P %y %m %T@\\n'; "
                            "find . ! -type f -printf '%P %y %m %l\\n' | sort")
            self.assertEqual(after, before)
            here = there
        self.assertEqual(self.sh("ls; ls /dev/shm/x /tmp"), "back\n/dev/shm/x:\n\n/tmp:\n")

    def test_remove(self):
        self.sh("mkdir -p d/e; echo > d/e/f; ln -s d l; mkdir empty; mkdir /tmp/deep; cd /tmp/deep;"
                "for i in $(seq 200); do mkdir x; cd x; done")
        self.assertEqual(self.call("path.remove", path="l"), {})
        self.assertEqual(self.stat("d/e/f")["type"], "file")
        self.fails("usage", "not empty", "path.remove", path="d", recursive=False)
        self.call("path.remove", path="empty", recursive=False)
        self.call("path.remove", path="d")
        self.call("path.remove", path="/tmp/deep")
        self.assertEqual(self.sh("ls; ls /tmp"), "")
        self.fails("not_found", ".", "path.remove", path="d")
        self.assertEqual(self.call("path.remove", path="d", missing_ok=True), {})
        for path in ("/", "~", "/home/user/x/.."):
            self.fails("usage", "itself cannot be removed", "path.remove", path=path)

    def test_what_the_box_may_not(self):
        for method, params in {"path.write": {"path": "/etc/x", "content": ""}, "path.make": {"path": "/usr/x"},
                               "path.remove": {"path": "/etc/passwd"},
                               "path.move": {"source": "/etc/passwd", "destination": "/tmp/x"}}.items():
            with self.subTest(method=method):
                self.fails("access", ".", method, **params)
        self.assertEqual(self.read("/etc/passwd")[2].decode(), self.sh("cat /etc/passwd"))


class Content(Case):
    def test_write_and_read(self):
        entry = self.write("/tmp/new/a.bin", base64.b64encode(bytes(range(256))).decode(), encoding="base64")
        self.assertEqual((entry["size"], entry["mode"], entry["path"]), (256, 0o644, "/tmp/new/a.bin"))
        for raw in (True, False):
            entry, told, content = self.read("/tmp/new/a.bin", raw=raw)
            self.assertEqual((content, told["size"]), (bytes(range(256)), 256))
            self.assertEqual(self.read("/tmp/new/a.bin", raw=raw, offset=3, limit=4)[2], bytes((3, 4, 5, 6)))
            self.assertEqual(self.read("/tmp/new/a.bin", raw=raw, offset=256)[2], b"")
            self.assertEqual(self.read("/tmp/new/a.bin", raw=raw, limit=0)[2], b"")
        self.write("/tmp/new/a.bin", "žluť")
        self.assertEqual(self.read("/tmp/new/a.bin")[2].decode(), "žluť")
        self.write("/tmp/new/a.bin", "!", append=True, mode=0o600)
        self.assertEqual(self.sh("cat /tmp/new/a.bin; stat -c ' %a' /tmp/new/a.bin"), "žluť! 600\n")
        self.assertEqual(self.write("/tmp/new/a.bin", "")["size"], 0)

    def test_it_is_written_in_place(self):
        self.sh("echo long content > a; chmod 604 a; ln a hard; ln -s a soft; ln -s later dangling")
        self.assertEqual(self.write("soft", "new")["mode"], 0o604)
        self.assertEqual(self.sh("cat hard; stat -c ' %a' a"), "new 604\n")
        self.write("dangling", "made")
        self.assertEqual(self.sh("cat later"), "made")

    def test_what_has_no_content(self):
        self.sh("mkfifo p; mkdir d")
        for path, said in {"p": "no regular file", "d": "a directory", "/dev/zero": "no regular file"}.items():
            self.fails("usage", said, "path.read", path=path)
        for path, said in {"p": "no regular file", "d": "a directory", "/dev/null": "no regular file"}.items():
            self.fails("usage", said, "path.write", path=path, content="x")
        self.assertIn(b"Name:", self.read("/proc/self/status")[2])

    def test_much(self):
        n = harness.sample(100 * MIB, 1024 * MIB)
        wanted = self.sh(f"head -c {n} /dev/urandom > big; sha256sum big").split()[0]
        result, told, content = self.read("big", raw=True)
        self.assertEqual((told["size"], result["size"], hashlib.sha256(content).hexdigest()), (n, n, wanted))
        part = content[5 * MIB:9 * MIB]
        del content
        self.assertEqual(self.read("big", offset=5 * MIB, limit=4 * MIB)[2], part)
        again = base64.b64encode(part * 12).decode()
        self.assertEqual(self.write("/tmp/copy", again, encoding="base64")["size"], 48 * MIB)
        self.assertEqual(self.sh("sha256sum /tmp/copy").split()[0], hashlib.sha256(part * 12).hexdigest())


class List(Case):
    def test_depth_and_order(self):
        self.sh("mkdir -p t/b/c/d t/a; touch t/b.txt t/b/x t/a/y t/b/c/z; ln -s .. t/a/up; ln -s t top")
        self.assertEqual(self.names("t"), ["/home/user/t/a", "/home/user/t/b", "/home/user/t/b.txt"])
        two = ["a", "a/up", "a/y", "b", "b/c", "b/x", "b.txt"]
        self.assertEqual(self.names("t", depth=2), [f"/home/user/t/{p}" for p in two])
        self.assertEqual(len(self.names("t", depth=64)), 9)
        self.assertEqual(self.names("top/b", depth=1), ["/home/user/top/b/c", "/home/user/top/b/x"])
        self.assertEqual(self.names("top")[0], "/home/user/top/a")
        self.assertIn("/etc", self.names("/"))
        self.fails("usage", "not a directory", "path.list", path="t/b.txt")

    def test_many(self):
        self.sh("mkdir m; cd m; seq -f 'file-%05g' 20000 | xargs touch")
        got = self.call("path.list", path="m")
        self.assertEqual([e["name"] for e in got["entries"]], [f"file-{i:05}" for i in range(1, 10001)])
        self.assertTrue(got["truncated"])
        self.sh("cd m; seq -f 'file-%05g' 10001 20000 | xargs rm")
        got = self.call("path.list", path="m")
        self.assertEqual((len(got["entries"]), "truncated" in got), (10000, False))


class Watcher:
    """A call of path.watch, and its events."""

    def __init__(self, case, path, **params):
        self.client = programs.Client(case.engine.path)
        case.addCleanup(self.client.close)
        self.number = self.client.send("path.watch", **{"session": case.s, "path": path, "stream": True, **params})
        self.events = []
        self.until(lambda events: {"event": "watching"} in events)

    def until(self, is_so):
        """All events, when it is so."""
        while not is_so(self.events):
            self.client.next()
            if self.number in self.client.answers:
                self.client.receive(self.number)
                raise AssertionError(f"the watch is over: {self.events}")
            for event in self.client.events.pop(self.number, []):
                event.pop("id")
                self.events.append(event)
        return self.events

    def changes(self, last):
        """[(type, name)] up to the event @last."""
        self.until(lambda events: any((e.get("type"), e.get("name")) == last for e in events))
        return [(e["type"], e["name"]) for e in self.events if e["event"] == "change"]

    def cancel(self):
        self.client.cancel(self.number)
        return self.client.receive(self.number)


class Watch(Case):
    def test_types(self):
        self.sh("mkdir w; echo > w/old; echo > w/m; mkdir w/d")
        w = Watcher(self, "w")
        self.sh("cd w; echo a >> old; chmod 600 old; mv m n; rm n; echo > d/inner; mkdir e; ln -s x l; mv ../w/old /tmp;"
                "mv /tmp/old .; touch end")
        got = w.changes(("create", "end"))
        # /tmp is another file system, so mv copies
        got = [change for i, change in enumerate(got) if i == 0 or got[i - 1] != change]
        self.assertEqual(got[:7], [("write", "old"), ("chmod", "old"), ("rename", "m"), ("create", "n"), ("remove", "n"),
                                   ("create", "e"), ("create", "l")])
        self.assertEqual(got[7:10], [("remove", "old"), ("create", "old"), ("write", "old")])
        self.assertEqual(w.cancel(), {})
        self.until(lambda: not [p for p in self.list() if "watch" in p.get("argv", [])])

    def test_entries(self):
        w = Watcher(self, "/tmp", entries=True)
        self.write("/tmp/a.txt", "hello", mode=0o600)
        self.call("path.remove", path="/tmp/a.txt")
        w.changes(("remove", "a.txt"))
        seen = [e for e in w.events if e["event"] == "change" and e["type"] in ("create", "write", "chmod")]
        for event in seen:
            if "entry" in event:  # it may be gone already
                self.assertEqual(event["entry"]["path"], "/tmp/a.txt")
        self.assertNotIn("entry", w.events[-1])

    def test_recursive_and_later_directories(self):
        self.sh("mkdir -p w/a/b")
        w = Watcher(self, "w", recursive=True)
        self.sh("cd w; echo > a/b/f; mkdir -p x/y/z; echo > x/y/z/g; mkdir /home/user/q /home/user/q/r;"
                "touch /home/user/q/r/s; mv /home/user/q .; sleep .3; touch x/y/z/late q/r/late; mv q p; sleep .3;"
                "touch p/r/more; touch end")
        got = w.changes(("create", "end"))
        creates = [name for kind, name in got if kind == "create"]
        wanted = ["a/b/f", "x", "x/y", "x/y/z", "x/y/z/g", "q", "q/r", "q/r/s", "x/y/z/late", "q/r/late", "p", "p/r",
                  "p/r/late", "p/r/s", "p/r/more", "end"]
        self.assertEqual(sorted(creates), sorted(wanted))
        self.assertIn(("rename", "q"), got)

    def test_a_moved_directory_is_no_longer_watched(self):
        self.sh("mkdir -p w/a/b")
        w = Watcher(self, "w", recursive=True)
        self.sh("mv w/a out; sleep .2; touch out/f out/b/g; touch w/end")
        self.assertEqual(w.changes(("create", "end")), [("rename", "a"), ("create", "end")])

    def test_no_file_is_told_twice_or_missed(self):
        """Files that are made while their new directory is found."""
        self.sh("mkdir w")
        w = Watcher(self, "w", recursive=True)
        self.sh("cd w; for i in $(seq 30); do mkdir d$i; for j in 1 2 3 4 5; do : > d$i/f$j; done; done; touch end")
        creates = [name for kind, name in w.changes(("create", "end")) if kind == "create"]
        wanted = ["end"] + [f"d{i}" for i in range(1, 31)] + [f"d{i}/f{j}" for i in range(1, 31) for j in range(1, 6)]
        self.assertEqual(sorted(creates), sorted(wanted))

    def test_its_own_directory(self):
        self.sh("mkdir w")
        w = Watcher(self, "w")
        self.sh("chmod 700 w; rmdir w")
        self.assertEqual(w.changes(("remove", "."))[0], ("chmod", "."))
        self.assertEqual(w.cancel(), {})

    def test_names(self):
        w = Watcher(self, "/tmp")
        self.sh("cd /tmp; touch 'a\nb' \"$(printf '\\303\\277')\"; mkdir \"$(printf '\\377')\"; touch end")
        got = [name for kind, name in w.changes(("create", "end")) if kind == "create"]
        self.assertEqual(got[1:], ["ÿ", "\ufffd", "end"])

    def test_errors(self):
        self.sh("echo > f; for i in $(seq 9000); do echo many/$i; done | xargs mkdir -p")
        self.fails("usage", "not a directory", "path.watch", path="f")
        self.fails("not_found", ".", "path.watch", path="none")
        self.fails("limit", "more than 8192 directories", "path.watch", path="many", recursive=True)

    def test_a_slow_reader_is_told_what_was_missed(self):
        w = Watcher(self, "/tmp")
        self.sh("python3 -c \"import os\nfor i in range(150000):\n"
                " f = '/tmp/' + 'x' * 150 + str(i); os.mkdir(f); os.rmdir(f)\"")
        w.until(lambda events: {"event": "missed"} in events)
        self.sh("touch /tmp/end")
        w.changes(("create", "end"))

    def test_the_session_is_closed(self):
        other = self.new_session()
        own, self.s = self.s, other
        w = Watcher(self, ".")
        self.s = own
        self.client.call("session.close", session=other)
        with self.assertRaises(programs.service.Refused) as caught:
            w.client.receive(w.number)
        self.assertEqual(caught.exception.code, "gone")


class Together(Case):
    """With steps, branches and undo."""

    def test_while_a_step_runs(self):
        number = self.client.send("step.run", session=self.s, code="import time, os\nprint('go', flush=True)\n"
                                  "while not os.path.exists('/tmp/stop'): time.sleep(.01)\nopen('got').read()", stream=True)
        while not any(e["event"] == "stdout" for e in self.client.events.get(number, [])):
            self.client.next()
        other = programs.Client(self.engine.path)
        self.addCleanup(other.close)
        other.call("path.write", session=self.s, path="got", content="from outside")
        self.assertEqual(other.call("path.stat", session=self.s, path="got")["size"], 12)
        other.call("path.write", session=self.s, path="/tmp/stop", content="")
        self.assertIn("from outside", json.dumps(self.client.receive(number)["value"]))

    def test_in_a_branch(self):
        """A watch is a process of the session as any other: with `keep_processes` it goes on there."""
        self.write("a", "1")
        self.call("step.run", code="open('b', 'w').write('2')\nopen('/tmp/t', 'w').write('3')")
        w = Watcher(self, ".")
        self.fails("busy", "1 process of its own", "session.branch")
        branch = self.call("session.branch", keep_processes=True)["session"]
        self.addCleanup(self.close_session, branch)
        self.assertEqual([self.read(p, session=branch)[2] for p in ("a", "b", "/tmp/t")], [b"1", b"2", b"3"])
        self.write("a", "other", session=branch)
        self.assertEqual(self.read("a")[2], b"1")
        self.write("end", "")
        self.assertEqual(w.changes(("create", "end")), [("create", "end")])

    def test_undo(self):
        """What is written between two steps is as what a process writes."""
        self.call("step.run", code="1")
        self.write("a", "1")
        self.sh("echo 1 > as")
        self.call("step.run", code="open('b', 'w').write('2')\nopen('a', 'w').write('3')\nopen('as', 'w').write('3')")
        w = Watcher(self, ".")
        self.call("session.undo")
        self.fails("not_found", ".", "path.stat", path="b")
        self.assertEqual((self.read("a")[2], self.read("as")[2]), (b"1", b"1\n"))
        self.write("end", "")
        w.changes(("create", "end"))

    def test_every_language(self):
        for runtime in ("python", "javascript", "sql", "shell"):
            s = self.new_session(runtime=runtime)
            self.assertEqual(self.stat(".", session=s)["type"], "directory", runtime)

    def test_much_at_once(self):
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        numbers = [client.send("path.stat", session=self.s, path="/tmp") for _ in range(90)]
        self.assertEqual({client.receive(n)["type"] for n in numbers}, {"directory"})

    def test_cancelled(self):
        self.sh("head -c 50000000 /dev/zero > zeros")
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        number = client.send("path.read", session=self.s, path="zeros", stream=True)
        while number not in client.events:
            client.next()
        client.cancel(number)
        with self.assertRaises(programs.service.Refused) as caught:
            client.receive(number)
        self.assertEqual(caught.exception.code, "interrupted")
        self.assertEqual(self.stat("zeros")["size"], 50000000)

    def test_a_client_that_leaves(self):
        self.sh("head -c 50000000 /dev/zero > zeros")
        client = programs.Client(self.engine.path)
        number = client.send("path.read", session=self.s, path="zeros", stream=True, raw=True)
        while len(client.events.get(number, [])) < 3:
            client.next()
        client.close()
        self.until(lambda: not [p for p in self.list() if p.get("state") == "running"])


class Attributes(Case):
    def test_the_set_is_replaced(self):
        first = self.write("a", "x", attributes={"author": "me", "n": "ž"}, attribute_prefix="e2b.")
        self.assertEqual(first["attributes"], {"e2b.author": "me", "e2b.n": "ž"})
        self.out_of("/usr/bin/python3", "-c", "import os; os.setxattr('a', 'user.other', b'1')")
        self.assertEqual(self.write("a", "y")["attributes"], {**first["attributes"], "other": "1"})
        self.assertEqual(self.write("a", "y", attributes={"author": "you"}, attribute_prefix="e2b.")["attributes"],
                         {"e2b.author": "you", "other": "1"})
        self.assertEqual(self.write("a", "y", attributes={}, attribute_prefix="e2b.")["attributes"], {"other": "1"})
        self.assertNotIn("attributes", self.write("a", "y", attributes={}))
        entry, = self.call("path.list", path=".")["entries"]
        self.assertEqual(entry, self.stat("a"))

    def test_errors(self):
        self.fails("usage", "a name is empty", "path.write", path="a", content="", attributes={"": "x"})
        self.fails("usage", "too long", "path.write", path="a", content="", attributes={"x" * 300: "x"})
        self.fails("limit", "over 48 KiB", "path.write", path="a", content="", attributes={"x": "y" * 50000})
        self.fails("not_found", ".", "path.stat", path="a")


class Full(Case):
    def test_no_space(self):
        self.write("/dev/shm/a", "old")
        free = int(self.sh("df --output=avail -B1 /dev/shm | tail -1"))
        self.assertLess(free, 1 << 31)
        self.sh(f"head -c {free - 65536} /dev/zero > /dev/shm/fill")
        self.fails("no_space", ".", "path.write", path="/dev/shm/a", content="x" * 200000)
        self.fails("no_space", ".", "path.write", path="/dev/shm/new", content="x" * 200000)
        self.assertEqual(self.read("/dev/shm/a")[2], b"old")
        self.fails("not_found", ".", "path.stat", path="/dev/shm/new")


if __name__ == "__main__":
    harness.main()
