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

    def fails_plain(self, code, method, pattern=".", **params):
        """As fails(), but the error may be without a hint."""
        with self.assertRaises(programs.service.Refused) as caught:
            self.call(method, **params)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        self.assertRegex(str(caught.exception), pattern)


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
        self.fails_plain("usage", "path.list", "symbolic links", path="o")
        self.fails_plain("not_found", "path.list", path="b")

    def test_errors(self):
        self.fails_plain("not_found", "path.stat", "^/home/user/none: ", path="none")
        self.fails_plain("not_found", "path.stat", path="/etc/passwd/below")
        self.fails_plain("usage", "path.stat", "path", path="")
        self.fails_plain("usage", "path.stat", "path", path="x" * 4096)
        self.fails_plain("usage", "path.stat", "over 4095 bytes", path="x" * 4090)
        self.fails_plain("usage", "path.stat", path="x" * 300)
        self.fails_plain("not_found", "path.stat", path="a", session="none")

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
        self.fails_plain("not_found", "path.make", path="x/y", parents=False)

    def test_move(self):
        self.sh("mkdir -p d/e; echo 1 > d/e/f; echo 2 > g")
        self.assertEqual(self.call("path.move", source="d", destination="n/m/d")["path"], "/home/user/n/m/d")
        self.assertEqual(self.sh("cat n/m/d/e/f; ls -d d 2>&1 || true").split("\n")[0], "1")
        self.call("path.move", source="g", destination="n/m/d/e/f")
        self.assertEqual(self.sh("cat n/m/d/e/f; ls"), "2\nn\n")
        self.fails_plain("not_found", "path.move", source="none", destination="x")
        for params in ({"source": "n", "destination": "n/m/x"}, {"source": "n/m/d/e/f", "destination": "n"}):
            self.fails_plain("usage", "path.move", **params)

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
        self.fails_plain("not_found", "path.remove", path="d")
        self.assertEqual(self.call("path.remove", path="d", missing_ok=True), {})
        for path in ("/", "~", "/home/user/x/.."):
            self.fails("usage", "itself cannot be removed", "path.remove", path=path)

    def test_what_the_box_may_not(self):
        for method, params in {"path.write": {"path": "/etc/x", "content": ""}, "path.make": {"path": "/usr/x"},
                               "path.remove": {"path": "/etc/passwd"},
                               "path.move": {"source": "/etc/passwd", "destination": "/tmp/x"}}.items():
            with self.subTest(method=method):
                self.fails_plain("access", method, **params)
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


if __name__ == "__main__":
    harness.main()
