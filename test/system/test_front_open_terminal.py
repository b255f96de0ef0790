# SPDX-License-Identifier: Apache-2.0
"""The front "open-terminal": files, commands, terminals and ports, as Open WebUI asks for them."""

import concurrent.futures
import io
import os
import sys
import time
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from terminal_client import User, printed  # noqa: E402

import harness  # noqa: E402

ANN = "ann-" + "a" * 28
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
TOOLS = {"list_files", "read_file", "display_file", "write_file", "replace_file_content", "grep_search", "glob_search",
         "search_files", "match_files", "list_processes", "run_command", "get_process_status", "send_process_input",
         "kill_process", "read_user_terminal", "send_user_terminal_input"}


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "open-terminal")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        super().setUp()
        self.me = User(self.server, "me", "a chat")
        self.me.run("rm -rf /home/user/* /home/user/.[!.]*")

    def refuses(self, status, answer, detail=None):
        self.assertEqual(answer.status, status, answer.body)
        if detail is not None:
            self.assertRegex(answer.json["detail"], detail)


class Server(Case):
    def test_what_it_says_of_itself(self):
        nobody = User(self.server)
        self.assertEqual(nobody.get("/health").json, {"status": "ok"})
        features = nobody.get("/api/config").json["features"]
        self.assertEqual(features, {"terminal": True, "notebooks": False, "system": True})
        self.assertIn("/home/user", nobody.get("/system").json["prompt"])
        for path in ("/nothing", "/notebooks", "/execute/x/nothing", "/open-terminal/nothing"):
            self.assertEqual((nobody.get(path).status, nobody.get(path).json), (404, {"detail": "Not Found"}), path)

    def test_the_tools_of_models(self):
        api = self.me.get("/openapi.json").json
        found = {o["operationId"]: (o, method, path) for path, methods in api["paths"].items()
                 for method, o in methods.items()}
        self.assertEqual(set(found), TOOLS)
        run = found["run_command"][0]
        body = run["requestBody"]["content"]["application/json"]["schema"]
        self.assertEqual((list(body["properties"]), body["required"]), (["command", "cwd", "env"], ["command"]))
        self.assertEqual([p["name"] for p in run["parameters"]], ["wait", "tail"])
        status = {p["name"]: (p["in"], p["required"]) for p in found["get_process_status"][0]["parameters"]}
        self.assertEqual(status, {"process_id": ("path", True), "wait": ("query", False), "tail": ("query", False),
                                  "offset": ("query", False)})
        for operation, method, path in found.values():
            self.assertTrue(operation["description"] and operation["summary"])
            answer = self.me.ask(method.upper(), path.replace("{process_id}", "p-none"), {} if method == "post" else None)
            self.assertNotIn(answer.json.get("detail") if isinstance(answer.json, dict) else "", ("Not Found",), path)

    def test_a_user_has_a_box_and_a_chat_has_a_directory(self):
        other = User(self.server, "me", "another chat")
        self.me.post("/files/mkdir", {"path": "work"})
        self.assertEqual(self.me.post("/files/cwd", {"path": "work"}).json, {"cwd": "/home/user/work"})
        self.me.write("a.txt", "mine")
        self.assertEqual(self.me.get("/files/cwd").json["cwd"], "/home/user/work")
        self.assertEqual(self.me.run("pwd; cat a.txt"), "/home/user/work\nmine")
        self.assertEqual(other.get("/files/cwd").json["cwd"], "/home/user")
        self.assertEqual(other.run("pwd; cat work/a.txt"), "/home/user\nmine")
        self.refuses(404, self.me.post("/files/cwd", {"path": "/nowhere"}), "Directory not found")
        self.me.post("/files/cwd", {"path": "/home/user"})

    def test_asking_for_the_directory_is_use(self):
        """Clients do that with each message of a chat."""
        with web.Server("--front", "open-terminal", "--front-idle", "2s") as server:
            me = User(server, "me", "c")
            me.write("f", "x")
            for _ in range(10):
                self.assertEqual(me.get("/files/cwd").status, 200)
                time.sleep(0.4)
            self.assertEqual(me.get("/files/read", path="f").status, 200)

    def test_boxes_of_a_killed_engine_do_not_count(self):
        state = harness.make_dir()
        with web.Server("--front", "open-terminal", "--state", state, tokens=f"ann {ANN} sessions=2\n") as server:
            own = User(server, "a", token=ANN)
            self.assertEqual([User(server, name, token=ANN).get("/files/list").status for name in ("a", "b", "c")], [200, 200, 429])
            server.rpc("session.close", {"Authorization": f"Bearer {ANN}"}, session=own.get("/files/list").headers["X-Retort-Session"])
            server.rpc("session.create", {"Authorization": f"Bearer {ANN}"}, name="ot-mine")
            server.process.kill()
            server.process.wait()
        with web.Server("--front", "open-terminal", "--state", state, tokens=f"ann {ANN} sessions=2\n") as server:
            self.assertEqual(User(server, "c", token=ANN).get("/files/list").json["entries"], [])
            names = {s["name"] for s in server.rpc("session.list", {"Authorization": f"Bearer {ANN}"})["sessions"]}
            self.assertEqual((len(names), "ot-mine" in names), (2, True))

    def test_a_box_that_has_ended_is_made_anew(self):
        with web.Server("--front", "open-terminal", "--front-idle", "1s") as server:
            me = User(server, "me")
            me.write("a.txt", "1")
            running = me.start("sleep 1000")
            time.sleep(3)  # a program that runs counts as use
            self.assertEqual(me.get(f"/execute/{running['id']}/status").json["status"], "running")
            self.assertEqual(me.get("/files/read", path="a.txt").json["content"], "1")
            me.ask("DELETE", f"/execute/{running['id']}", force=True)
            self.assertTrue(web.wait(lambda: not [s for s in server.rpc("session.list")["sessions"]
                                                  if s["state"] in ("idle", "working")]))
            self.assertEqual(me.get("/files/list").json["entries"], [])

    def test_many_requests_make_one_box(self):
        with web.Server("--front", "open-terminal") as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            users = [User(server, "one") for _ in range(8)]
            self.assertEqual({a.status for a in pool.map(lambda u: u.get("/files/list"), users)}, {200})
            self.assertEqual(len(server.rpc("session.list")["sessions"]), 1)


class Files(Case):
    def test_write_read_list(self):
        wrote = self.me.post("/files/write", {"path": "a/b.txt", "content": "one\ntwo\nthr\u00e9e"}).json
        self.assertEqual(wrote, {"path": "/home/user/a/b.txt", "size": 14})
        read = self.me.get("/files/read", path="a/b.txt").json
        self.assertEqual(read, {"path": "/home/user/a/b.txt", "total_lines": 3, "content": "one\ntwo\nthr\u00e9e"})
        for first, last, content in ((2, 2, "two\n"), (2, None, "two\nthr\u00e9e"), (None, 1, "one\n"), (9, None, ""),
                                     (3, 1, "")):
            query = {k: v for k, v in (("start_line", first), ("end_line", last)) if v}
            self.assertEqual(self.me.get("/files/read", path="a/b.txt", **query).json["content"], content, query)
        listed = self.me.get("/files/list", directory="a").json
        self.assertEqual((listed["dir"], listed["writable"]), ("/home/user/a", True))
        self.assertEqual([(e["name"], e["type"], e["size"]) for e in listed["entries"]], [("b.txt", "file", 14)])
        self.assertGreater(listed["entries"][0]["modified"], 1e9)
        self.assertFalse(self.me.get("/files/list", directory="/usr").json["writable"])
        self.refuses(404, self.me.get("/files/list", directory="nowhere"), "Directory not found")
        self.refuses(404, self.me.get("/files/list", directory="a/b.txt"), "Directory not found")
        self.refuses(404, self.me.get("/files/read", path="nothing"), "File not found")
        self.refuses(404, self.me.get("/files/read", path="a"), "File not found")
        self.refuses(400, self.me.post("/files/write", {"path": "a", "content": ""}))
        self.assertEqual(self.me.get("/files/display", path="a/b.txt").json["exists"], True)
        self.assertEqual(self.me.get("/files/display", path="a").json, {"path": "/home/user/a", "exists": False})

    def test_null_in_a_query_is_nothing(self):
        self.me.write("a.txt", "1\n2\n")
        answer = self.me.get("/files/read", path="a.txt", start_line="null", end_line="null")
        self.assertEqual(answer.json["content"], "1\n2\n")

    def test_bytes(self):
        self.assertEqual(self.me.upload("new/dir", "p.png", PNG).json, {"path": "/home/user/new/dir/p.png", "size": 16})
        for answer in (self.me.get("/files/view", path="new/dir/p.png"), self.me.get("/files/serve/home/user/new/dir/p.png"),
                       self.me.get("/files/read", path="new/dir/p.png")):
            self.assertEqual((answer.status, answer.body, answer.headers["Content-Type"]), (200, PNG, "image/png"))
        self.assertIn("sandbox", self.me.get("/files/view", path="new/dir/p.png").headers["Content-Security-Policy"])
        self.me.upload(".", "x.bin", b"\xff\xfe\x00")
        self.refuses(415, self.me.get("/files/read", path="x.bin"), "Unsupported binary file type")
        big = os.urandom(5 << 20)
        self.assertEqual(self.me.upload(".", "big", big).json["size"], len(big))
        self.assertEqual(self.me.get("/files/view", path="big").body, big)
        self.me.upload(".", "empty", b"")
        self.assertEqual(self.me.get("/files/view", path="empty").body, b"")
        self.refuses(404, self.me.get("/files/view", path="nothing"), "File not found")

    def test_uploads_have_names_without_directories(self):
        for name, path in (("../../x", "/home/user/d/x"), ("/etc/x", "/home/user/d/x"), ("", "/home/user/d/upload")):
            answer = self.me.upload("d", name, b"1")
            self.assertEqual(answer.json.get("path"), path, (name, answer.body))
        for name in ("..", ".", "a" * 255):
            self.assertEqual(self.me.upload("d", name, b"1").status, 422, name)
        self.assertEqual(self.me.upload("d", "x", b"1", field="other").status, 422)

    def test_replace(self):
        self.me.write("a.txt", "x = 1\ny = 1\nz = 1\n")

        def replace(**change):
            return self.me.post("/files/replace", {"path": "a.txt", "replacements": [change]})
        self.refuses(400, replace(target="1", replacement="2"), "Found 3 occurrences")
        self.refuses(400, replace(target="none", replacement="2"), "Target string not found: 'none'")
        self.refuses(400, replace(target="", replacement="2"), "empty")
        self.assertEqual(replace(target="1", replacement="20", start_line=2, end_line=2).json,
                         {"path": "/home/user/a.txt", "size": 19})
        self.assertEqual(replace(target="1", replacement="3", allow_multiple=True).status, 200)
        self.assertEqual(self.me.get("/files/read", path="a.txt").json["content"], "x = 3\ny = 20\nz = 3\n")
        both = [{"target": "x", "replacement": "a"}, {"target": "none", "replacement": ""}]
        self.refuses(400, self.me.post("/files/replace", {"path": "a.txt", "replacements": both}))
        self.assertIn("x = 3", self.me.get("/files/read", path="a.txt").json["content"])
        for wrong in ([{"target": 1, "replacement": ""}], "x", [1], [{"target": "x", "replacement": "", "start_line": 0}]):
            self.assertEqual(self.me.post("/files/replace", {"path": "a.txt", "replacements": wrong}).status, 422, wrong)

    def test_too_much_to_replace(self):
        self.me.run("head -c 300000 /dev/zero | tr '\\0' x > many")
        change = {"target": "x", "replacement": "y", "allow_multiple": True}
        self.refuses(400, self.me.post("/files/replace", {"path": "many", "replacements": [change]}), "over 200000 occurrences")
        change["end_line"] = 1
        self.me.run("printf 'x\\n%.0s' $(seq 100000) > many")
        self.assertEqual(self.me.post("/files/replace", {"path": "many", "replacements": [change]}).status, 200)

    def test_an_answer_that_is_too_long(self):
        self.me.run("head -c 48000000 /dev/zero > zeros")
        answer = self.me.get("/files/read", path="zeros")
        self.assertEqual((answer.status, answer.json["error"]["code"]), (413, "limit"), answer.body[:200])
        self.me.run("rm zeros")

    def test_a_line_with_nul_and_a_file_that_is_too_large(self):
        self.me.run("mkdir odd; printf 'TODO\\0x\\n' > odd/nul; head -c 70000000 /dev/zero > odd/large")
        found = self.me.get("/files/grep", query="TODO", path="odd").json
        self.assertEqual([row["content"] for row in found["matches"]], ["TODO\0x"])
        self.assertTrue(found["truncated"])
        self.assertEqual(self.me.get("/files/matches", query="TODO", path="odd").json["results"][0]["content_matches"][0]["text"], "TODO\0x")

    def test_pages_say_their_encoding(self):
        self.me.write("p.html", "<h1>h\u00e9</h1>")
        self.assertEqual(self.me.get("/files/view", path="p.html").headers["Content-Type"], "text/html; charset=utf-8")

    def test_more_lines_are_found_than_an_answer_has_room_for(self):
        self.me.write("long", ("\u20ac" * 3000 + "\n") * 600)
        found = self.me.get("/files/grep", query="\u20ac", max_results=500).json
        self.assertEqual((found["truncated"], found["matches"][-1]["line"]), (True, len(found["matches"])))
        self.assertGreater(len(found["matches"]), 50)
        for i in range(60):
            self.me.write(f"d/{i:02}", ("\u20ac" * 3000 + "\n") * 3)
        names, offset = [], 0
        while offset is not None:
            found = self.me.get("/files/matches", path="d", query="\u20ac", offset=offset).json
            names += [row["name"] for row in found["results"]]
            offset = found["next_offset"]
        self.assertEqual(names, [f"{i:02}" for i in range(60)])

    def test_move_and_delete(self):
        self.me.write("a.txt", "1")
        self.me.post("/files/mkdir", {"path": "d/e"})
        move = {"source": "a.txt", "destination": "d/b.txt"}
        self.assertEqual(self.me.post("/files/move", move).json,
                         {"source": "/home/user/a.txt", "destination": "/home/user/d/b.txt"})
        self.refuses(404, self.me.post("/files/move", move), "Source path not found")
        self.me.write("a.txt", "2")
        self.refuses(409, self.me.post("/files/move", move), "already exists")
        self.refuses(400, self.me.post("/files/move", {**move, "destination": "no/b"}), "parent directory not found")
        self.assertEqual(self.me.ask("DELETE", "/files/delete", path="a.txt").json,
                         {"path": "/home/user/a.txt", "type": "file"})
        self.assertEqual(self.me.ask("DELETE", "/files/delete", path="d").json["type"], "directory")
        self.refuses(404, self.me.ask("DELETE", "/files/delete", path="d"), "Path not found")
        self.assertEqual(self.me.get("/files/list").json["entries"], [])

    def test_archive(self):
        self.me.write("d/a.txt", "1")
        self.me.write("d/e/b.txt", "2")
        self.me.write("c.txt", "3")
        answer = self.me.post("/files/archive", {"paths": ["d"]})
        self.assertEqual((answer.headers["Content-Type"], answer.headers["Content-Disposition"]),
                         ("application/zip", 'attachment; filename="d.zip"'))
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertEqual({n: z.read(n) for n in z.namelist()}, {"d/a.txt": b"1", "d/e/b.txt": b"2"})
        answer = self.me.post("/files/archive", {"paths": ["d/a.txt", "c.txt"]})
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertEqual(sorted(z.namelist()), ["a.txt", "c.txt"])
        self.assertEqual(self.me.run("ls -A /tmp | grep archive"), "")
        self.refuses(400, self.me.post("/files/archive", {"paths": []}), "No paths")
        self.refuses(404, self.me.post("/files/archive", {"paths": ["nothing"]}), "nothing")
        self.assertEqual(self.me.post("/files/archive", {"paths": 1}).status, 422)

    def test_archive_of_what_cannot_all_be_read(self):
        self.me.write("d/a.txt", "1")
        self.me.write("d/secret", "2")
        self.me.run("chmod 000 d/secret; mkfifo d/fifo; ln -s nowhere d/link; touch \"d/caf$(printf '\\351')\"")
        answer = self.me.post("/files/archive", {"paths": ["d"]})
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertEqual(set(z.namelist()), {"d/a.txt", "d/caf\ufffd", "NOT-IN-THIS-ARCHIVE.txt"})
            self.assertEqual(z.read("NOT-IN-THIS-ARCHIVE.txt").decode(), "/home/user/d/secret: Permission denied\n")

    def test_archives_whose_clients_have_left(self):
        self.me.run("mkdir d; for i in $(seq 40); do head -c 2000000 /dev/urandom > d/$i; done")
        body = b'{"paths": ["d"]}'
        with web.Raw(self.server.port) as raw:
            raw.say(web.head("/files/archive", length=len(body), X_User_Id="me") + body)
            self.assertTrue(web.wait(lambda: "archive" in self.me.run("ls -A /tmp")))
        self.assertTrue(web.wait(lambda: "archive" not in self.me.run("ls -A /tmp; pgrep -fa '^python3 -I'")))

    def test_files_without_an_end(self):
        self.me.start("exec sleep 1000")  # the first part of its address space is empty, and so is a line without an end
        self.me.run("mkdir d; ln -s /proc/$(pgrep -x sleep | head -1)/pagemap d/p; echo needle > d/z")
        for path in ("d", "/"):
            found = self.me.get("/files/grep", query="needle", path=path, include="[pz]").json
            self.assertEqual([m["file"] for m in found["matches"]], ["/home/user/d/z"], path)

    def test_search(self):
        self.me.write("a/one.py", "import os\nprint('Hello')\n")
        self.me.write("a/two.txt", "hello\n")
        self.me.upload("a", "bin", b"hello \xff\xfe")
        found = self.me.get("/files/grep", query="hel+o", path="a").json
        self.assertEqual(found, {"query": "hel+o", "path": "/home/user/a", "truncated": False, "matches": [
            {"file": "/home/user/a/two.txt", "line": 1, "content": "hello"}]})
        found = self.me.get("/files/grep", query="hello", case_insensitive="true", match_per_line="false").json
        self.assertEqual([m["file"][-7:] for m in found["matches"]], ["/one.py", "two.txt"])
        self.assertEqual(self.me.get("/files/grep", query="(", regex="false").json["matches"][0]["line"], 2)
        self.assertEqual(self.me.get("/files/grep", query="o", include=["*.md", "*.py"], max_results=1).json["truncated"], True)
        self.refuses(400, self.me.get("/files/grep", query="("), "Invalid regex")
        self.refuses(404, self.me.get("/files/grep", query="x", path="nowhere"), "Search path not found")
        self.assertEqual(self.me.get("/files/grep", query="x", max_results=501).status, 422)
        self.assertEqual(self.me.get("/files/grep").status, 422)
        found = self.me.get("/files/glob", pattern="*.py").json
        self.assertEqual([(m["path"], m["type"], m["size"]) for m in found["matches"]], [("a/one.py", "file", 25)])
        found = self.me.get("/files/glob", pattern="*", exclude=["*.py", "bin"], type="file").json
        self.assertEqual([m["path"] for m in found["matches"]], ["a/two.txt"])
        self.assertEqual(self.me.get("/files/glob", pattern="*", type="socket").status, 422)
        self.refuses(404, self.me.get("/files/glob", pattern="*", path="a/one.py"), "Search directory not found")
        self.assertEqual([r["name"] for r in self.me.get("/files/search", query="t").json["results"]], ["two.txt"])
        found = self.me.get("/files/matches", query="HELLO").json
        self.assertEqual([(r["name"], r["content_matches"]) for r in found["results"]],
                         [("one.py", [{"line": 2, "column": 8, "text": "print('Hello')"}]),
                          ("two.txt", [{"line": 1, "column": 1, "text": "hello"}])])
        self.assertEqual(self.me.get("/files/matches", query="hello", limit=1).json["next_offset"], 1)
        self.refuses(400, self.me.get("/files/matches", query=" "), "blank")

    def test_what_is_wrong(self):
        for path in ("/files/read", "/files/view", "/files/display"):
            answer = self.me.get(path)
            self.assertEqual((answer.status, answer.json["detail"][0]["loc"], answer.json["detail"][0]["type"]),
                             (422, ["query", "path"], "missing"))
        for body in ({}, {"path": 1, "content": ""}, {"path": "a"}, {"path": "a\0b", "content": ""},
                     {"path": "", "content": ""}, {"path": "a" * 5000, "content": ""}):
            self.assertEqual(self.me.post("/files/write", body).status, 422, body)
        self.assertEqual(self.me.get("/files/read", path="a", start_line=0).status, 422)
        self.assertEqual(self.me.get("/files/read", path="a", start_line="x").status, 422)
        self.assertEqual(self.me.server.request("GET", "/files/read?path=%ff", headers=self.me.headers).status, 400)


class Unread(harness.Case):
    """Clients that ask and do not read. The server would wait for them for an hour."""

    def setUp(self):
        super().setUp()
        self.server = web.Server("--front", "open-terminal", "--idle-timeout", "1h", "--front-idle", "1h")
        self.addCleanup(self.server.stop)
        self.me = User(self.server, "me", "c")

    def ask(self, n, target):
        """Ask for @target n times at once, and read nothing."""
        asked = []
        for _ in range(n):
            raw = web.Raw(self.server.port)
            self.addCleanup(raw.close)
            raw.say(web.head(target, "GET", X_User_Id="me"))
            asked.append(raw)
        return asked

    def test_downloads_do_not_keep_others_from_reading(self):
        self.me.run("head -c 20000000 /dev/zero > large; echo small > small")

        def programs():
            return int(self.me.run("pgrep -c retort-files; true"))
        for _ in range(2):
            self.ask(35, "/files/view?path=large")
            self.assertTrue(web.wait(lambda: programs() >= 24))
            self.assertEqual(self.me.get("/files/read", path="small").json["content"], "small\n")
        self.assertTrue(web.wait(lambda: programs() == 24))  # the others were ended

    def test_answers_have_an_end(self):
        self.me.run("head -c 50000000 /dev/zero | tr '\\0' x > text; (printf '\\211PNG'; cat text) > picture.png; printf '\\377' >> picture.png")
        for name in ("text", "picture.png"):
            asked = self.ask(6, f"/files/read?path={name}")
            statuses = [int(raw.file.readline().split()[1]) for raw in asked]
            self.assertEqual(set(statuses), {200, 429}, statuses)
            for raw in asked:
                raw.close()
            self.assertTrue(web.wait(lambda name=name: self.me.get("/files/read", path=name).status == 200))


class Commands(Case):
    def test_a_command(self):
        answer = self.me.start("echo $A; test -t 0 && pwd; exit 3", wait=30, cwd="/tmp", env={"A": "b c"})
        self.assertEqual((answer["status"], answer["exit_code"], answer["cwd"]), ("done", 3, "/tmp"))
        self.assertEqual(answer["output"], [{"type": "output", "data": "b c\r\n/tmp\r\n"}])
        self.assertEqual((answer["truncated"], answer["next_offset"]), (False, 11))
        self.assertEqual(self.me.start("kill -9 $$", wait=30)["exit_code"], -9)
        for body in ({}, {"command": 1}, {"command": ""}, {"command": "x", "env": {"a": 1}}, {"command": "x", "cwd": 1}):
            self.assertEqual(self.me.post("/execute", body).status, 422, body)
        self.assertEqual(self.me.post("/execute", {"command": "x"}, wait=301).status, 422)
        self.refuses(400, self.me.post("/execute", {"command": "x", "cwd": "/nowhere"}))

    def test_output_by_offset_and_tail(self):
        one = self.me.start("for i in 1 2 3; do echo $i; done; read x; echo got $x")
        at = f"/execute/{one['id']}"
        self.assertEqual(one["status"], "running")
        self.assertTrue(web.wait(lambda: "3" in printed(self.me.get(f"{at}/status").json)))
        said = self.me.get(f"{at}/status").json
        self.assertEqual((said["status"], said["exit_code"], printed(said)), ("running", None, "1\n2\n3\n"))
        self.assertEqual(self.me.get(f"{at}/status", tail=2).json["output"],
                         [{"type": "output", "data": "2\r\n"}, {"type": "output", "data": "3\r\n"}])
        self.assertTrue(self.me.get(f"{at}/status", tail=2).json["truncated"])
        self.assertEqual(self.me.get(f"{at}/status", offset=said["next_offset"]).json["output"], [])
        self.assertEqual(self.me.post(f"{at}/input", {"input": "a\\x41\\n"}).json, {"status": "ok"})
        said = self.me.get(f"{at}/status", offset=said["next_offset"], wait=30).json
        self.assertEqual((said["status"], said["exit_code"]), ("done", 0))
        self.assertTrue(printed(said).endswith("got aA\n"))
        self.refuses(400, self.me.post(f"{at}/input", {"input": "x"}), "already exited")

    def test_much_output_comes_in_parts(self):
        one = self.me.start("seq 1 60000", wait=60)
        text, offset, parts = printed(one), one["next_offset"], 1
        while offset < 408894 and parts < 9:
            more = self.me.get(f"/execute/{one['id']}/status", offset=offset).json
            text, offset, parts = text + printed(more), more["next_offset"], parts + 1
        self.assertEqual(text, "".join(f"{i}\n" for i in range(1, 60001)))
        self.assertEqual(len(self.me.get(f"/execute/{one['id']}/status", tail=10).json["output"]), 10)

    def test_keys_and_the_end(self):
        one = self.me.start("trap 'echo int; exit 5' INT; echo on; while :; do sleep 0.1; done")
        at = f"/execute/{one['id']}"
        self.assertTrue(web.wait(lambda: "on" in printed(self.me.get(f"{at}/status").json)))
        self.me.post(f"{at}/input", {"input": "\\x03"})
        said = self.me.get(f"{at}/status", wait=30).json
        self.assertEqual((said["exit_code"], "int" in printed(said)), (5, True))
        two = self.me.start("sleep 1000")
        self.assertEqual(self.me.ask("DELETE", f"/execute/{two['id']}").json, {"status": "killed"})
        self.assertEqual(self.me.get(f"/execute/{two['id']}/status").json["status"], "killed")
        deaf = self.me.start("trap '' TERM; echo on; while :; do sleep 0.1; done")
        self.assertTrue(web.wait(lambda: printed(self.me.get(f"/execute/{deaf['id']}/status").json)))
        self.assertEqual(self.me.ask("DELETE", f"/execute/{deaf['id']}", force="true").json, {"status": "killed"})
        listed = {p["id"]: p["status"] for p in self.me.get("/execute").json}
        self.assertEqual([listed.get(p["id"]) for p in (one, two, deaf)], ["done", "killed", "killed"])

    def test_commands_are_of_a_chat(self):
        mine = self.me.start("sleep 1000")
        for other in (User(self.server, "me", "another chat"), User(self.server, "me")):
            self.assertNotIn(mine["id"], [p["id"] for p in other.get("/execute").json])
            for method, path, body in (("GET", "status", None), ("POST", "input", {"input": "x"})):
                self.refuses(404, other.ask(method, f"/execute/{mine['id']}/{path}", body), "Process not found")
            self.refuses(404, other.ask("DELETE", f"/execute/{mine['id']}"), "Process not found")
        self.refuses(404, self.me.get("/execute/p-none/status"), "Process not found")
        self.me.ask("DELETE", f"/execute/{mine['id']}", force=True)


class Terminals(Case):
    def test_a_terminal(self):
        self.me.post("/files/mkdir", {"path": "work"})
        self.me.post("/files/cwd", {"path": "work"})
        self.addCleanup(self.me.post, "/files/cwd", {"path": "/home/user"})
        number = self.me.terminal()
        self.assertEqual([t["id"] for t in self.me.get("/api/terminals").json], [number])
        self.assertEqual(set(self.me.get(f"/api/terminals/{number}").json), {"id", "created_at", "pid"})
        self.refuses(404, self.me.get("/api/terminals/user/output"), "No connected user shell")
        with self.me.socket(number) as socket:
            self.assertEqual(socket.status, 101)
            socket.type("pwd; stty size\n")
            self.assertIn("/home/user/work", socket.until_text("24 80"))
            socket.say(type="resize", cols=111, rows=33)
            socket.type("stty size\n")
            socket.until_text("33 111")
            self.assertIn("33 111", self.me.get("/api/terminals/user/output").json["output"])
            self.assertEqual(self.me.post("/api/terminals/user/input", {"input": "echo $((6*7))x\n"}).status, 200)
            socket.until_text("42x")
            with self.me.socket(number) as second:
                self.assertEqual(second.code(), 4009)
        # the terminal ends with its client
        self.assertTrue(web.wait(lambda: not self.me.get("/api/terminals").json))
        self.assertEqual(self.me.get(f"/api/terminals/{number}").json, {"error": "Session not found"})

    def test_the_end_of_the_shell(self):
        number = self.me.terminal()
        with self.me.socket(number) as socket:
            socket.type("exit\n")
            self.assertEqual(socket.code(), 1000)
        number = self.me.terminal()
        self.assertEqual(self.me.ask("DELETE", f"/api/terminals/{number}").json, {"status": "deleted"})
        self.assertEqual(self.me.ask("DELETE", f"/api/terminals/{number}").status, 404)

    def test_older_clients_name_the_user_in_the_query(self):
        number = self.me.terminal()
        nobody = User(self.server)
        with nobody.socket(number, query="?user_id=me") as socket:
            socket.type("echo $((6*7))x\n")
            socket.until_text("42x")

    def test_at_most_16(self):
        numbers = [self.me.terminal() for _ in range(16)]
        answer = self.me.post("/api/terminals", {})
        self.assertEqual(answer.status, 429)
        self.assertIn("16", answer.json["error"])
        for number in numbers:
            self.me.ask("DELETE", f"/api/terminals/{number}")
        self.assertTrue(web.wait(lambda: self.me.post("/api/terminals", {}).status == 200))


class Ports(Case):
    def test_a_server_of_the_box(self):
        self.me.write("index.html", "<p>mine</p>")
        server = self.me.start("exec python3 -m http.server 8123")
        self.assertTrue(web.wait(lambda: self.me.get("/ports").json["ports"]))
        self.assertEqual([p["port"] for p in self.me.get("/ports").json["ports"]], [8123])
        self.assertEqual(self.me.get("/proxy/8123/").body, b"<p>mine</p>")
        self.assertEqual(self.me.get("/proxy/8123/nothing").status, 404)
        self.assertEqual(self.me.get("/proxy/8123").headers["Location"], "/proxy/8123/")
        self.assertIn("sandbox", self.me.get("/proxy/8123/").headers["Content-Security-Policy"])
        self.assertEqual(self.me.ask("POST", "/proxy/8123/", {"a": 1}).status, 501)
        self.me.ask("DELETE", f"/execute/{server['id']}", force=True)
        self.assertTrue(web.wait(lambda: not self.me.get("/ports").json["ports"]))

    def test_bodies_and_headers_pass(self):
        self.me.write("s.py", "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_PUT(s):\n"
                      "  b = s.rfile.read(int(s.headers['Content-Length']))\n  s.send_response(201)\n"
                      "  s.send_header('X-Path', s.path)\n  s.end_headers()\n"
                      "  s.wfile.write(str(len(b)).encode() + str(s.headers).encode())\n"
                      "h.HTTPServer(('127.0.0.1', 8124), H).serve_forever()\n")
        self.me.start("exec python3 s.py")
        self.assertTrue(web.wait(lambda: self.me.get("/ports").json["ports"]))
        data = os.urandom(3 << 20)
        answer = self.server.request("PUT", "/open-terminal/proxy/8124/a/b?c=%20d", data, {**self.me.headers, "X-Mine": "yes"})
        self.assertEqual((answer.status, answer.headers["X-Path"]), (201, "/a/b?c=%20d"))
        self.assertTrue(answer.body.startswith(str(len(data)).encode()))
        self.assertIn(b"X-Mine: yes", answer.body)

    def test_where_nothing_listens(self):
        for port in (1, 9, 65535):
            self.refuses(404, self.me.get(f"/proxy/{port}/"), "Port not found")
        for port in ("0", "65536", "x", "-1", "8123.0", ""):
            self.refuses(422, self.me.get(f"/proxy/{port}/"), "Port must be")


if __name__ == "__main__":
    harness.main()
