# SPDX-License-Identifier: Apache-2.0
"""`--front librechat`: LibreChat's code API. Programs, and files that stay by their ids."""

import json
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402

IDENTITY = "user"
ANN, BOB, EVE = "the-token-of-ann-0123", "the-token-of-bob-0123", "the-token-of-eve-0123"
TOKENS = f"ann {ANN}\nbob {BOB}\neve {EVE} sessions=1\n"
ID = re.compile(r"[A-Za-z0-9_-]{21}")
NOWHERE = "0" * 21
MIB = 1 << 20


def form(*parts, boundary="b0und"):
    """(body, headers) of a form: parts are (name, file name or None, data)."""
    body = b""
    for name, filename, data in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        if filename is not None:
            head += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        body += head.encode() + b"\r\n\r\n" + data + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


class Client:
    def __init__(self, server, token=None, below=""):
        self.server, self.below = server, below
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method, path, body=None, headers=None):
        return self.server.request(method, self.below + "/v1" + path, body, {**self.headers, **(headers or {})})

    def json(self, method, path, body=None, headers=None, status=200):
        answer = self.ask(method, path, body, headers)
        assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json"), (answer.status, answer.body)
        return answer.json

    def run(self, code, lang="py", status=200, **more):
        return self.json("POST", "/exec", json.dumps({"lang": lang, "code": code, **more}), web.JSON, status)

    def upload(self, *parts, path="/upload", status=200):
        body, headers = form(*parts)
        return self.json("POST", path, body, headers, status)

    def store(self, name, data, *parts):
        """Upload a file, and return a reference to it."""
        said = self.upload(*parts, ("file", name, data))
        return ref({"id": said["files"][0]["fileId"], "name": name, "storage_session_id": said["storage_session_id"]})


def ref(file):
    return {**{key: file[key] for key in ("id", "name", "storage_session_id")}, "kind": "user", "resource_id": "u"}


class Shared(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "librechat", "--front-timeout", "60s")
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()


class Run(Shared):
    def test_the_answer(self):
        said = self.client.run("print('hello')")
        self.assertRegex(said.pop("session_id"), ID)
        self.assertIsInstance(said.pop("wall_time"), int)
        self.assertEqual(said, {"stdout": "hello\n", "stderr": "", "files": [], "code": 0, "signal": None,
                                "message": None, "status": None})

    def test_ways_to_end(self):
        for code, end in (("raise SystemExit(3)", (3, None, "RE", "Execution failed", "")),
                          ("import os; os.kill(os.getpid(), 9)",
                           (None, "SIGKILL", "SG", "Execution failed", "Killed by signal 9\n")),
                          ("x = 'y' * (1 << 40)", (1, None, "RE", "Execution failed", None))):
            said = self.client.run(code)
            self.assertEqual((said["code"], said["signal"], said["status"], said["message"]), end[:4], said)
            if end[4] is not None:
                self.assertEqual(said["stderr"], end[4])

    def test_a_program_that_is_too_slow(self):
        with web.Server("--front", "librechat", "--front-timeout", "1s") as server:
            said = Client(server).run("print('so far', flush=True)\nwhile True: pass")
            self.assertEqual((said["stdout"], said["stderr"].splitlines()[-1]), ("so far\n", "Time limit exceeded"))
            self.assertEqual((said["code"], said["status"], said["message"]), (None, "TO", "Time limit exceeded"))

    def test_languages(self):
        for lang, code in (("py", "print(42)"), ("js", "console.log(42)"), ("bash", "echo $((6 * 7))"), ("PY", "print(42)"),
                           ("node", "console.log(42)"), ("sh", "echo 42"), ("c", '#include <stdio.h>\nint main(){puts("42");}')):
            self.assertEqual(self.client.run(code, lang)["stdout"], "42\n", lang)

    def test_a_program_that_is_not_compiled(self):
        said = self.client.run("int main( {", "c")
        self.assertIn("error", said["stderr"])
        self.assertEqual((said["stdout"], said["code"], said["files"]), ("", 1, []))

    def test_arguments(self):
        self.assertEqual(self.client.run("import sys; print(sys.argv[1:])", args=["a", "b c", ""])["stdout"],
                         "['a', 'b c', '']\n")
        self.assertEqual(self.client.run('echo "$2"', "bash", args=["a", "b c"])["stdout"], "b c\n")

    def test_the_directory(self):
        code = "import os\nprint(os.path.samefile('/mnt/data', '.'), os.listdir('/mnt/data'))"
        self.assertEqual(self.client.run(code)["stdout"], "True ['main.py']\n")

    def test_output_that_is_left_out(self):
        said = self.client.run("print('x' * (20 << 20))")
        self.assertLess(len(said["stdout"]), 11 * MIB)
        self.assertRegex(said["stderr"], r"^\d+ bytes of stdout are left out\n$")

    def test_bad_requests(self):
        good = ref({"id": NOWHERE, "name": "a", "storage_session_id": NOWHERE})
        for body, error in (
                ({"lang": "py"}, "code must be a string"), ({"code": "1"}, "Unsupported language: undefined"),
                ({"lang": "cobol", "code": "1"}, "Unsupported language: cobol"),
                ({"lang": "|", "code": "1"}, "Unsupported language: |"), ({"lang": "", "code": "1"}, "Unsupported language: "),
                ({"lang": "py|js", "code": "1"}, "Unsupported language: py|js"),
                ({"lang": "py", "code": 1}, "code must be a string"),
                ({"lang": "py", "code": "1", "args": "a"}, "args must be an array of strings"),
                ({"lang": "py", "code": "1", "args": [1]}, "args must be an array of strings"),
                ({"lang": "py", "code": "1", "files": {}}, "files must be an array"),
                ({"lang": "py", "code": "1", "files": [1]}, "files[0] must be an object"),
                ({"lang": "py", "code": "1", "files": [{**good, "id": "../x"}]}, "files[0].id is invalid"),
                ({"lang": "py", "code": "1", "files": [good, {**good, "storage_session_id": 1}]},
                 "files[1].storage_session_id is invalid"),
                ({"lang": "py", "code": "1", "files": [{**good, "name": 1}]}, "files[0].name must be a string"),
                ({"lang": "py", "code": "1", "files": [good] * 201}, "files cannot contain more than 200 destinations")):
            self.assertEqual(self.client.json("POST", "/exec", json.dumps(body), web.JSON, 400), {"error": error}, body)
        for body in (b"", b"x", b"[]", b'{"lang": "py", "code": "1"'):
            self.assertTrue(self.client.json("POST", "/exec", body, web.JSON, 400)["error"])

    def test_names_that_files_cannot_have(self):
        file = self.client.store("a.txt", b"1")
        for name in ("", ".", "..", "../a", "/etc/passwd", "a/../b", "a//b", "a/", "a\\b", "a\0b", "x" * 257, "a/" * 10 + "b"):
            said = self.client.run("1", status=400, files=[{**file, "name": name}])
            self.assertIn("files[0].name", said["error"], name)
        self.assertEqual(self.client.run("print(open('b/c/d').read())", files=[{**file, "name": "b/c/d"}])["stdout"], "1\n")


class Outputs(Shared):
    def test_what_a_program_makes(self):
        said = self.client.run("import os\nos.makedirs('d/.cache')\nopen('/mnt/data/a.txt', 'w').write('1')\n"
                               "open('d/b.bin', 'wb').write(bytes(range(256)))\nopen('d/.cache/c', 'w').write('1')\n"
                               "os.symlink('/etc/passwd', 'link.txt'); open('/tmp/t.txt', 'w').write('1')")
        files = sorted(said["files"], key=lambda file: file["name"])
        self.assertEqual([(file["name"], file["storage_session_id"]) for file in files],
                         [("a.txt", said["session_id"]), ("d/b.bin", said["session_id"])])
        self.assertEqual(set(files[0]), {"id", "name", "storage_session_id", "session_id"})
        answer = self.client.ask("GET", f"/download/{said['session_id']}/{files[1]['id']}?kind=user&id=u")
        self.assertEqual((answer.status, answer.body), (200, bytes(range(256))))
        self.assertEqual(answer.headers["Content-Disposition"], "attachment; filename*=UTF-8''d%2Fb.bin")

    def test_inherited_modified_and_removed(self):
        first = self.client.run("for n in 'abcd': open(n + '.txt', 'w').write(n)")
        files = {file["name"]: file for file in first["files"]}
        said = self.client.run("import os\nopen('a.txt', 'a').write('!')\nopen('b.txt', 'w').write('b')\nos.remove('c.txt')",
                               files=[ref(file) for file in files.values()])
        found = {file["name"]: file for file in said["files"]}
        self.assertEqual(set(found), {"a.txt", "b.txt", "d.txt"})
        old = {key: files["a.txt"][key] for key in ("id", "storage_session_id")}
        self.assertEqual((found["a.txt"]["modified_from"], found["a.txt"]["storage_session_id"]), (old, said["session_id"]))
        self.assertNotEqual(found["a.txt"]["id"], old["id"])
        for name in ("b.txt", "d.txt"):  # one was written again, with the same bytes
            self.assertEqual(found[name], {**files[name], "inherited": True})
        again = self.client.run("print(open('a.txt').read())", files=[ref(found["a.txt"]), ref(found["d.txt"])])
        self.assertEqual(again["stdout"], "a!\n")
        before = self.client.run("print(open('a.txt').read())", files=[ref(files["a.txt"])])
        self.assertEqual(before["stdout"], "a\n")

    def test_a_file_that_programs_do_not_change(self):
        file = self.client.store("skill.py", b"x = 1", ("read_only", None, b"true"))
        said = self.client.run("open('skill.py', 'w').write('x = 2')", files=[file])
        self.assertEqual([(f["id"], f["inherited"]) for f in said["files"]], [(file["id"], True)])
        self.assertEqual(self.client.run("import skill; print(skill.x)", files=[file])["stdout"], "1\n")
        about = self.client.json("GET", f"/sessions/{file['storage_session_id']}/objects/{file['id']}")
        self.assertTrue(about["readOnly"])

    def test_a_file_under_another_name(self):
        said = self.client.run("print(open('new/name.txt').read())",
                               files=[{**self.client.store("old.txt", b"data"), "name": "new/name.txt"}])
        self.assertEqual((said["stdout"], said["files"][0]["name"]), ("data\n", "new/name.txt"))

    def test_older_references(self):
        file = self.client.store("a.txt", b"data")
        old = {"id": file["id"], "name": "a.txt", "session_id": file["storage_session_id"]}
        self.assertEqual(self.client.run("print(open('a.txt').read())", files=[old])["stdout"], "data\n")

    def test_more_files_than_are_kept(self):
        said = self.client.run("for n in range(60): open(f'{n}.txt', 'w').write('x')")
        self.assertEqual(len(said["files"]), 50)

    def test_a_file_that_is_too_large(self):
        said = self.client.run("open('big.bin', 'wb').write(b'x' * (17 << 20)); open('a.txt', 'w').write('1')")
        self.assertEqual([file["name"] for file in said["files"]], ["a.txt"])
        self.assertIn("big.bin is not kept", said["stderr"])

    def test_too_large_together(self):
        file = self.client.store("a.bin", b"x" * (16 * MIB))
        said = self.client.run("1", status=413, files=[{**file, "name": f"{n}.bin"} for n in range(5)])
        self.assertEqual(said, {"error": "The files are too large together"})

    def test_a_program_that_was_killed_leaves_no_file(self):
        said = self.client.run("import os\nopen('a.txt', 'w').write('1')\nos.kill(os.getpid(), 9)")
        self.assertEqual((said["files"], said["signal"]), ([], "SIGKILL"))


class Files(Shared):
    def test_upload(self):
        said = self.client.upload(("kind", None, b"user"), ("id", None, b"u"), ("file", "in put é.csv", b"a,b\n"))
        self.assertEqual(set(said), {"message", "storage_session_id", "session_id", "files"})
        self.assertEqual((said["message"], said["storage_session_id"]), ("success", said["session_id"]))
        self.assertRegex(said["storage_session_id"], ID)
        self.assertRegex(said["files"][0]["fileId"], ID)
        self.assertEqual([set(said["files"][0]), said["files"][0]["filename"]], [{"filename", "fileId"}, "in put é.csv"])

    def test_any_bytes(self):
        for data in (b"", b"\0", bytes(range(256)) * 999, b"\r\n--b0un", b"--b0und--", b"\xff\xfe", b"--", b"\r\n" * 5000):
            file = self.client.store("x.bin", data)
            answer = self.client.ask("GET", f"/download/{file['storage_session_id']}/{file['id']}")
            self.assertEqual((answer.status, answer.body), (200, data))

    def test_batch(self):
        said = self.client.upload(("file", "a.txt", b"1"), ("file", "../b.txt", b"2"), ("file", "d/c.txt", b"3"),
                                  path="/upload/batch")
        self.assertEqual((said["message"], said["succeeded"], said["failed"]), ("partial_success", 2, 1))
        self.assertEqual([(f["status"], f["filename"], "fileId" in f) for f in said["files"]],
                         [("success", "a.txt", True), ("error", "../b.txt", False), ("success", "d/c.txt", True)])
        self.assertEqual(len(self.client.json("GET", f"/files/{said['storage_session_id']}")), 2)
        said = self.client.upload(("file", "/b.txt", b"2"), path="/upload/batch", status=400)
        self.assertEqual((said["message"], said["succeeded"], said["failed"]), ("error", 0, 1))

    def test_too_many_at_once(self):
        said = self.client.upload(*[("file", f"{n}.txt", b"x") for n in range(203)], path="/upload/batch")
        self.assertEqual((said["succeeded"], said["filesLimitReached"], said["maxFiles"]), (200, True, 200))

    def test_uploads_that_are_refused(self):
        self.assertTrue(self.client.upload(status=400)["error"])
        self.assertEqual(self.client.upload(("kind", None, b"user"), status=400), {"error": "No files provided"})
        self.assertEqual(self.client.upload(("file", "a", b"x" * (16 * MIB + 1)), status=413),
                         {"error": "File size limit exceeded"})
        self.assertIn("file name", self.client.upload(("file", "../a", b"x"), status=400)["error"])
        body, headers = form(("file", "a.txt", b"x" * 1000))
        for data in (b"", body[:-10], body[:500], b"x" * 99, body[1:].replace(b"\r\n--b0und--", b"")):
            self.assertTrue(self.client.json("POST", "/upload", data, headers, 400)["error"], data)
        for kind in ("multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=b0und",
                     "application/json", "text/plain"):
            answer = self.client.ask("POST", "/upload", body, {"Content-Type": kind})
            self.assertEqual(answer.status, 400, kind)
            self.assertTrue(answer.json["error"])
        answer = self.client.ask("POST", "/upload", body, {**headers, "Origin": f"http://127.0.0.1:{self.server.port}"})
        self.assertIn(answer.status, (400, 403))  # no page has a reason to

    def test_lists(self):
        said = self.client.upload(("file", "a.csv", b"1,2"), ("file", "d/b", b""))
        storage = said["storage_session_id"]
        ids = {file["filename"]: file["fileId"] for file in said["files"]}
        names = {"a.csv": f"{storage}/{ids['a.csv']}.csv", "d/b": f"{storage}/{ids['d/b']}"}

        def ask(detail):
            return self.client.json("GET", f"/files/{storage}?detail={detail}&kind=user&id=u")
        for detail in ("simple", "nonsense", ""):
            self.assertEqual(set(ask(detail)), set(names.values()))
        summary = {row["name"]: row for row in ask("summary")}
        self.assertEqual(set(summary), set(names.values()))
        row = summary[names["a.csv"]]
        self.assertEqual((set(row), row["size"]), ({"name", "size", "lastModified", "etag"}, 3))
        self.assertRegex(row["lastModified"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        full = {row["name"]: row for row in ask("full")}[names["a.csv"]]
        self.assertEqual((full["metadata"]["original-filename"], full["contentType"], full["versionId"]),
                         ("a.csv", "text/csv", None))
        plain = {row["name"]: row for row in ask("normalized")}
        self.assertEqual({key: plain["d/b"][key] for key in ("id", "name", "storage_session_id", "size")},
                         {"id": ids["d/b"], "name": "d/b", "storage_session_id": storage, "size": 0})

    def test_one_object(self):
        file = self.client.store("a b.csv", b"1,2")
        at = f"/sessions/{file['storage_session_id']}/objects/{file['id']}?kind=user&id=u"
        said = self.client.json("GET", at)
        self.assertEqual({key: said[key] for key in ("originalFilename", "size", "contentType", "readOnly")},
                         {"originalFilename": "a b.csv", "size": 3, "contentType": "text/csv", "readOnly": False})
        self.assertEqual(said["name"], f"{file['storage_session_id']}/{file['id']}.csv")

    def test_removal(self):
        file = self.client.store("a.txt", b"1")
        at = f"/files/{file['storage_session_id']}/{file['id']}"
        self.assertEqual(self.client.json("DELETE", at), {"message": "File deleted successfully", "fileId": file["id"],
                                                         "session_id": file["storage_session_id"]})
        gone = {"error": "File not found", "details": "The file may have expired or does not exist"}
        self.assertEqual(self.client.json("DELETE", at, status=404), gone)
        self.assertEqual(self.client.json("GET", at.replace("/files/", "/download/"), status=404), gone)
        self.assertEqual(self.client.json("GET", f"/files/{file['storage_session_id']}"), [])
        self.assertEqual(self.client.run("1", status=403, files=[file]), {"error": "Unauthorized file reference"})

    def test_ids_that_lead_nowhere(self):
        for path in (f"/download/{NOWHERE}/{NOWHERE}", f"/sessions/{NOWHERE}/objects/{NOWHERE}"):
            self.assertEqual(self.client.json("GET", path, status=404)["error"], "File not found")
        self.assertEqual(self.client.json("GET", f"/files/{NOWHERE}", status=403), {"error": "Unauthorized"})
        for path in ("/files/x", "/files/", f"/files/{NOWHERE}x", "/files/..%2f..", f"/download/{NOWHERE}",
                     f"/download/{NOWHERE}/", f"/download/{NOWHERE}/%2e%2e", f"/sessions/{NOWHERE}/objects/",
                     f"/sessions/{NOWHERE}"):
            self.assertEqual(self.client.json("GET", path, status=400), {"error": "Bad request"}, path)
        for path in (f"/files/{NOWHERE}/{NOWHERE}", f"/download/{NOWHERE}/{NOWHERE}/x",
                     f"/sessions/{NOWHERE}/nope/{NOWHERE}", "/nope", "/exec", "/upload", ""):
            self.assertEqual(self.client.json("GET", path, status=404), {"error": "Not Found"}, path)

    def test_many_at_once(self):
        found = []

        def run(n):
            said = self.client.run(f"open('{n}.txt', 'w').write('{n}' * 99)")
            found.append(self.client.ask("GET", f"/download/{said['session_id']}/{said['files'][0]['id']}").body)
        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), [str(n).encode() * 99 for n in range(8)])


class Server(harness.Case):
    def test_where_files_are(self):
        with web.Server("--front", "librechat") as server:
            client = Client(server)
            self.assertEqual(client.run("print(1)")["files"], [])
            self.assertEqual(server.rpc("session.list")["sessions"], [])  # no file, no session
            file = client.store("a.txt", b"1")
            client.store("b.txt", b"1")
            rows = server.rpc("session.list")["sessions"]
            self.assertLessEqual(len(rows), 2)  # the hour may just have ended
            self.assertEqual((rows[-1]["name"], rows[-1]["idle_ms"]),
                             ("librechat-" + file["storage_session_id"][:6], 24 * 3600 * 1000))
            for row in rows:
                server.rpc("session.close", session=row["session"])
            self.assertEqual(client.run("1", status=403, files=[file]), {"error": "Unauthorized file reference"})
            self.assertEqual(client.run("print(open('c.txt').read())", files=[client.store("c.txt", b"2")])["stdout"], "2\n")

    def test_a_restart(self):
        state = harness.make_dir()
        with web.Server("--front", "librechat", "--state", state) as server:
            file = Client(server).store("a.txt", b"data")
        with web.Server("--front", "librechat", "--state", state) as server:
            client = Client(server)
            self.assertEqual(client.ask("GET", f"/download/{file['storage_session_id']}/{file['id']}").body, b"data")
            self.assertEqual(client.run("print(open('a.txt').read())", files=[file])["stdout"], "data\n")

    def test_the_session_that_is_named(self):
        """The header names the session of the program, also if one for files was made."""
        with web.Server("--front", "librechat") as server:
            body = json.dumps({"lang": "py", "code": "open('a.txt', 'w').write('4711')"})
            for _ in range(2):
                named = Client(server).ask("POST", "/exec", body, web.JSON).headers.get_all("X-Retort-Session")
                self.assertEqual(len(named), 1)
                self.assertIn("4711", json.dumps(server.rpc("session.log", session=named[0])))

    def test_the_first_files_at_once(self):
        """Several requests find that there is no session for their files yet."""
        for _ in range(3):
            with web.Server("--front", "librechat") as server:
                body, headers = form(("file", "a.txt", b"1"))
                raws = [server.raw() for _ in range(16)]
                for raw in raws:
                    raw.say(f"POST /v1/upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: {headers['Content-Type']}\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                self.assertEqual([raw.answer().status for raw in raws], [200] * 16)
                for raw in raws:
                    raw.close()

    def test_volumes_in_mnt(self):
        """A volume in /mnt has it for itself: nothing is written into it."""
        for dst in ("/mnt", "/mnt/data", "/mnt/data/x", "/mnt/x"):
            volume = harness.make_dir()
            code = f"import os; print(os.path.islink('/mnt/data'), os.path.ismount({dst!r}), os.listdir({dst!r}))"
            done = harness.retort("run", "-v", f"{volume}:{dst}:rw", "-c", code)
            self.assertEqual((done.stdout, os.listdir(volume)), (b"False True []\n", []), (dst, done))

    def test_changed_files_of_a_program(self):
        """`changed` of program.run: behind those of `collect`, each once, not those in hidden directories."""
        code = "import os\nos.mkdir('.h')\nfor n in ('.h/x', 'a', 'b', 'c', 'in'): open(n, 'w').write(n)\nos.remove('gone')"
        files = [{"path": name, "content": "old"} for name in ("in", "gone", "same")]
        with web.Server() as server:
            def paths(**more):
                said = server.rpc("program.run", language="python", code=code, files=files, **more)
                return [file["path"] for file in said["files"]], [row["path"] for row in said["unread"]]
            self.assertEqual(paths(), ([], []))
            self.assertEqual(paths(collect=["c", "nope"], changed=9), (["c", "a", "b", "in"], ["nope"]))
            self.assertEqual(paths(changed=2), (["a", "b"], []))

    def test_below_the_name(self):
        with web.Server("--front", "sandboxfusion", "--front", "librechat") as server:
            client = Client(server, below="/librechat")
            file = client.store("a.txt", b"1")
            self.assertEqual(client.run("print(open('a.txt').read())", files=[file])["stdout"], "1\n")
            self.assertEqual(client.ask("GET", f"/download/{file['storage_session_id']}/{file['id']}").body, b"1")
            self.assertEqual(client.json("GET", "/health"), {"status": "ok"})

    def test_two_callers(self):
        with web.Server("--front", "librechat", tokens=TOKENS) as server:
            ann, bob = Client(server, ANN), Client(server, BOB)
            self.assertEqual(Client(server).ask("POST", "/exec", "{}", web.JSON).status, 401)
            file = ann.store("a.txt", b"secret")
            mine = bob.store("b.txt", b"2")  # in the same hour, so that there is a session of the same name
            at = f"{file['storage_session_id']}/{file['id']}"
            for path in (f"/download/{at}", f"/sessions/{at.replace('/', '/objects/')}"):
                self.assertEqual(bob.json("GET", path, status=404)["error"], "File not found")
            self.assertEqual(bob.json("GET", f"/files/{file['storage_session_id']}", status=403), {"error": "Unauthorized"})
            self.assertEqual(bob.json("DELETE", f"/files/{at}", status=404)["error"], "File not found")
            self.assertEqual(bob.run("1", status=403, files=[file]), {"error": "Unauthorized file reference"})
            self.assertEqual(ann.run("print(open('a.txt').read())", files=[file])["stdout"], "secret\n")
            self.assertEqual(bob.run("print(open('b.txt').read())", files=[mine])["stdout"], "2\n")

    def test_a_quota(self):
        with web.Server("--front", "librechat", tokens=TOKENS) as server:
            eve = Client(server, EVE)
            held = server.rpc("session.create", {"Authorization": f"Bearer {EVE}"})["session"]
            for said in (eve.run("1", status=429), eve.upload(("file", "a", b"1"), status=429)):
                self.assertEqual((said["error"], said["retry_after_seconds"]), ("rate_limited", 5))
            server.rpc("session.close", {"Authorization": f"Bearer {EVE}"}, session=held)
            self.assertEqual(len(eve.run("open('a.txt', 'w').write('1')")["files"]), 1)
            self.assertEqual(eve.run("print(1)", status=429)["error"], "rate_limited")  # the files have the only one

    def test_a_store_that_is_full(self):
        with web.Server("--front", "librechat", "--front-disk", "4m") as server:
            client = Client(server)
            for _ in range(10):  # what is removed makes room
                file = client.store("a.bin", os.urandom(1500 << 10))
                client.json("DELETE", f"/files/{file['storage_session_id']}/{file['id']}")
            found = []
            while 507 not in found and len(found) < 4:
                body, headers = form(("file", "b.bin", os.urandom(1500 << 10)))
                found.append(client.ask("POST", "/upload", body, headers).status)
            self.assertIn(found, ([200, 507], [200, 200, 507]))
            said = client.run("import os; open('c.bin', 'wb').write(os.urandom(3 << 20)); open('d.txt', 'w').write('1')")
            self.assertEqual([file["name"] for file in said["files"]], ["d.txt"])
            self.assertIn("c.bin is not kept", said["stderr"])

    def test_tools_of_the_client(self):
        with web.Server("--front", "librechat") as server:
            said = Client(server).json("POST", "/exec/programmatic", json.dumps({"code": "1", "tools": []}), web.JSON, 501)
            self.assertEqual(said["error"], "unsupported_capability")


if __name__ == "__main__":
    harness.main()
