# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the front "e2b": sandboxes of others, their tokens, networks, quotas."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402
from e2b_client import CODE, ENVD, Sandbox, ask  # noqa: E402

IDENTITY = "user"
ANN, BOB = "e2b_" + "a1" * 20, "e2b_" + "b2" * 20
EVIL = "https://evil.example"
MEMORY_BYTES = 400 << 20


class Absent(harness.Case):
    def test_T_E2B_ABSENT_unless_named(self):
        """Make a sandbox at an engine whose operator has not asked for this front."""
        with web.Server("--front", "dify") as server:
            for path in ("/v2/sandboxes", "/sandboxes", "/e2b/v2/sandboxes"):
                self.assertEqual(ask(server, "POST", path, {"templateID": "base"}).status, 404)
            self.assertEqual(server.rpc("session.list")["sessions"], [])


class Callers(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b", tokens=f"ann {ANN}\nbob {BOB}\n")
        cls.box = Sandbox(cls.server, ANN, envVars={"KEY": "of ann"})
        cls.other = Sandbox(cls.server, BOB)
        cls.snapshot = cls.box.control("POST", "/snapshots", {"name": "mine"}).json["snapshotID"]

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_T_E2B_SANDBOX_of_another_caller(self):
        """Reach all of the control API of ann's sandbox as bob, who knows its id and its token."""
        at, token = f"/sandboxes/{self.box.id}", {"X-Access-Token": self.box.token}
        for path, body in (("/timeout", {"timeout": 0}), ("/pause", {}), ("/connect", {"timeout": 9}), ("/resume", {}),
                           ("/refreshes", {"duration": 9}), ("/snapshots", {}), ("/fork", {"count": 1})):
            for version in ("", "/v2", "/e2b"):
                answer = ask(self.server, "POST", version + at + path, body, BOB, **token)
                self.assertEqual((answer.status, answer.json["code"]), (404, 404), path)
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/metrics"), ("PUT", "/network")):
            answer = ask(self.server, method, at + path, {} if method == "PUT" else None, BOB, **token)
            self.assertEqual(answer.status, 404, path)
        self.assertEqual([row["sandboxID"] for row in ask(self.server, "GET", "/v2/sandboxes", token=BOB).json], [self.other.id])
        answer = ask(self.server, "GET", f"/sandboxes/metrics?sandbox_ids={self.box.id}", token=BOB)
        self.assertEqual(answer.json, {"sandboxes": {}})
        unknown = ask(self.server, "GET", "/sandboxes/" + "i" * 20, token=BOB).body
        self.assertEqual(ask(self.server, "GET", at, token=BOB).body, unknown.replace(b"i" * 20, self.box.id.encode()))
        self.assertEqual(self.box.control("GET").json["state"], "running")

    def test_T_E2B_SANDBOX_of_a_snapshot_of_another_caller(self):
        """Make a sandbox of ann's snapshot, see it, replace or delete it as bob."""
        for name in (self.snapshot, "mine", "ann/mine"):
            self.assertEqual(ask(self.server, "POST", "/v2/sandboxes", {"templateID": name}, BOB).status, 404)
            self.assertEqual(ask(self.server, "DELETE", f"/templates/{name.replace('/', '%2F')}", token=BOB).status, 404)
            self.assertEqual(ask(self.server, "GET", f"/templates/aliases/{name}", token=BOB).status, 404)
        for query in ("", "?name=mine", f"?sandboxID={self.box.id}"):
            self.assertEqual(ask(self.server, "GET", f"/snapshots{query}", token=BOB).json, [])
        self.assertEqual(self.other.control("POST", "/snapshots", {"name": "mine"}).status, 201)
        self.assertEqual(ask(self.server, "DELETE", "/templates/mine", token=BOB).status, 204)
        self.assertEqual(len(ask(self.server, "GET", "/snapshots", token=ANN).json), 1)

    def test_T_E2B_TOKEN_of_the_sandbox(self):
        """Run a program in ann's sandbox without its token, or with another secret."""
        start = json.dumps({"process": {"cmd": "/bin/true"}}).encode()
        wrong = ("", "x", self.other.token, self.other.made["trafficAccessToken"], ANN, BOB, self.box.token[:-1],
                 self.box.token + "a", self.box.made["trafficAccessToken"])
        for secret in wrong:
            for name in ("X-Access-Token", "X-API-KEY", "Authorization"):
                head = {"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": str(ENVD), name: secret, **web.JSON}
                for path in ("/process.Process/List", "/process.Process/Start", "/filesystem.Filesystem/ListDir"):
                    answer = self.server.request("POST", path, start, head)
                    self.assertIn(answer.status, (401, 501), (path, name, secret))
                    self.assertNotIn(b"processes", answer.body)
        for path in ("/files?path=/etc/passwd", "/files?path=/etc/passwd&signature=v1_x"):
            for head in ({"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": str(ENVD)}, {}):
                self.assertNotIn(b"root:", self.server.request("GET", path, headers=head).body)
        head = {"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": str(CODE), **web.JSON}
        for more in ({}, {"E2B-Traffic-Access-Token": self.other.made["trafficAccessToken"]}, {"X-API-KEY": ANN}):
            answer = self.server.request("POST", "/execute", b'{"code": "6 * 7"}', {**head, **more})
            self.assertNotIn(b"42", answer.body)
        listed = ask(self.server, "GET", "/v2/sandboxes", token=ANN).body.decode()
        for secret in (self.box.token, self.box.made["trafficAccessToken"]):
            self.assertNotIn(secret, listed)
            self.assertNotIn(secret, self.server.said())

    def test_T_E2B_TOKEN_left_out_by_a_path_that_looks_open(self):
        """Read a sandbox's variables without a token, as /health needs none."""
        place = {"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": "49983"}
        for path in ("/envs?x=/health", "/envs?/health", "/e2b/envs?/health", "/contexts?a/health", "/files?path=/health"):
            self.assertIn(self.server.request("GET", path, headers=place).status, (401, 502), path)
        self.assertEqual(self.server.request("GET", "/health?x=/envs", headers=place).status, 204)

    def test_T_E2B_TOKEN_missing_with_a_body(self):
        """Make the engine use a request's body after the request was refused."""
        for head in ({}, {"E2b-Sandbox-Id": self.box.id, "E2b-Sandbox-Port": "49999"}):
            for path in ("/execute", "/contexts", "/contexts/x/restart"):
                body = json.dumps({"code": "1", "language": "python", "cwd": "/tmp" * 500}).encode()
                answer = self.server.request("POST", path, body, {"Content-Type": "application/json", **head})
                self.assertIn(answer.status, (400, 401), path)
        self.assertEqual(self.server.request("GET", "/health").status, 200)

    def test_T_E2B_TOKEN_opens_no_other_door(self):
        """Use the token of a sandbox as the key of a caller, at the control API or elsewhere."""
        for secret in (self.box.token, self.box.made["trafficAccessToken"]):
            for path in ("/v2/sandboxes", f"/sandboxes/{self.box.id}", "/snapshots", "/templates"):
                for head in ({"X-API-KEY": secret}, {"X-Access-Token": secret}, {"Authorization": f"Bearer {secret}"}):
                    self.assertEqual(self.server.request("GET", path, headers=head).status, 401, path)
            answer = self.server.post(web.question("session.list"), {"Authorization": f"Bearer {secret}"})
            self.assertEqual(answer.status, 401)

    def test_T_E2B_TOKEN_of_an_ended_sandbox(self):
        """Use the token of a sandbox after its end, or that of one sandbox for its copy."""
        made = self.box.control("POST", "/fork", {"timeout": 60}).json[0]["sandbox"]
        head = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": str(ENVD), **web.JSON}
        for secret, status in ((self.box.token, 401), (made["envdAccessToken"], 200)):
            answer = self.server.request("POST", "/process.Process/List", b"{}", {**head, "X-Access-Token": secret})
            self.assertEqual(answer.status, status)
        ask(self.server, "DELETE", f"/sandboxes/{made['sandboxID']}", token=ANN)
        head["X-Access-Token"] = made["envdAccessToken"]
        self.assertEqual(self.server.request("POST", "/process.Process/List", b"{}", head).status, 502)


class Net(harness.Case):
    def test_T_E2B_NET_beyond_the_rules(self):
        """Have a network as a caller who must not, or more of it than the operator gives."""
        tokens = f"ann {ANN} net=any\nbob {BOB}\n"
        with web.Server("--front", "e2b", "--front-net", "api.test:80=127.0.0.1:9", tokens=tokens) as server:
            rules = lambda token, box: server.rpc("session.net", {"Authorization": f"Bearer {token}"}, session=box.id)["net"]  # noqa: E731
            asked = ({"allowOut": ["any"]}, {"allowOut": ["evil.test"]}, {"allowOut": ["*.test"], "denyOut": ["0.0.0.0/0"]},
                     {"allowOut": ["127.0.0.1"], "denyOut": ["0.0.0.0/0"]}, {"allowOut": ["169.254.169.254"]},
                     {"allowOut": ["0.0.0.0/0"]}, {"allowOut": ["!api.test"]}, {"allowOut": ["api.test:22"]},
                     {"allowOut": ["evil.test=10.0.0.1"]}, {"allowOut": ["GET any/*"]}, {"allowOut": ["0.0.0.0/1"]}, {})
            for token, most in ((ANN, ["api.test:80=127.0.0.1:9"]), (BOB, [])):
                box = Sandbox(server, token, network={"denyOut": ["0.0.0.0/0"]})
                self.assertEqual(rules(token, box), [])
                for network in asked:
                    for body in (network, {**network, "allow_internet_access": True}):
                        box.control("PUT", "/network", body)
                        self.assertIn(rules(token, box), ([], most), (token, network))
                    answer = ask(server, "POST", "/v2/sandboxes", {"templateID": "base", "network": network}, token)
                    if answer.status == 201:
                        box_id = answer.json["sandboxID"]
                        box.id, first = box_id, box.id
                        self.assertIn(rules(token, box), ([], most), (token, network))
                        box.kill()
                        box.id = first
                name = box.control("POST", "/snapshots", {}).json["snapshotID"]
                self.assertEqual(rules(token, Sandbox(server, token, template=name)), most)


class Page(harness.Case):
    def test_T_E2B_PAGE_of_another_site(self):
        """Make, pause or end a sandbox from a page of another site, at an engine without tokens."""
        with web.Server("--front", "e2b") as server:
            box = Sandbox(server)
            for head in ({"Origin": EVIL}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Referer": EVIL}):
                for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
                    for path, body in (("/v2/sandboxes", b'{"templateID": "base"}'), (f"/sandboxes/{box.id}/pause", b""),
                                       (f"/sandboxes/{box.id}/fork", b""), (f"/sandboxes/{box.id}/timeout", b'{"timeout": 0}')):
                        answer = server.request("POST", path, body, {**head, **kind})
                        self.assertIn(answer.status, (403, 415), (head, kind, path))
            rebound = server.request("GET", "/v2/sandboxes", headers={"Host": "evil.example"})
            self.assertEqual(rebound.status, 403)
            self.assertEqual(len(ask(server, "GET", "/v2/sandboxes").json), 1)
            self.assertEqual(box.control("GET").json["state"], "running")


class Flood(harness.Case):
    def test_T_E2B_FLOOD_of_boxes(self):
        """Have more boxes than the token allows, by requests at the same time, forks and snapshots."""
        with web.Server("--front", "e2b", tokens=f"ann {ANN} sessions=4\nbob {BOB}\n") as server:
            box = Sandbox(server, ANN)
            head = {"Authorization": f"Bearer {ANN}"}

            def many(path, body):
                ask(server, "POST", path, body, ANN)

            threads = [threading.Thread(target=many, args=args) for args in (
                *[("/v2/sandboxes", {"templateID": "base"})] * 8, *[(f"/sandboxes/{box.id}/fork", {"count": 10})] * 4,
                *[(f"/sandboxes/{box.id}/snapshots", {})] * 8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rows = server.rpc("session.list", head)["sessions"]
            self.assertLessEqual(len([row for row in rows if row["state"] != "closed"]), 4)
            self.assertEqual(Sandbox(server, BOB).run("echo fine").stdout, "fine\n")

    def test_T_E2B_FLOOD_of_bytes(self):
        """Fill the engine's memory with members of sandboxes, and lists of them."""
        with web.Server("--front", "e2b") as server:
            large = {"templateID": "base", "metadata": {"a": "x" * (8 << 20)}}
            for body in (large, {**large, "metadata": {}, "envVars": {str(i): "x" for i in range(100000)}},
                         {"templateID": "x" * (8 << 20)}, {"templateID": "base", "network": {"allowOut": ["a.test"] * 200000}},
                         {"templateID": "base", "network": {"denyOut": ["10.0.0.0/8"] * 200000}}):
                self.assertEqual(ask(server, "POST", "/v2/sandboxes", body).status, 400)
            deep = b'{"templateID": "base", "metadata": ' + b"[" * 100000 + b"]" * 100000 + b"}"
            self.assertEqual(server.request("POST", "/v2/sandboxes", deep, web.JSON).status, 400)
            for query in ("metadata=" + "%252525" * 500, "metadata=" + "a%3D&" * 500, "nextToken=" + "9" * 3000, "limit=1e9"):
                self.assertIn(ask(server, "GET", f"/v2/sandboxes?{query}").status, (200, 400, 414), query[:20])
            self.assertLess(server.memory_bytes(), MEMORY_BYTES)
            self.assertEqual(ask(server, "GET", "/v2/sandboxes").json, [])


if __name__ == "__main__":
    harness.main()
