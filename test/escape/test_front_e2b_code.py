# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the code interpreter of the front "e2b", or whose cell runs behind it."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402
from e2b_client import CODE, Sandbox  # noqa: E402

IDENTITY = "user"
MEMORY_BYTES = 400 << 20


class Attack(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b")
        cls.box, cls.other = Sandbox(cls.server), Sandbox(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, box, method, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        return box.ask(method, path, data, CODE, **{**web.JSON, **headers})

    def test_T_E2B_CODE_TOKEN_wrong(self):
        """Run a cell, or see and change contexts, without the token of the sandbox or with that of another one."""
        context = self.ask(self.box, "GET", "/contexts").json[0]["id"]
        wrong = ["", "x", self.box.token[:-1], self.box.token + "x", self.other.token, self.other.made["trafficAccessToken"]]
        for token in wrong:
            for head in ({"X-Access-Token": token}, {"X-Access-Token": "", "E2B-Traffic-Access-Token": token},
                         {"X-Access-Token": "", "X-API-KEY": token}):
                for method, path, body in (("POST", "/execute", {"code": "open('seen', 'w')"}), ("GET", "/contexts", None),
                                           ("POST", "/contexts", {}), ("POST", f"/contexts/{context}/restart", None),
                                           ("DELETE", f"/contexts/{context}", None), ("POST", "//execute", {"code": "1"})):
                    answer = self.ask(self.box, method, path, body, **head)
                    self.assertEqual(answer.status, 401, (path, head))
                    self.assertNotIn(self.box.token.encode(), answer.body)
        self.assertEqual(len(self.ask(self.box, "GET", "/contexts").json), 2)
        self.assertEqual(self.box.run("ls").stdout, "")

    def test_T_E2B_CODE_CONTEXT_of_another(self):
        """Use, restart or remove a context of another sandbox by its id."""
        context = self.ask(self.other, "POST", "/contexts", {}).json["id"]
        self.other.execute("secret = 5", context_id=context)
        for method, path, body in (("POST", "/execute", {"code": "secret", "context_id": context}),
                                   ("POST", f"/contexts/{context}/restart", None), ("DELETE", f"/contexts/{context}", None),
                                   ("DELETE", f"/contexts/{context}%2f..%2f{context}", None)):
            self.assertEqual(self.ask(self.box, method, path, body).status, 404)
        self.assertEqual(self.other.execute("secret", context_id=context)[1]["text"], "5")

    def test_T_E2B_CODE_FLOOD_of_contexts(self):
        """Fill the engine's memory with output that nobody reads, with requests, or with contexts."""
        box, floods = Sandbox(self.server), []
        for _ in range(4):
            connection = self.server.connect()
            connection.request("POST", "/execute", json.dumps({"code": "while True: print('x' * 100000)"}),
                               {**web.JSON, **Sandbox(self.server).headers(CODE)})
            floods.append((connection, connection.getresponse()))
        deep = b'{"code": ' + b"[" * 100000 + b"]" * 100000 + b"}"
        self.assertIn(box.ask("POST", "/execute", deep, CODE, **web.JSON).status, (400, 422))
        names = {str(i): "x" for i in range(100000)}
        events = box.execute("1", env_vars=names)
        self.assertEqual(events[1]["type"], "error")
        statuses = [self.ask(box, "POST", "/contexts", {"cwd": "/" + "x" * 4000}).status for _ in range(100)]
        self.assertEqual(set(statuses[:62]), {200})
        self.assertEqual(set(statuses[62:]), {429})
        self.assertEqual(box.execute("1 + 1")[1]["text"], "2")
        self.assertLess(self.server.memory_bytes(), MEMORY_BYTES)
        for connection, answer in floods:
            answer.close()
            connection.close()


if __name__ == "__main__":
    harness.main()
