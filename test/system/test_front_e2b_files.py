# SPDX-License-Identifier: Apache-2.0
"""`--front e2b`: files of a sandbox, as E2B's clients ask for them over plain HTTP."""

import gzip
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402
from e2b_files_client import Sandbox, envelope, messages  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b")
        cls.sandbox = Sandbox(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def fails(self, answer, status, code, pattern="."):
        self.assertEqual((answer.status, answer.json["code"]), (status, code), answer.body)
        self.assertRegex(answer.json["message"], pattern)


class Entries(Case):
    def test_a_file(self):
        self.sandbox.write("e/a.txt", b"hello")
        self.sandbox.run("chmod 640 e/a.txt; touch -d 2001-02-03T04:05:06.123456789Z e/a.txt")
        entry = self.sandbox.entry("e/a.txt")
        self.assertEqual(entry, {
            "name": "a.txt", "type": "FILE_TYPE_FILE", "path": "/home/user/e/a.txt", "size": "5", "mode": 0o640,
            "permissions": "-rw-r-----", "owner": "user", "group": "user", "modifiedTime": "2001-02-03T04:05:06.123456789Z"})

    def test_times(self):
        for text, said in (("2001-02-03T04:05:06Z", "2001-02-03T04:05:06Z"), ("2001-02-03T04:05:06.5Z", "2001-02-03T04:05:06.500Z"),
                           ("2001-02-03T04:05:06.000001Z", "2001-02-03T04:05:06.000001Z")):
            self.sandbox.run(f"touch -d {text} t.txt")
            self.assertEqual(self.sandbox.entry("t.txt")["modifiedTime"], said)

    def test_directories_and_permissions(self):
        self.sandbox.run("mkdir -p m/d; chmod 1777 m/d; touch m/f; chmod 711 m/f")
        self.assertEqual((self.sandbox.entry("m/d")["type"], self.sandbox.entry("m/d")["permissions"], self.sandbox.entry("m/d")["mode"]),
                         ("FILE_TYPE_DIRECTORY", "dtrwxrwxrwx", 0o777))
        self.assertEqual(self.sandbox.entry("m/f")["permissions"], "-rwx--x--x")

    def test_links(self):
        self.sandbox.run("mkdir -p l; echo hi > l/f; ln -s f l/to_f; ln -s . l/to_d; ln -s nowhere l/broken")
        entry = self.sandbox.entry("l/to_f")
        self.assertEqual((entry["type"], entry["permissions"], entry["symlinkTarget"], entry["path"], entry["mode"]),
                         ("FILE_TYPE_FILE", "Lrwxrwxrwx", "/home/user/l/f", "/home/user/l/to_f", 0o644))
        self.assertEqual(self.sandbox.entry("l/to_d")["type"], "FILE_TYPE_DIRECTORY")
        entry = self.sandbox.entry("l/broken")
        self.assertEqual((entry["type"], entry["symlinkTarget"]), ("FILE_TYPE_UNSPECIFIED", "nowhere"))

    def test_paths(self):
        for path in ("", "~", "~/", ".", "/home/user", "/home//user/."):
            self.assertEqual(self.sandbox.entry(path)["path"], "/home/user", path)
        self.assertEqual(self.sandbox.entry("/etc/passwd")["path"], "/etc/passwd")
        self.fails(self.sandbox.rpc("Stat", path="/nope"), 404, "not_found", "^file not found: lstat /nope: no such file or directory$")
        self.fails(self.sandbox.rpc("Stat", path=7), 400, "invalid_argument")
        self.fails(self.sandbox.rpc("Stat", path="x" * 5000), 400, "invalid_argument")

    def test_lists(self):
        self.sandbox.run("mkdir -p li/a/b/c; touch li/f li/a/g; ln -s a li/link")
        def names(**more):
            return [e["path"][len("/home/user/li/"):] for e in self.sandbox.rpc("ListDir", path="li", **more).json["entries"]]
        self.assertEqual(names(), ["a", "f", "link"])
        self.assertEqual(names(depth=0), ["a", "f", "link"])
        self.assertEqual(names(depth=2), ["a", "a/b", "a/g", "f", "link"])
        self.assertEqual(names(depth=4000000000), ["a", "a/b", "a/b/c", "a/g", "f", "link"])
        said = self.sandbox.rpc("ListDir", path="li/link").json["entries"]
        self.assertEqual([e["path"] for e in said], ["/home/user/li/link/b", "/home/user/li/link/g"])
        self.fails(self.sandbox.rpc("ListDir", path="li/f"), 400, "invalid_argument")
        self.fails(self.sandbox.rpc("ListDir", path="li/x"), 404, "not_found")
        self.sandbox.run("ln -s loop li/loop")
        self.fails(self.sandbox.rpc("ListDir", path="li/loop"), 400, "failed_precondition")

    def test_make_move_and_remove(self):
        self.assertEqual(self.sandbox.rpc("MakeDir", path="k/l").json["entry"]["path"], "/home/user/k/l")
        self.fails(self.sandbox.rpc("MakeDir", path="k/l"), 409, "already_exists", "^directory already exists: /home/user/k/l$")
        self.sandbox.write("k/f", b"1", headers={"X-Metadata-Of": "me"})
        self.fails(self.sandbox.rpc("MakeDir", path="k/f"), 400, "invalid_argument")
        entry = self.sandbox.rpc("Move", source="k/f", destination="new/dir/f").json["entry"]
        self.assertEqual((entry["path"], entry["metadata"]), ("/home/user/new/dir/f", {"of": "me"}))
        self.fails(self.sandbox.rpc("Move", source="k/f", destination="x"), 404, "not_found", "^source file not found: rename /home")
        for _ in range(2):
            answer = self.sandbox.rpc("Remove", path="new")
            self.assertEqual((answer.status, answer.json), (200, {}))

    def test_users(self):
        for name, status in (("user", 200), ("", 200), ("root", 401), ("daemon", 401)):
            key = {"Authorization": "Basic " + __import__("base64").b64encode(f"{name}:".encode()).decode()}
            self.assertEqual(self.sandbox.rpc("Stat", key, path="/tmp").status, status, name)
            self.assertEqual(self.sandbox.read("/etc/passwd", username=name).status, status, name)
        self.fails(self.sandbox.read("/etc/passwd", username="root"), 401, 401, "only has 'user'")


class Downloads(Case):
    def test_the_answer(self):
        self.sandbox.write("a.csv", b"1,2\n")
        answer = self.sandbox.read("a.csv")
        self.assertEqual((answer.status, answer.body), (200, b"1,2\n"))
        self.assertEqual({name: answer.headers[name] for name in ("Content-Type", "Content-Length", "Content-Disposition", "Accept-Ranges")},
                         {"Content-Type": "text/csv", "Content-Length": "4", "Content-Disposition": "inline; filename=a.csv",
                          "Accept-Ranges": "bytes"})
        self.sandbox.write("empty", b"")
        answer = self.sandbox.read("empty")
        self.assertEqual((answer.status, answer.body, answer.headers["Content-Length"]), (200, b"", "0"))

    def test_paths_with_escapes(self):
        for name in ("no pe+c&d=é", "100%", "a%20b", 'q"uo\\te'):
            self.assertEqual(self.sandbox.write("odd/" + name, b"x").json[0]["name"], name)
            self.assertEqual(self.sandbox.read("odd/" + name).body, b"x", name)
        answer = self.server.request("GET", "/files?path=odd%2fno+pe%2Bc%26d%3D%C3%A9", headers=self.sandbox.headers)
        self.assertEqual((answer.body, answer.headers["Content-Disposition"]), (b"x", "inline; filename*=utf-8''no%20pe%2Bc%26d%3D%C3%A9"))
        self.assertEqual(self.sandbox.read('odd/q"uo\\te').headers["Content-Disposition"], r'inline; filename="q\"uo\\te"')

    def test_what_cannot_be_read(self):
        self.fails(self.sandbox.read("/no pe+c&d=é"), 404, 404, r"^path '/no pe\+c&d=é' does not exist$")
        self.fails(self.sandbox.read("/home/user"), 400, 400, "^path '/home/user' is a directory$")
        self.fails(self.sandbox.ask("GET"), 400, 400, "is a directory")
        self.fails(self.server.request("GET", "/files?path=a%00b", headers=self.sandbox.headers), 400, 400, "NUL")
        self.fails(self.server.request("GET", "/files?path=%ff", headers=self.sandbox.headers), 400, 400, "UTF-8")
        self.fails(self.server.request("GET", "/files?path=a"), 400, 400, "missing header")

    def test_ranges(self):
        self.sandbox.write("r", b"0123456789")
        for asked, said, body in (("0-3", "0-3", b"0123"), ("5-", "5-9", b"56789"), ("-3", "7-9", b"789"), ("8-99", "8-9", b"89"),
                                  ("-99", "0-9", b"0123456789"), ("9-9", "9-9", b"9")):
            answer = self.sandbox.read("r", {"Range": f"bytes={asked}"})
            self.assertEqual((answer.status, answer.body, answer.headers["Content-Range"]), (206, body, f"bytes {said}/10"), asked)
        for asked in ("10-", "99-100", "-0"):
            answer = self.sandbox.read("r", {"Range": f"bytes={asked}"})
            self.assertEqual((answer.status, answer.headers["Content-Range"]), (416, "bytes */10"), asked)
        for asked in ("bytes=3-1", "bytes=a-b", "lines=1-2", "bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=99999999999999999999-"):
            answer = self.sandbox.read("r", {"Range": asked})
            self.assertEqual((answer.status, answer.body), (200, b"0123456789"), asked)
        date = self.sandbox.read("r").headers["Last-Modified"]
        self.assertEqual(self.sandbox.read("r", {"Range": "bytes=0-0", "If-Range": date}).status, 206)
        self.assertEqual(self.sandbox.read("r", {"Range": "bytes=0-0", "If-Range": '"other"'}).status, 200)
        self.sandbox.write("none", b"")
        self.assertEqual(self.sandbox.read("none", {"Range": "bytes=0-"}).status, 200)

    def test_only_the_headers(self):
        self.sandbox.write("h.json", b"{}" * 100)
        answer = self.sandbox.ask("HEAD", path="h.json")
        self.assertEqual((answer.status, answer.body, answer.headers["Content-Length"], answer.headers["Content-Type"]),
                         (200, b"", "200", "application/json"))
        self.assertEqual(self.sandbox.ask("HEAD", path="nope").status, 404)

    def test_files_of_the_kernel(self):
        """They say that they are empty."""
        answer = self.sandbox.read("/proc/self/status")
        self.assertIn(b"Name:", answer.body)

    def test_a_long_file_and_clients_that_leave(self):
        data = os.urandom(MIB) * 100
        before = self.server.memory_bytes()
        self.assertEqual(self.sandbox.write("big", data).status, 200)
        self.assertEqual(self.sandbox.read("big").body, data)
        self.assertEqual(self.sandbox.read("big", {"Range": "bytes=50000000-50000009"}).body, data[50000000:50000010])
        for _ in range(10):
            with self.server.raw() as raw:
                raw.say(web.head("/files?path=big", "GET", **{k.replace("-", "_"): v for k, v in self.sandbox.headers.items()}))
                raw.sock.recv(1000)
        self.assertLess(self.server.memory_bytes() - before, 64 * MIB)
        self.assertTrue(web.wait(lambda: b"1\n" not in self.sandbox.read("/proc/loadavg").body))
        self.assertEqual(self.sandbox.read("big").body, data)

    def test_many_at_once(self):
        self.sandbox.write("many", b"x" * 100000)
        got = []
        def read():
            got.append(self.sandbox.read("many").body)
        threads = [threading.Thread(target=read) for _ in range(200)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [b"x" * 100000] * 200)


class Uploads(Case):
    def test_a_form(self):
        answer = self.sandbox.upload(("file", "a.txt", b"one"))
        self.assertEqual((answer.status, answer.json), (200, [{"path": "/home/user/a.txt", "name": "a.txt", "type": "file"}]))
        answer = self.sandbox.upload(("file", "dir/%22b%22.txt", b""), ("note", None, b"not a file"), ("file", "/tmp/c", b"\0\xff" * 3000))
        self.assertEqual([f["path"] for f in answer.json], ["/home/user/dir/%22b%22.txt", "/tmp/c"])
        self.assertEqual(self.sandbox.read("/tmp/c").body, b"\0\xff" * 3000)
        self.assertEqual(self.sandbox.read("dir/%22b%22.txt").body, b"")
        self.assertEqual(self.sandbox.upload(("file", None, b"1"), path="named").json[0]["path"], "/home/user/named")
        self.assertEqual(self.sandbox.upload(("file", "undefined", b"22"), path="named").json[0]["name"], "named")
        self.assertEqual(self.sandbox.read("named").body, b"22")
        self.assertEqual(self.sandbox.upload().json, [])

    def test_forms_that_are_wrong(self):
        self.fails(self.sandbox.upload(("file", "x", b"1"), ("file", "./x", b"2")), 400, 400, "multiple files to the same path '/home/user/x'")
        self.fails(self.sandbox.upload(("file", None, b"1")), 400, 400, "no name")
        self.fails(self.sandbox.upload(("other", None, b"1" * 2 * MIB)), 413, 413)
        kind = {**self.sandbox.headers, "Content-Type": "multipart/form-data; boundary=b0und"}
        self.fails(self.sandbox.ask("POST", b'--b0und\r\nContent-Disposition: form-data; name="file"; filename="y"\r\n\r\nabc', kind), 400, 400, "whole form")
        for nothing in (b"", b"garbage", b"--", b"----", b"--other--\r\n", b"--b0und\r\n", b"--b0un--", b"x" * 1000):
            self.fails(self.sandbox.ask("POST", nothing, kind), 400, 400, "whole form")
        for kinds in ('boundary="b0und"', "boundary=b0und; charset=utf-8"):
            answer = self.sandbox.ask("POST", b"--b0und--\r\n", {**kind, "Content-Type": "multipart/form-data; " + kinds})
            self.assertEqual((answer.status, answer.json), (200, []))
        self.fails(self.sandbox.ask("POST", b"x", {**kind, "Content-Type": "multipart/form-data"}), 400, 400, "boundary")
        self.fails(self.sandbox.ask("POST", b"x", {**kind, "Content-Type": "text/plain"}, path="a"), 400, 400, "unsupported content type")
        self.fails(self.sandbox.ask("POST", b"x", {**kind, "Content-Type": "application/octet-stream"}), 400, 400, "path query parameter is required")

    def test_bytes(self):
        self.assertEqual(self.sandbox.write("deep/er/o.bin", b"12345").json[0]["path"], "/home/user/deep/er/o.bin")
        self.sandbox.write("deep/er/o.bin", b"6")
        self.assertEqual(self.sandbox.read("deep/er/o.bin").body, b"6")
        self.fails(self.sandbox.write("deep", b"1"), 400, 400, "is a directory")
        for n in (MIB - 1, MIB, MIB + 1, 2 * MIB + 7):
            data = os.urandom(n)
            self.sandbox.write("part", data)
            self.assertEqual(self.sandbox.read("part").body, data)
        self.sandbox.write("chunked", iter([b"a" * 70000, b"b", b"c" * 3]))
        self.assertEqual(self.sandbox.read("chunked").body, b"a" * 70000 + b"bccc")

    def test_several_large_files_in_one_form(self):
        data = [os.urandom(n) for n in (3 * MIB + 5, 0, 10, 2 * MIB)]
        answer = self.sandbox.upload(*(("file", f"large/{i}", d) for i, d in enumerate(data)))
        self.assertEqual([f["name"] for f in answer.json], ["0", "1", "2", "3"])
        for i, d in enumerate(data):
            self.assertEqual(self.sandbox.read(f"large/{i}").body, d)

    def test_packed(self):
        zipped = {"Content-Encoding": "gzip"}
        data = os.urandom(3 * MIB)
        self.sandbox.write("g", gzip.compress(data), zipped)
        self.assertEqual(self.sandbox.read("g").body, data)
        self.sandbox.write("g", b"plain", {"Content-Encoding": "identity"})
        self.assertEqual(self.sandbox.read("g").body, b"plain")
        self.fails(self.sandbox.write("g", b"no gzip", zipped), 400, 400, "decompressing")
        self.fails(self.sandbox.write("g", gzip.compress(data)[:-9], zipped), 400, 400, "unexpected end")
        self.fails(self.sandbox.write("g", b"", zipped), 400, 400, "unexpected end")
        self.fails(self.sandbox.write("g", b"x", {"Content-Encoding": "br"}), 400, 400, "expected gzip")

    def test_metadata(self):
        answer = self.sandbox.write("meta", b"1", {"X-Metadata-Author": "me", "x-metadata-Kind": "a b"})
        self.assertEqual(answer.json[0]["metadata"], {"author": "me", "kind": "a b"})
        self.assertEqual(self.sandbox.entry("meta")["metadata"], {"author": "me", "kind": "a b"})
        self.assertEqual([e["metadata"] for e in self.sandbox.rpc("ListDir", path="").json["entries"] if e["name"] == "meta"],
                         [{"author": "me", "kind": "a b"}])
        self.sandbox.write("meta", b"2", {"X-Metadata-New": "1"})
        self.assertEqual(self.sandbox.entry("meta")["metadata"], {"new": "1"})
        self.sandbox.write("meta", b"3")
        self.assertNotIn("metadata", self.sandbox.entry("meta"))
        self.fails(self.sandbox.write("meta", b"4", {"X-Metadata-A": "\xe9"}), 400, 400, "ASCII")
        self.fails(self.sandbox.write("meta", b"4", {"X-Metadata-" + "a" * 247: "1"}), 400, 400, "246")
        self.fails(self.sandbox.write("meta", b"4", {"X-Metadata-A": "a" * 5000}), 400, 400, "4096")
        self.assertEqual(self.sandbox.read("meta").body, b"3")

    def test_a_full_disk(self):
        with web.Server("--front", "e2b", "--front-disk", "8m") as server:
            sandbox = Sandbox(server)
            self.fails(sandbox.write("big", b"x" * 20 * MIB), 507, 507, "^not enough disk space available")
            self.assertEqual(sandbox.rpc("Remove", path="big").status, 200)
            self.assertEqual(sandbox.write("small", b"x").status, 200)


class Signed(Case):
    def get(self, **query):
        return self.sandbox.ask("GET", headers={}, **query)

    def test_without_a_sandbox_in_the_request(self):
        other = Sandbox(self.server)
        self.sandbox.write("s.txt", b"mine")
        other.write("s.txt", b"other")
        sign = self.sandbox.signature
        self.assertEqual(self.get(path="s.txt", signature=sign("s.txt", "read")).body, b"mine")
        self.assertEqual(self.get(path="s.txt", signature=other.signature("s.txt", "read")).body, b"other")
        self.assertEqual(self.get(path="s.txt", username="user", signature=sign("s.txt", "read", "user")).body, b"mine")
        end = int(time.time()) + 100
        self.assertEqual(self.get(path="s.txt", signature=sign("s.txt", "read", end=end), signature_expiration=end).body, b"mine")
        answer = self.sandbox.ask("POST", b"new", {"Content-Type": "application/octet-stream"}, path="s.txt", signature=sign("s.txt", "write"))
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.sandbox.read("s.txt").body, b"new")
        self.assertEqual(other.end().status, 204)
        self.fails(self.get(path="s.txt", signature=other.signature("s.txt", "read")), 401, 401, "^invalid signature$")

    def test_messages(self):
        sign = self.sandbox.signature
        place = self.sandbox.place
        self.fails(self.sandbox.ask("GET", headers=place, path="a"), 401, 401, "^missing signature query parameter$")
        self.fails(self.sandbox.ask("GET", headers=place, path="a", signature="v1_x"), 401, 401, "^invalid signature$")
        self.fails(self.sandbox.ask("GET", headers={**place, "X-Access-Token": "x"}, path="a", signature=sign("a", "read")),
                   401, 401, "^access token present in header but does not match$")
        end = int(time.time()) - 1
        self.fails(self.get(path="a", signature=sign("a", "read", end=end), signature_expiration=end), 401, 401, "^signature is already expired$")

    def test_the_sandbox_has_gone(self):
        sandbox = Sandbox(self.server)
        sandbox.end()
        for answer in (sandbox.read("a"), sandbox.write("a", b"1"), sandbox.rpc("Stat", path="/")):
            self.assertEqual((answer.status, answer.json), (502, {"sandboxId": sandbox.id, "message": "The sandbox was not found", "code": 502}))


class Watches(Case):
    def until(self, said, wanted):
        for flags, message in said:
            self.assertEqual(flags, 0, message)
            event = message.get("filesystem", {})
            if (event.get("type"), event.get("name")) == wanted:
                return event
        return self.fail(f"no {wanted}")

    def test_a_stream(self):
        self.sandbox.rpc("MakeDir", path="w")
        raw, said = self.sandbox.watch(path="w", recursive=True, includeEntry=True)
        with raw:
            self.assertEqual(next(said), (0, {"start": {}}))
            self.sandbox.write("w/a.txt", b"1")
            event = self.until(said, ("EVENT_TYPE_CREATE", "a.txt"))
            self.assertEqual((event["entry"]["path"], event["entry"]["type"]), ("/home/user/w/a.txt", "FILE_TYPE_FILE"))
            self.until(said, ("EVENT_TYPE_WRITE", "a.txt"))
            self.sandbox.rpc("MakeDir", path="w/d")
            self.until(said, ("EVENT_TYPE_CREATE", "d"))
            self.sandbox.write("w/d/b", b"1")
            self.until(said, ("EVENT_TYPE_WRITE", "d/b"))
            self.sandbox.run("chmod 600 w/d/b")
            self.until(said, ("EVENT_TYPE_CHMOD", "d/b"))
            self.sandbox.rpc("Move", source="w/d/b", destination="w/c")
            self.until(said, ("EVENT_TYPE_RENAME", "d/b"))
            self.until(said, ("EVENT_TYPE_CREATE", "c"))
            self.sandbox.rpc("Remove", path="w/c")
            self.assertNotIn("entry", self.until(said, ("EVENT_TYPE_REMOVE", "c")))

    def test_streams_that_end(self):
        def ask(headers, **message):
            answer = self.server.request("POST", "/filesystem.Filesystem/WatchDir", envelope(message),
                                         {**self.sandbox.headers, "Content-Type": "application/connect+json", **headers})
            return answer.status, list(messages([answer.body]))
        self.assertEqual(ask({}, path="nope"), (200, [(2, {"error": {
            "code": "not_found", "message": "path nope not found: no such file or directory"}})]))
        status, said = ask({}, path="/etc/passwd")
        self.assertEqual((status, said[0][1]["error"]["code"]), (200, "invalid_argument"))
        status, said = ask({"Connect-Timeout-Ms": "300"}, path="")
        self.assertEqual((said[0], said[-1][0], said[-1][1]["error"]["code"]), ((0, {"start": {}}), 2, "deadline_exceeded"))
        status, said = ask({"Connect-Timeout-Ms": "1500", "Keepalive-Ping-Interval": "1"}, path="")
        self.assertIn((0, {"keepalive": {}}), said)

    def test_the_sandbox_ends(self):
        sandbox = Sandbox(self.server)
        raw, said = sandbox.watch(path="")
        with raw:
            self.assertEqual(next(said), (0, {"start": {}}))
            sandbox.rpc("CreateWatcher", path="")
            self.assertEqual(sandbox.end().status, 204)
            with self.assertRaises((ValueError, ConnectionError)):  # without the last chunk
                list(said)

    def test_a_watcher(self):
        self.sandbox.rpc("MakeDir", path="v")
        w = self.sandbox.rpc("CreateWatcher", path="v").json["watcherId"]
        self.assertTrue(re.fullmatch("w[a-z0-9]+", w), w)
        self.assertEqual(self.sandbox.rpc("GetWatcherEvents", watcherId=w).json, {"events": []})
        self.sandbox.write("v/a", b"1")
        got = []
        web.wait(lambda: got.extend(self.sandbox.rpc("GetWatcherEvents", watcherId=w).json["events"]) or len(got) >= 3)
        self.assertEqual([(e["type"], e["name"]) for e in got],
                         [("EVENT_TYPE_CREATE", "a"), ("EVENT_TYPE_WRITE", "a"), ("EVENT_TYPE_CHMOD", "a")])
        self.assertEqual(self.sandbox.rpc("RemoveWatcher", watcherId=w).json, {})
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            self.fails(self.sandbox.rpc(method, watcherId=w), 404, "not_found", f"^watcher with id {w} not found$")
        self.fails(self.sandbox.rpc("CreateWatcher", path="nope"), 404, "not_found", "^path nope not found")
        self.fails(self.sandbox.rpc("CreateWatcher", path="/etc/passwd"), 400, "invalid_argument", "not a directory")

    def test_too_many_events(self):
        """They are not kept without end, and the client learns that some are lost."""
        self.sandbox.rpc("MakeDir", path="much")
        w = self.sandbox.rpc("CreateWatcher", path="much").json["watcherId"]
        status = 200
        while status == 200:
            self.sandbox.run("cd much; for i in $(seq 5000); do : > $i; done")
            status = self.sandbox.rpc("GetWatcherEvents", watcherId=w).status
        self.assertEqual(status, 500)
        self.sandbox.rpc("RemoveWatcher", watcherId=w)

    def test_too_many_watchers(self):
        sandbox = Sandbox(self.server)
        made = [sandbox.rpc("CreateWatcher", path="") for _ in range(17)]
        self.assertEqual([a.status for a in made].count(200), 16)
        self.fails(made[-1], 429, "resource_exhausted", "remove some")
        sandbox.rpc("RemoveWatcher", watcherId=made[0].json["watcherId"])
        self.assertEqual(sandbox.rpc("CreateWatcher", path="").status, 200)
        sandbox.end()


if __name__ == "__main__":
    harness.main()
