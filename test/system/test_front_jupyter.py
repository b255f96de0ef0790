# SPDX-License-Identifier: Apache-2.0
"""The front "jupyter": Jupyter Server's REST API, and the WebSockets of its kernels."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import notebook_client as client  # noqa: E402
import web  # noqa: E402
from notebook_client import Channel, ask, make, of_type, texts, value  # noqa: E402

import harness  # noqa: E402

ID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


# a cell that goes on when nobody is connected any more: release()
HOLD = "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\nos.remove('go')\n"


def is_open(server, kernel):
    """Whether the kernel's session is there."""
    return any(s.get("name") == f"jupyter-{kernel}" and s["state"] != "closed"
               for s in server.rpc("session.list")["sessions"])


class Jupyter(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "jupyter")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        super().setUp()
        self.kernels = []

    def tearDown(self):
        for kernel in self.kernels:
            ask(self.server, "DELETE", f"/api/kernels/{kernel}")
        super().tearDown()

    def make(self, **options):
        self.kernels.append(make(self.server, **options))
        return self.kernels[-1]

    def ask(self, method, path, body=None, **options):
        return ask(self.server, method, path, body, **options)

    def state(self, kernel, name):
        return self.ask("GET", f"/api/kernels/{kernel}").json[name]

    def wait(self, is_so):
        self.assertTrue(web.wait(is_so))

    def release(self, kernel):
        self.wait(lambda: self.state(kernel, "connections") == 0)
        self.server.rpc("process.start", session=f"jupyter-{kernel}", argv=["touch", "go"])
        self.wait(lambda: self.state(kernel, "execution_state") == "idle")


class Rest(Jupyter):
    def test_what_it_says_of_itself(self):
        for at in ("", "/jupyter"):
            self.assertEqual(sorted(self.ask("GET", f"{at}/api").json), ["version"])
            self.assertEqual(sorted(self.ask("GET", f"{at}/api/status").json),
                             ["connections", "kernels", "last_activity", "started"])
            self.assertEqual(self.ask("GET", f"{at}/api/me").json["identity"]["username"], "anyone")

    def test_unknown_paths_have_the_error_of_jupyter(self):
        for method, path in (("GET", "/api/nothing"), ("GET", "/jupyter/lab"), ("POST", "/api/kernels/x/interrupt"),
                             ("GET", "/api/kernelspecs/cobol"), ("DELETE", "/api/sessions/x"), ("GET", "/api/kernels/"),
                             ("GET", "/api/contents/nowhere/a"), ("GET", "/api/kernels/%00")):
            answer = self.ask(method, path)
            self.assertEqual((answer.status, sorted(answer.json)), (404, ["message", "reason"]), path)

    def test_kernelspecs(self):
        specs = self.ask("GET", "/api/kernelspecs").json
        self.assertEqual((specs["default"], list(specs["kernelspecs"])),
                         ("python3", ["python3", "javascript", "sql", "bash"]))
        one = self.ask("GET", "/api/kernelspecs/bash").json
        self.assertEqual((one["name"], one["spec"]["language"]), ("bash", "bash"))

    def test_the_life_of_a_kernel(self):
        answer = self.ask("POST", "/jupyter/api/kernels", {"name": "python3"})
        kernel = answer.json["id"]
        self.assertEqual(answer.status, 201)
        self.assertRegex(kernel, f"^{ID}$")
        self.assertEqual(answer.headers["Location"], f"/jupyter/api/kernels/{kernel}")
        self.assertEqual(self.state(kernel, "execution_state"), "idle")
        self.assertIn(kernel, [k["id"] for k in self.ask("GET", "/api/kernels").json])
        self.assertTrue(is_open(self.server, kernel))
        self.assertEqual(self.ask("POST", f"/api/kernels/{kernel}/interrupt").status, 204)
        self.assertEqual(self.ask("POST", f"/api/kernels/{kernel}/dance").status, 404)
        self.assertEqual(self.ask("DELETE", f"/api/kernels/{kernel}").status, 204)
        self.assertFalse(is_open(self.server, kernel))
        self.assertEqual(self.ask("DELETE", f"/api/kernels/{kernel}").status, 404)

    def test_a_request_without_a_body_makes_a_python_kernel(self):
        answer = self.server.request("POST", "/api/kernels")
        self.kernels.append(answer.json["id"])
        self.assertEqual((answer.status, answer.json["name"]), (201, "python3"))
        self.assertEqual(self.ask("POST", "/api/kernels", {"name": "cobol"}).status, 404)
        self.assertEqual(self.ask("POST", "/api/kernels", {"name": 7}).status, 400)

    def test_other_languages(self):
        for name, code, shown in (("javascript", "[1,2].length", "2"), ("bash", "echo $((6*7))", "42")):
            with self.subTest(name), Channel(self.server, self.make(name=name)) as channel:
                said = channel.run(code)
                self.assertIn(shown, texts(said) + "".join(value(said)))

    def test_sessions(self):
        body = {"path": "a.ipynb", "type": "notebook", "name": "a", "kernel": {"name": "python3"}}
        answer = self.ask("POST", "/api/sessions", body)
        session, kernel = answer.json["id"], answer.json["kernel"]["id"]
        self.kernels.append(kernel)
        self.assertEqual((answer.status, answer.headers["Location"]), (201, f"/api/sessions/{session}"))
        self.assertEqual(self.ask("POST", "/api/sessions", body).json["id"], session)
        self.assertEqual(self.ask("GET", "/api/sessions").json, [self.ask("GET", f"/api/sessions/{session}").json])
        changed = self.ask("PATCH", f"/api/sessions/{session}", {"path": "b.ipynb"}).json
        self.assertEqual((changed["path"], changed["kernel"]["id"]), ("b.ipynb", kernel))
        other = self.ask("PATCH", f"/api/sessions/{session}", {"kernel": {"name": "bash"}}).json["kernel"]
        self.kernels.append(other["id"])
        self.assertEqual(other["name"], "bash")
        self.assertEqual(self.ask("GET", f"/api/kernels/{kernel}").status, 404)
        self.assertEqual(self.ask("DELETE", f"/api/sessions/{session}").status, 204)
        self.assertEqual(self.ask("GET", f"/api/kernels/{other['id']}").status, 404)
        self.assertEqual(self.ask("GET", "/api/sessions").json, [])

    def test_sessions_that_are_refused(self):
        for body, status in (({"type": "notebook"}, 400), ({"path": "a"}, 400), ({"path": 1, "type": "x"}, 400),
                             ({"path": "a", "type": "x", "kernel": {"name": "cobol"}}, 501),
                             ({"path": "a", "type": "x", "kernel": {"id": "none"}}, 404)):
            self.assertEqual(self.ask("POST", "/api/sessions", body).status, status, body)

    def test_a_session_ends_with_its_kernel(self):
        kernel = self.make()
        self.ask("POST", "/api/sessions", {"path": "x", "type": "console", "kernel": {"id": kernel}})
        self.assertEqual(len(self.ask("GET", "/api/sessions").json), 1)
        self.ask("DELETE", f"/api/kernels/{kernel}")
        self.assertEqual(self.ask("GET", "/api/sessions").json, [])

    def test_contents_are_the_workspaces_of_kernels(self):
        kernel = self.make()
        at = f"/api/contents/{kernel}"
        self.assertEqual([m["path"] for m in self.ask("GET", "/api/contents").json["content"]], [kernel])
        put = self.ask("PUT", f"{at}/d/a%20b.txt", {"type": "file", "format": "text", "content": "hello"})
        self.assertEqual((put.status, put.json["path"]), (201, f"{kernel}/d/a b.txt"))
        self.ask("PUT", f"{at}/x.bin", {"type": "file", "format": "base64", "content": "AAH/"})
        self.ask("PUT", f"{at}/n.ipynb", {"type": "notebook", "format": "json", "content": {"cells": []}})
        with Channel(self.server, kernel) as channel:
            self.assertEqual(value(channel.run("open('d/a b.txt').read(), open('x.bin','rb').read()")),
                             [r"('hello', b'\x00\x01\xff')"])
        names = {m["name"]: m["type"] for m in self.ask("GET", at).json["content"]}
        self.assertEqual(names, {"d": "directory", "x.bin": "file", "n.ipynb": "notebook"})
        self.assertEqual([m["name"] for m in self.ask("GET", f"{at}/d").json["content"]], ["a b.txt"])
        self.assertEqual(self.ask("GET", f"{at}/d/a%20b.txt").json["content"], "hello")
        self.assertIsNone(self.ask("GET", f"{at}/d/a%20b.txt?content=0").json["content"])
        self.assertEqual(self.ask("GET", f"{at}/x.bin").json["format"], "base64")
        self.assertEqual(self.ask("GET", f"{at}/n.ipynb").json["content"], {"cells": []})
        self.assertEqual(self.ask("DELETE", f"{at}/d/a%20b.txt").status, 204)
        self.assertEqual(self.ask("GET", f"{at}/d/a%20b.txt").status, 404)
        self.assertEqual(self.ask("PUT", "/api/contents/a.txt", {"type": "file", "content": ""}).status, 404)


class Cells(Jupyter):
    def test_the_messages_of_a_cell(self):
        with Channel(self.server, self.make()) as channel:
            said = channel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
        self.assertEqual([(m["channel"], m["msg_type"]) for m in said if m["msg_type"] != "stream"], [
            ("iopub", "status"), ("iopub", "execute_input"), ("iopub", "execute_result"), ("shell", "execute_reply"),
            ("iopub", "status")])
        self.assertEqual((texts(said), texts(said, "stderr"), value(said)), ("out\n", "err\n", ["42"]))
        self.assertEqual(sorted(said[0]), ["buffers", "channel", "content", "header", "metadata", "msg_id", "msg_type",
                                           "parent_header"])

    def test_the_same_with_the_binary_subprotocol(self):
        with Channel(self.server, self.make(), v1=True) as channel:
            self.assertEqual(channel.answer.headers["Sec-WebSocket-Protocol"], client.V1)
            said = channel.run("print('out')\n'é' * 3")
        self.assertEqual((texts(said), value(said)), ("out\n", ["'ééé'"]))

    def test_an_error_and_a_picture(self):
        with Channel(self.server, self.make(), at="/jupyter") as channel:
            error = of_type(channel.run("1/0"), "error")[0]
            self.assertEqual((error["ename"], error["evalue"]), ("ZeroDivisionError", "division by zero"))
            picture = channel.run("import base64\nfrom IPython.display import Image, display\n"
                                  f"display(Image(data=base64.b64decode('{PNG}')))")
            self.assertEqual(of_type(picture, "display_data")[0]["data"]["image/png"].strip(), PNG)

    def test_a_message_without_a_channel_is_for_shell(self):
        with Channel(self.server, self.make()) as channel:
            said = client.execute("1 + 1")
            del said["channel"]
            channel.send(said)
            self.assertEqual(value(channel.until_idle(said["header"]["msg_id"])), ["2"])

    def test_a_message_with_buffers(self):
        with Channel(self.server, self.make()) as channel:
            said = client.execute("1 + 2")
            text = json.dumps(said).encode()
            head = b"".join(n.to_bytes(4, "big") for n in (2, 12, 12 + len(text)))
            channel.frame(client.BINARY, head + text + b"buffer")
            self.assertEqual(value(channel.until_idle(said["header"]["msg_id"])), ["3"])

    def test_input(self):
        with Channel(self.server, self.make()) as channel:
            number = channel.send(client.execute("n = input('name? ')\nn.upper()", allow_stdin=True))
            asked = channel.until(lambda m: m["msg_type"] == "input_request")[-1]
            self.assertEqual((asked["channel"], asked["content"]["prompt"]), ("stdin", "name? "))
            channel.send(client.message("input_reply", {"value": "bob"}, "stdin"))
            self.assertEqual(value(channel.until_idle(number)), ["'BOB'"])

    def test_interrupt(self):
        kernel = self.make()
        with Channel(self.server, kernel) as channel:
            channel.run("x = 5")
            number = channel.send(client.execute("print('on', flush=True)\nimport time\ntime.sleep(1000)"))
            channel.until(lambda m: m["msg_type"] == "stream")
            self.assertEqual(self.state(kernel, "execution_state"), "busy")
            self.assertEqual(self.ask("POST", f"/api/kernels/{kernel}/interrupt").status, 204)
            self.assertEqual(of_type(channel.until_idle(number), "error")[0]["ename"], "KeyboardInterrupt")
            self.assertEqual(value(channel.run("x")), ["5"])

    def test_restart(self):
        kernel = self.make()
        with Channel(self.server, kernel) as channel:
            channel.run("x = 5")
            channel.send(client.execute("import time\ntime.sleep(1000)"))
            answer = self.ask("POST", f"/api/kernels/{kernel}/restart")
            self.assertEqual((answer.status, answer.json["id"]), (200, kernel))
            self.assertEqual(of_type(channel.run("x"), "error")[0]["ename"], "NameError")

    def test_delete_ends_a_cell_and_the_sockets(self):
        kernel = self.make()
        with Channel(self.server, kernel) as channel:
            channel.send(client.execute("while True: pass"))
            channel.until(lambda m: m["msg_type"] == "execute_input")
            self.assertEqual(self.ask("DELETE", f"/api/kernels/{kernel}").status, 204)
            with self.assertRaises(client.Closed) as caught:
                channel.until(lambda m: False)
            self.assertEqual((caught.exception.code, str(caught.exception)), (1000, "the kernel has ended"))
        self.assertFalse(is_open(self.server, kernel))

    def test_shutdown_by_a_message(self):
        kernel = self.make()
        with Channel(self.server, kernel) as channel:
            channel.send(client.message("shutdown_request", {"restart": False}, "control"))
            self.assertIn("shutdown_reply", [m["msg_type"] for m in channel.until(lambda m: m["channel"] == "control")])
        self.wait(lambda: self.ask("GET", f"/api/kernels/{kernel}").status == 404)
        self.wait(lambda: not is_open(self.server, kernel))


class Sockets(Jupyter):
    def test_two_clients(self):
        """What the kernel publishes goes to both, the reply to the one that has asked."""
        kernel = self.make()
        with Channel(self.server, kernel, "a") as a, Channel(self.server, kernel, "b", v1=True) as b:
            self.assertEqual(self.state(kernel, "connections"), 2)
            number = a.send(client.execute("print('both')"))
            said = {name: channel.until_idle(number) for name, channel in (("a", a), ("b", b))}
            for name, all_of_it in said.items():
                self.assertEqual(texts(all_of_it), "both\n", name)
            self.assertEqual([len(of_type(said[name], "execute_reply")) for name in "ab"], [1, 0])

    def test_messages_are_kept_for_who_comes_again(self):
        kernel = self.make()
        with Channel(self.server, kernel, "me") as channel:
            number = channel.send(client.execute("print('on', flush=True)\ninput()\nprint('later')\n6 * 7",
                                                 allow_stdin=True))
            channel.until(lambda m: m["msg_type"] == "input_request")
        self.wait(lambda: self.state(kernel, "connections") == 0)
        with Channel(self.server, kernel, "other") as other:
            other.send(client.message("input_reply", {"value": ""}, "stdin"))
            self.assertEqual(texts(other.until_idle(number)), "later\n")
        # and when nobody is there
        with Channel(self.server, kernel, "me") as channel:
            number = channel.send(client.execute(HOLD + "print('later')\n6 * 7"))
            channel.until(lambda m: m["msg_type"] == "stream")
        self.release(kernel)
        with Channel(self.server, kernel, "me") as channel:
            said = channel.until_idle(number)
            self.assertEqual((texts(said), value(said), len(of_type(said, "execute_reply"))), ("later\n", ["42"], 1))

    def test_messages_are_kept_for_nobody_else(self):
        """Nor for the client itself, when another one has come in between."""
        for between in (None, "other"):
            kernel = self.make()
            with Channel(self.server, kernel, "me") as channel:
                channel.send(client.execute(HOLD + "print('later')"))
                channel.until(lambda m: m["msg_type"] == "stream")
            self.release(kernel)
            for session in (between, "me"):
                with Channel(self.server, kernel, session) as channel:
                    number = channel.send(client.message("kernel_info_request", {}))
                    self.assertEqual(texts(channel.until_idle(number)), "", (between, session))
                self.wait(lambda k=kernel: self.state(k, "connections") == 0)

    def test_what_is_kept_has_a_limit(self):
        kernel = self.make()
        with Channel(self.server, kernel, "me") as channel:
            number = channel.send(client.execute(
                HOLD + "from IPython.display import display\n"
                "for i in range(40): display({'text/plain': str(i) * 100000}, raw=True)"))
            channel.until(lambda m: m["msg_type"] == "stream")
        self.release(kernel)
        with Channel(self.server, kernel, "me") as channel:
            said = channel.until_idle(number)
        self.assertRegex(texts(said, "stderr"), r"^retort: \d+ messages were left out while you were not connected\n$")
        self.assertLess(len(of_type(said, "display_data")), 40)

    def test_the_same_client_again_takes_the_place_of_the_first(self):
        kernel = self.make()
        with Channel(self.server, kernel, "me") as first, Channel(self.server, kernel, "me") as second:
            with self.assertRaises(client.Closed):
                first.until(lambda m: False)
            self.assertEqual(value(second.run("1")), ["1"])

    def test_what_is_no_message_closes_the_socket(self):
        kernel = self.make()
        for kind, payload in ((client.TEXT, b"{"), (client.TEXT, b"[]"), (client.TEXT, b'{"header": []}'),
                              (client.TEXT, b'{"header": {"msg_id": 1}}'), (client.BINARY, b"\0\0\0\1"),
                              (client.BINARY, b"\xff" * 40)):
            with self.subTest(payload), Channel(self.server, kernel) as channel:
                channel.frame(kind, payload)
                with self.assertRaises(client.Closed) as caught:
                    channel.next()
                self.assertEqual(caught.exception.code, 1008)
        for payload in (b"", b"\1" * 8, (7).to_bytes(8, "little"), b"\6" + bytes(7) + b"\xff" * 48,
                        client.to_v1(client.execute("1"))[:-200]):
            with self.subTest(payload), Channel(self.server, kernel, v1=True) as channel:
                channel.frame(client.BINARY, payload)
                with self.assertRaises(client.Closed) as caught:
                    channel.next()
                self.assertEqual(caught.exception.code, 1008)
        with Channel(self.server, kernel) as channel:  # other channels take nothing
            channel.send(client.message("x", {}, "iopub"))
            self.assertEqual(value(channel.run("1")), ["1"])

    def test_a_socket_needs_a_kernel_and_the_headers(self):
        kernel = self.make()
        self.assertEqual(self.ask("GET", f"/api/kernels/{kernel}/channels").status, 426)
        with Channel(self.server, "none") as channel:
            self.assertEqual(channel.status, 404)
        with Channel(self.server, kernel, "x" * 129) as channel:
            self.assertEqual(channel.status, 400)


class Life(harness.Case):
    def wait(self, is_so):
        self.assertTrue(web.wait(is_so))

    def test_a_kernel_that_nobody_uses_ends(self):
        with web.Server("--front", "jupyter", "--front-idle", "2s") as server:
            kernel, used = make(server), make(server)
            with Channel(server, used) as channel:
                self.wait(lambda: ask(server, "GET", f"/api/kernels/{kernel}").status == 404)
                self.wait(lambda: not is_open(server, kernel))
                self.assertEqual(value(channel.run("1")), ["1"])

    def test_kernels_end_with_the_engine(self):
        server = web.Server("--front", "jupyter", "--grace", "1s")
        try:
            kernel = make(server)
            channel = Channel(server, kernel)
            channel.send(client.execute("while True: pass"))
            channel.until(lambda m: m["msg_type"] == "execute_input")
        finally:
            server.stop()
        with self.assertRaises(client.Closed):
            channel.until(lambda m: False)
        channel.raw.close()

    def test_a_quota_is_told(self):
        with web.Server("--front", "jupyter", tokens=f"ann {web.TOKEN} sessions=1\n") as server:
            kernel = make(server, web.TOKEN)
            answer = ask(server, "POST", "/api/kernels", {}, web.TOKEN)
            self.assertEqual((answer.status, answer.json["reason"]), (429, "quota"))
            ask(server, "DELETE", f"/api/kernels/{kernel}", token=web.TOKEN)
            make(server, web.TOKEN)

    def test_passwords(self):
        with web.Server("--front", "jupyter", tokens=f"ann {web.TOKEN}\n") as server:
            page = ask(server, "GET", "/login")
            xsrf = re.match("_xsrf=([^;]+);", page.headers["Set-Cookie"])[1]
            form = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"_xsrf={xsrf}"}
            for body, status in ((f"password={web.TOKEN}", 403), (f"_xsrf={xsrf}&password=wrong", 401),
                                 (f"_xsrf={xsrf}", 401), ("", 403)):
                self.assertEqual(server.request("POST", "/login", body, form).status, status, body)
            done = server.request("POST", "/login", f"_xsrf={xsrf}&password={web.TOKEN}", form)
            self.assertEqual(done.status, 204)
            self.assertRegex(done.headers["Set-Cookie"], "; HttpOnly; Path=/; SameSite=Strict$")
            cookie = f"_xsrf={xsrf}; {done.headers['Set-Cookie'].split(';')[0]}"
            for headers, status in (({"Cookie": cookie}, 401), ({"Cookie": cookie, "X-XSRFToken": "x"}, 401),
                                    ({"Cookie": cookie, "X-XSRFToken": xsrf}, 200)):
                self.assertEqual(ask(server, "GET", "/api/kernels", **headers).status, status)


if __name__ == "__main__":
    harness.main()
