# SPDX-License-Identifier: Apache-2.0
"""The front "e2b": its control API, as the SDKs of E2B send it."""

import json
import os
import select
import sys
import time
import unittest
from unittest import mock
from urllib.parse import quote, urlencode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from e2b_client import Sandbox, ask  # noqa: E402

import harness  # noqa: E402

ANN, BOB = "e2b_" + "a1" * 20, "e2b_" + "b2" * 20


class Controlled(harness.Case):
    options, tokens = (), None

    @classmethod
    def setUpClass(cls):
        cls.server = web.Server("--front", "e2b", *cls.options, tokens=cls.tokens)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None, token=None, **headers):
        return ask(self.server, method, path, body, token, **headers)

    def make(self, token=None, **options):
        box = Sandbox(self.server, token, **options)
        self.addCleanup(box.kill)
        return box

    def detail(self, box):
        answer = box.control("GET")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def ask_and_go(self, path, body):
        """POST, and leave before the engine reads the request. A client that leaves later may have been answered."""
        connection = self.server.connect()
        connection.connect()
        with self.server.standing_still():
            connection.request("POST", path, body, web.JSON)
            connection.close()

    def refused(self, answer, status, words=""):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.json["code"], status)
        self.assertIn(words, answer.json["message"])

    def ids(self, query="", token=None):
        answer = self.ask("GET", f"/v2/sandboxes{query}", token=token)
        self.assertEqual(answer.status, 200, answer.body)
        return [row["sandboxID"] for row in answer.json]

    def sessions(self):
        return [row.get("name") for row in self.server.rpc("session.list")["sessions"]]


class Create(Controlled):
    def test_what_a_sandbox_is(self):
        box = self.make(metadata={"user": "a b"}, envVars={"FOO": "bar"}, timeout=120)
        self.assertRegex(box.id, r"^i[a-z0-9]{19}$")
        self.assertEqual(box.made["templateID"], "base")
        self.assertEqual(box.made["envdVersion"], "0.6.13")
        self.assertEqual(box.made["domain"], f"localhost:{self.server.port}")
        detail = self.detail(box)
        self.assertEqual(detail["metadata"], {"user": "a b"})
        self.assertEqual((detail["cpuCount"], detail["memoryMB"], detail["diskSizeMB"]), (1, 1024, 256))
        self.assertEqual(detail["lifecycle"], {"autoResume": False, "onTimeout": "kill"})
        self.assertIs(detail["allowInternetAccess"], False)
        self.assertEqual(box.run("echo $FOO").stdout, "bar\n")

    def test_the_body_may_come_in_chunks(self):
        connection = self.server.connect()
        body = (part.encode() for part in ('{"templateID":', '"base", "metadata": null,', ' "timeout": 60}'))
        connection.request("POST", "/v2/sandboxes", body, web.JSON, encode_chunked=True)
        answer = connection.getresponse()
        made = json.loads(answer.read())
        connection.close()
        self.assertEqual(answer.status, 201, made)
        self.assertEqual(self.ask("DELETE", f"/sandboxes/{made['sandboxID']}").status, 204)

    def test_time_of_both_versions(self):
        for version, seconds in (("", 15), ("/v2", 300)):
            detail = self.detail(self.make(version=version))
            self.assertAlmostEqual(at(detail["endAt"]) - at(detail["startedAt"]), seconds, delta=1)

    def test_what_old_clients_send(self):
        box = self.make(version="", secure=True, allow_internet_access=True, autoPause=False, mcp=None,
                        autoResume={"enabled": False}, timeout=300, volumeMounts=[], network=None)
        self.assertEqual(box.run("echo x").stdout, "x\n")

    def test_templates(self):
        for name in ("base", "base:latest", "team/base", "code-interpreter-v1", "code-interpreter-v1:default"):
            self.assertEqual(self.make(template=name).made["templateID"], name)
        for name in ("nope", "base:v7", "a b", "x" * 200, "../base/..", "\u017e"):
            answer = self.ask("POST", "/v2/sandboxes", {"templateID": name})
            self.refused(answer, 404, f"template '{name}' not found")

    def test_what_is_wrong_with_a_request(self):
        for body, words in (({}, "templateID is missing"), ({"templateID": 5}, "templateID must be a text"),
                            ({"templateID": ""}, "templateID must be"), ({"timeout": -1}, "timeout must be a whole"),
                            ({"timeout": "5"}, "timeout must be"), ({"timeout": 1e9}, "timeout must be"),
                            ({"timeout": 10**9}, "from 0 to 2592000"), ({"metadata": ["a"]}, "metadata must be an object"),
                            ({"metadata": {"a": 1}}, "object of texts"), ({"metadata": {"a": "b" * 70000}}, "65536 bytes"),
                            ({"envVars": {"A": None}}, "envVars must be"), ({"envVars": {"A=B": "1"}}, "env"),
                            ({"secure": "yes"}, "secure must be true or false"), ({"autoPause": 1}, "autoPause must be"),
                            ({"autoResume": {}}, "enabled is missing"), ({"autoResume": {"enabled": "x"}}, "enabled must"),
                            ({"autoResume": {"enabled": True}, "autoPauseMemory": False}, "autoResume needs"),
                            ({"mcp": {"x": {}}}, "mcp is not supported"), ({"iam": {"tokens": {}}}, "iam is not supported"),
                            ({"volumeMounts": [{"name": "v", "path": "/m"}]}, "volumeMounts is not supported"),
                            ({"network": 7}, "network must be an object")):
            if "templateID" not in body and "missing" not in words or "enabled" in words:
                body = {"templateID": "base", **body}
            self.refused(self.ask("POST", "/v2/sandboxes", body), 400, words)
        self.assertEqual(self.ask("POST", "/v2/sandboxes", [1]).status, 400)

    def test_nothing_is_left_of_a_client_that_has_gone(self):
        before = set(self.ids())
        for _ in range(5):
            self.ask_and_go("/v2/sandboxes", b'{"templateID": "base"}')
        self.assertTrue(web.wait(lambda: self.server.said().count("POST /v2/sandboxes") >= 5 and set(self.ids()) <= before))
        self.assertTrue(web.wait(lambda: len(self.sessions()) == len(before)), self.sessions())

    def test_health(self):
        self.assertEqual(self.ask("GET", "/health").status, 200)

    def test_unknown_routes(self):
        box = self.make()
        for method, path in (("GET", "/nope"), ("POST", f"/sandboxes/{box.id}/nope"), ("GET", f"/sandboxes/{box.id}/nope"),
                             ("DELETE", f"/sandboxes/{box.id}/x"), ("PUT", f"/sandboxes/{box.id}/x"), ("GET", "/sandboxes/"),
                             ("GET", "/sandboxes/%00"), ("GET", "/sandboxes/%ff%fe"), ("PUT", "/sandboxes/../x/network")):
            self.refused(self.ask(method, path, {} if method in ("POST", "PUT") else None), 404)

    def test_what_there_is_not(self):
        for method, path in (("GET", "/volumes"), ("POST", "/volumes"), ("GET", "/secrets/x"), ("POST", "/v3/templates"),
                             ("POST", "/v2/templates/x/builds/y"), ("GET", "/templates/x/builds/y/status")):
            self.refused(self.ask(method, path, {} if method == "POST" else None), 501)

    def test_names_of_templates(self):
        self.assertEqual(self.ask("GET", "/templates/aliases/base").json, {"templateID": "base", "public": True})
        self.refused(self.ask("GET", "/templates/aliases/nope"), 404, "'nope' not found")
        for path in ("/templates", "/v2/templates"):
            self.assertEqual([row["templateID"] for row in self.ask("GET", path).json], ["base", "code-interpreter-v1"])
        self.assertEqual(self.ask("GET", "/templates/base").json["buildStatus"], "ready")
        self.refused(self.ask("DELETE", "/templates/base"), 404)
        self.assertEqual(len(self.ask("GET", "/teams").json), 1)


def at(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class State(Controlled):
    def test_kill(self):
        box = self.make()
        self.assertIn(box.id, self.sessions())
        self.assertEqual(box.kill(), 204)
        self.assertNotIn(box.id, self.sessions())
        self.refused(box.control("DELETE"), 404)
        self.refused(box.control("GET"), 404)
        self.assertEqual(box.ask("GET", "/health").status, 502)

    def test_end_of_its_time(self):
        box = self.make()
        self.assertEqual(box.control("POST", "/timeout", {"timeout": 0}).status, 204)
        self.assertTrue(web.wait(lambda: box.control("GET").status == 404))
        self.assertTrue(web.wait(lambda: box.id not in self.sessions()))

    def test_times(self):
        box = self.make(timeout=1000)
        first = self.detail(box)["endAt"]
        for path in ("", "/v2"):
            answer = self.ask("POST", f"{path}/sandboxes/{box.id}/connect", {"timeout": 10})
            self.assertEqual((answer.status, answer.json["envdAccessToken"]), (200, box.token))
            self.assertEqual(self.detail(box)["endAt"], first)
        self.assertEqual(box.control("POST", "/refreshes", {"duration": 5}).status, 204)
        self.assertEqual(self.detail(box)["endAt"], first)
        self.assertEqual(box.control("POST", "/connect", {"timeout": 2000}).status, 200)
        self.assertAlmostEqual(at(self.detail(box)["endAt"]) - at(first), 1000, delta=10)
        self.assertEqual(box.control("POST", "/timeout", {"timeout": 500}).status, 204)
        self.assertLess(at(self.detail(box)["endAt"]), at(first))
        self.refused(box.control("POST", "/timeout", {}), 400, "timeout is missing")
        self.refused(box.control("POST", "/timeout", {"timeout": 10**8}), 400)
        self.refused(box.control("POST", "/refreshes", {"duration": 3601}), 400)
        self.refused(self.ask("POST", "/sandboxes/inone/timeout", {"timeout": 5}), 404)

    def test_pause_and_connect(self):
        box = self.make()
        stream, events, _ = box.begin("n=0; while true; do n=$((n+1)); echo $n > count; sleep 0.05; done")
        count = lambda: box.run("cat count").stdout  # noqa: E731
        self.assertTrue(web.wait(lambda: count().strip()))
        self.assertEqual(box.control("POST", "/pause", {}).status, 204)
        self.refused(box.control("POST", "/pause"), 409, "already paused")
        self.assertEqual(self.detail(box)["state"], "paused")
        self.assertEqual(box.ask("GET", "/health").status, 502)
        self.refused(box.control("POST", "/timeout", {"timeout": 9}), 404, "is paused")
        self.refused(box.control("POST", "/refreshes", {"duration": 9}), 404)
        self.refused(box.control("POST", "/snapshots", {}), 409)
        self.refused(box.control("POST", "/fork", {}), 409)
        self.refused(box.control("PUT", "/network", {}), 409)
        answer = self.ask("POST", f"/v2/sandboxes/{box.id}/connect")
        self.assertEqual((answer.status, answer.json["sandboxID"]), (201, box.id))
        self.assertEqual(self.detail(box)["state"], "running")
        seen = count()
        self.assertTrue(web.wait(lambda: count() != seen))
        stream.close()

    def test_a_paused_program_does_not_run(self):
        box = self.make(timeout=3600)
        stream, _, _ = box.begin("while true; do date +%s%N > now; sleep 0.02; done")
        self.assertTrue(web.wait(lambda: box.run("cat now").stdout.strip()))
        box.control("POST", "/pause")
        session = self.server.rpc("process.start", session=box.id, command="cat now; sleep 1; cat now", attach=True,
                                  stream=False)
        self.assertEqual(session["exit_code"], 0)
        first = self.server.rpc("file.read", session=box.id, path="now")["content"]
        time.sleep(0.5)
        self.assertEqual(self.server.rpc("file.read", session=box.id, path="now")["content"], first)
        stream.close()

    def test_pause_without_memory(self):
        for how in (("/pause", {"memory": False}, {}), ("/pause", {}, {"memory": False})):
            box = self.make()
            box.run("echo kept > file")
            stream, _, out = box.begin("sleep 1000")
            self.assertEqual(box.control("POST", how[0], how[1]).status, 204)
            self.assertEqual(box.control("POST", "/connect", {"timeout": 60, **how[2]}).status, 201)
            self.assertTrue(web.wait(lambda box=box: not box.rpc("process.Process/List").json["processes"]))
            self.assertEqual(box.run("cat file").stdout, "kept\n")
            stream.close()

    def test_resume_as_sdk_2_0_does(self):
        box = self.make(version="")
        self.refused(box.control("POST", "/resume", {"timeout": 5}), 409, "already running")
        box.control("POST", "/pause")
        self.refused(box.control("POST", "/timeout", {"timeout": 300}), 404)
        self.assertEqual(box.control("POST", "/resume", {"autoPause": False, "timeout": 300}).status, 201)
        self.assertEqual(self.detail(box)["state"], "running")

    def test_pause_at_the_end_of_its_time(self):
        box = self.make(timeout=1, autoPause=True)
        self.assertTrue(web.wait(lambda: self.detail(box)["state"] == "paused"))
        self.assertEqual(self.detail(box)["lifecycle"], {"autoResume": False, "onTimeout": "pause"})
        self.assertEqual(box.rpc("process.Process/List").status, 502)
        self.assertEqual(box.kill(), 204)

    def test_a_request_makes_it_run_again(self):
        box = self.make(timeout=1, autoPause=True, autoResume={"enabled": True})
        self.assertTrue(web.wait(lambda: self.detail(box)["state"] == "paused"))
        self.assertEqual(box.ask("GET", "/health", **{"X-Access-Token": "wrong"}).status, 502)
        self.assertEqual(box.run("echo again").stdout, "again\n")
        self.assertEqual(self.detail(box)["state"], "running")

    def test_a_session_that_was_closed_is_no_sandbox(self):
        with web.Server("--front", "e2b", "--session-idle", "1s") as server:
            box = Sandbox(server)
            time.sleep(2.5)
            self.assertEqual(box.run("echo used").stdout, "used\n")
            box.control("POST", "/pause")
            made = box.control("GET").json["state"]
            time.sleep(2.5)
            self.assertEqual((made, box.control("POST", "/connect").status), ("paused", 201))
            server.rpc("session.close", session=box.id)
            self.assertTrue(web.wait(lambda: box.control("GET").status == 404))

    def test_the_engines_time_to_live_is_told(self):
        with web.Server("--front", "e2b", "--session-ttl", "100s") as server:
            box = Sandbox(server, timeout=3600)
            detail = box.control("GET").json
            self.assertLessEqual(at(detail["endAt"]) - at(detail["startedAt"]), 101)


class List(Controlled):
    def test_filters(self):
        one = self.make(metadata={"user": "a b", "odd&=": "c d/\u017e+"})
        two = self.make(metadata={"user": "x"}, template="code-interpreter-v1")
        for metadata, found in (({"user": "a b"}, [one.id]), ({"user": "x"}, [two.id]), ({"user": "y"}, []), ({"no": "x"}, []),
                                ({"user": "a b", "odd&=": "c d/\u017e+"}, [one.id]), ({"user": "a b", "odd&=": "q"}, [])):
            inner = urlencode({quote(key, safe=""): quote(value, safe="") for key, value in metadata.items()})
            self.assertEqual(self.ids(f"?metadata={quote(inner, safe='')}"), found, metadata)
        self.assertEqual(self.ids("?metadata=user%3Da%252520b"), [one.id])
        self.assertEqual(self.ids("?template=code-interpreter-v1"), [two.id])
        self.assertEqual(self.ids("?template=nope"), [])
        self.assertEqual(self.ids(), [two.id, one.id])
        self.assertEqual(self.ids("?order=asc"), [one.id, two.id])
        began = quote(self.detail(two)["startedAt"])
        self.assertEqual(self.ids(f"?startedAfter={began}"), [two.id])
        self.assertEqual(self.ids("?startedAfter=2000-01-01T00%3A00%3A00%2B02%3A00"), [two.id, one.id])
        self.assertEqual(self.ids("?startedAfter=2100-01-01T00:00:00Z"), [])
        one.control("POST", "/pause")
        for query, found in (("?state=paused", [one.id]), ("?state=running", [two.id]), ("", [two.id, one.id]),
                             ("?state=running,paused", [two.id, one.id]), ("?state=running%2Cpaused", [two.id, one.id])):
            self.assertEqual(self.ids(query), found, query)
        self.assertEqual([row["sandboxID"] for row in self.ask("GET", "/sandboxes").json], [two.id])
        row = self.ask("GET", "/v2/sandboxes?state=paused").json[0]
        for name in ("templateID", "clientID", "startedAt", "endAt", "cpuCount", "memoryMB", "diskSizeMB", "envdVersion"):
            self.assertIn(name, row)
        self.assertNotIn("envdAccessToken", row)
        self.assertNotIn("trafficAccessToken", row)

    def test_pages(self):
        made = [self.make(metadata={"page": "1"}).id for _ in range(3)]
        for order, expected in (("desc", made[::-1]), ("asc", made)):
            seen, token = [], ""
            while token is not None:
                answer = self.ask("GET", f"/v2/sandboxes?metadata=page%3D1&order={order}&limit=2&nextToken={token}")
                self.assertEqual(answer.headers["X-Total-Running"], "3")
                seen.append([row["sandboxID"] for row in answer.json])
                token = answer.headers.get("X-Next-Token")
            self.assertEqual(seen, [expected[:2], expected[2:]])

    def test_what_is_wrong_with_a_query(self):
        for query in ("limit=0", "limit=101", "limit=x", "order=up", "state=dead", "startedAfter=yesterday", "nextToken=x",
                      "startedAfter=2030-01-31T12:00:00Zx", "metadata=%25%32%35%30%30", "nextToken=5." + "x" * 99):
            self.refused(self.ask("GET", f"/v2/sandboxes?{query}"), 400)


class Metrics(Controlled):
    options = ("--front-memory", "512m", "--front-disk", "64m")

    def test_numbers(self):
        box = self.make(timeout=3600)
        stream, events, out = box.begin("head -c 20000000 /dev/zero > zero; python3 -c 'x = b\"x\" * 50000000\nprint(1, flush=True)\nwhile 1: pass'")
        for event in events:
            out.take(event)
            if "1" in out.stdout:
                break
        time.sleep(1)
        rows = box.control("GET", "/metrics").json
        self.assertEqual(len(rows), 1)
        time.sleep(1.2)
        start = int(time.time()) - 60
        last = box.control("GET", f"/metrics?start={start}&end={start + 120}").json[-1]
        self.assertEqual((last["cpuCount"], last["memTotal"], last["diskTotal"]), (1, 512 << 20, 64 << 20))
        self.assertGreater(last["memUsed"], 50000000)
        self.assertGreater(last["diskUsed"], 19000000)
        self.assertLess(last["diskUsed"], 64 << 20)
        self.assertGreater(last["cpuUsedPct"], 1)
        self.assertLessEqual(last["cpuUsedPct"], 100)
        self.assertEqual(box.control("GET", f"/metrics?start={start - 3600}&end={start - 1800}").json, [])
        answer = self.ask("GET", f"/sandboxes/metrics?sandbox_ids={box.id},inone")
        self.assertEqual(list(answer.json["sandboxes"]), [box.id])
        detail = self.detail(box)
        self.assertEqual((detail["memoryMB"], detail["diskSizeMB"]), (512, 64))
        self.assertEqual(box.run("df -k --output=size . | tail -1").stdout.strip(), str(64 << 10))
        stream.close()

    def test_wrong_times(self):
        box = self.make()
        self.refused(box.control("GET", "/metrics?start=x"), 400)
        self.refused(box.control("GET", "/metrics?end=-5"), 400)
        self.refused(self.ask("GET", "/sandboxes/metrics"), 400)
        self.refused(self.ask("GET", "/sandboxes/inone/metrics"), 404)
        self.refused(box.control("GET", "/logs"), 501)


class Copies(Controlled):
    def test_snapshots(self):
        box = self.make(envVars={"FOO": "bar", "OLD": "1"})
        box.run("echo before > file")
        made = box.control("POST", "/snapshots", {})
        self.assertEqual((made.status, made.json["names"]), (201, []))
        box.run("echo after > file")
        copy = self.make(template=made.json["snapshotID"], envVars={"NEW": "2"}, metadata={"copy": "1"})
        self.assertNotEqual((copy.id, copy.token), (box.id, box.token))
        self.assertEqual(copy.run("cat file; echo $FOO $OLD $NEW $E2B_SANDBOX_ID").stdout, f"before\nbar 1 2 {copy.id}\n")
        copy.run("echo copy > file")
        self.assertEqual(self.make(template=made.json["snapshotID"]).run("cat file").stdout, "before\n")
        self.assertEqual(box.kill(), 204)
        self.assertEqual(self.make(template=made.json["snapshotID"]).run("cat file").stdout, "before\n")
        path = "/templates/" + quote(made.json["snapshotID"], safe="")
        self.assertEqual(self.ask("GET", path.replace("/templates/", "/templates/aliases/")).status, 200)
        self.assertEqual(self.ask("DELETE", path).status, 204)
        self.refused(self.ask("DELETE", path), 404)
        self.refused(self.ask("POST", "/sandboxes", {"templateID": made.json["snapshotID"]}), 404, "not found")

    def test_names_of_snapshots(self):
        box = self.make()
        self.addCleanup(self.ask, "DELETE", "/templates/mine")
        self.addCleanup(self.ask, "DELETE", "/templates/mine:v2")
        box.run("echo 1 > file")
        self.assertEqual(box.control("POST", "/snapshots", {"name": "mine"}).json,
                         {"snapshotID": "mine:default", "names": ["mine:default"]})
        self.assertEqual(box.control("POST", "/snapshots", {"name": "mine:v2"}).json["snapshotID"], "mine:v2")
        box.run("echo 2 > file")
        n_sessions = len(self.sessions())
        self.assertEqual(box.control("POST", "/snapshots", {"name": "mine"}).status, 201)
        self.assertTrue(web.wait(lambda: len(self.sessions()) == n_sessions))
        for name, text in (("mine", "2"), ("team/mine:default", "2"), ("mine:v2", "1")):
            self.assertEqual(self.make(template=name).run("cat file").stdout.strip(), text)
        for query, found in (("", 2), ("?name=mine", 1), ("?name=mine:v2", 1), ("?name=nope", 0),
                             (f"?sandboxID={box.id}", 2), ("?sandboxID=x", 0)):
            self.assertEqual(len(self.ask("GET", f"/snapshots{query}").json), found, query)
        first = self.ask("GET", "/snapshots?limit=1")
        second = self.ask("GET", f"/snapshots?limit=1&nextToken={first.headers['X-Next-Token']}")
        self.assertNotEqual(first.json, second.json)
        self.assertIsNone(second.headers.get("X-Next-Token"))
        for name in ("base", "a b", "a/b", "", ":x", "x:", "a:b:c", "x" * 300, 5):
            self.refused(box.control("POST", "/snapshots", {"name": name}), 400, "name")

    def test_forks(self):
        box = self.make(envVars={"FOO": "bar"}, metadata={"a": "1"})
        box.run("echo before > file")
        stream, _, _ = box.begin("sleep 1000")
        answer = box.control("POST", "/fork", {"timeout": 600, "count": 3})
        self.assertEqual((answer.status, len(answer.json)), (201, 3))
        forks = [row["sandbox"] for row in answer.json]
        self.assertEqual(len({fork["envdAccessToken"] for fork in forks} | {box.token}), 4)
        for made in forks:
            fork = Sandbox.__new__(Sandbox)
            fork.server, fork.key, fork.made = self.server, None, made
            fork.id, fork.token = made["sandboxID"], made["envdAccessToken"]
            self.addCleanup(fork.kill)
            self.assertEqual(fork.run("cat file; echo $FOO $E2B_SANDBOX_ID").stdout, f"before\nbar {fork.id}\n")
            fork.run("echo fork > file")
            detail = self.detail(fork)
            self.assertEqual(detail["metadata"], {"a": "1"})
            self.assertAlmostEqual(at(detail["endAt"]) - at(detail["startedAt"]), 600, delta=1)
        self.assertEqual(box.run("cat file").stdout, "before\n")
        self.assertEqual(len(box.rpc("process.Process/List").json["processes"]), 1)
        for body in ({"count": 0}, {"count": 101}, {"count": "x"}, {"timeout": -1}):
            self.refused(box.control("POST", "/fork", body), 400)
        self.refused(self.ask("POST", "/sandboxes/inone/fork", {}), 404)
        stream.close()

    def leave_between_forks(self, path, n_sessions):
        """Ask for forks, and leave when some are made and others are not."""
        for _ in range(20):
            connection = self.server.connect()
            connection.request("POST", f"{path}/fork", b'{"count": 100, "timeout": 600}', web.JSON)
            self.assertTrue(web.wait(lambda: len(self.sessions()) > n_sessions + 1))
            with self.server.standing_still():
                if not select.select([connection.sock], [], [], 0)[0]:
                    connection.close()
                    return
            for fork in json.loads(connection.getresponse().read()):  # this machine was too slow
                self.assertEqual(self.ask("DELETE", f"/sandboxes/{fork['sandbox']['sandboxID']}").status, 204)
            self.assertTrue(web.wait(lambda: len(self.sessions()) == n_sessions))
        self.fail("all forks were made each time before the client could leave")

    def test_nothing_is_left_of_copies_for_a_client_that_has_gone(self):
        box = self.make()
        n_sessions, n_sandboxes = len(self.sessions()), len(self.ids())
        path = f"/sandboxes/{box.id}"
        self.leave_between_forks(path, n_sessions)
        self.ask_and_go(f"{path}/fork", b'{"timeout": 600}')
        self.ask_and_go(f"{path}/snapshots", b"{}")
        self.assertTrue(web.wait(lambda: f"POST {path}/snapshots" in self.server.said()))
        self.assertTrue(web.wait(lambda: len(self.sessions()) == n_sessions), self.sessions())
        self.assertEqual((len(self.ids()), self.ask("GET", "/snapshots").json), (n_sandboxes, []))

    def test_nothing_is_left_when_the_engine_stops(self):
        server = web.Server("--front", "e2b")
        box = Sandbox(server)
        for _ in range(2):
            self.assertEqual(box.control("POST", "/snapshots", {}).status, 201)
        self.assertEqual(box.control("POST", "/fork", {}).status, 201)
        self.assertEqual(server.stop(), 0)
        with mock.patch.object(web.tempfile, "mkdtemp", return_value=server.dir), web.Server("--front", "e2b") as again:
            rows = again.rpc("session.list")["sessions"]
            self.assertEqual([row for row in rows if row["state"] != "closed"], [])


class Quotas(Controlled):
    tokens = f"ann {ANN} sessions=2\nbob {BOB}\n"

    def test_the_key(self):
        for token in (None, "e2b_" + "0" * 40):
            answer = self.ask("GET", "/v2/sandboxes", token=token)
            self.assertEqual((answer.status, answer.json["code"]), (401, 401))

    def test_sessions(self):
        boxes = [self.make(ANN) for _ in range(2)]
        answer = self.ask("POST", "/v2/sandboxes", {"templateID": "base"}, ANN)
        self.refused(answer, 429, "sessions")
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.refused(boxes[0].control("POST", "/snapshots", {}), 429)
        self.assertEqual(boxes[0].control("POST", "/fork", {}).json[0]["error"]["code"], 429)
        self.assertEqual(len(self.ids(token=ANN)), 2)
        boxes[0].kill()
        self.assertEqual(self.make(ANN).run("echo x").stdout, "x\n")


RULES = ("api.test:80=127.0.0.1:9", "*.example.org", "!deep.example.net:5432", "203.0.114.0/24:443", "GET any/*")


class Log(Controlled):
    tokens = f"ann {ANN}\nbob {BOB}\n"

    def test_requests_to_a_sandbox_are_those_of_its_maker(self):
        box = self.make(ANN)
        box.run("true")
        box.ask("GET", "/files?path=/etc/hostname")
        self.assertEqual(box.ask("GET", "/envs", **{"X-Access-Token": "wrong"}).status, 401)
        for caller, path in (("ann", "POST /process.Process/Start"), ("ann", "GET /files"), ("anyone", "GET /envs")):
            self.assertTrue(web.wait(lambda what=f"{caller} {path} e2b": what in self.server.said()), self.server.said())


class Network(Controlled):
    options = tuple(word for rule in RULES for word in ("--front-net", rule))
    tokens = f"ann {ANN} net=any\nbob {BOB}\n"

    def rules(self, token=ANN, **options):
        box = self.make(token, **options)
        net = self.server.rpc("session.get", {"Authorization": f"Bearer {token}"}, session=box.id).get("net", [])
        self.assertEqual(self.detail(box)["allowInternetAccess"], bool(net))
        return net

    def test_the_operators_rules(self):
        self.assertEqual(self.rules(), list(RULES))
        self.assertEqual(self.rules(network={"allowPublicTraffic": False}), list(RULES))
        self.assertEqual(self.rules(allow_internet_access=False), [])
        self.assertEqual(self.rules(BOB), [])
        self.assertEqual(self.rules(BOB, network={"denyOut": ["8.8.8.8"]}), [])
        self.assertEqual(self.rules(network={"denyOut": ["0.0.0.0/0"]}), [])

    def test_a_request_narrows_them(self):
        everything = {"denyOut": ["0.0.0.0/0"]}
        for allowed, rules in ((["api.test"], ["api.test:80=127.0.0.1:9", "GET api.test/*"]),
                               (["a.example.org"], ["a.example.org", "GET a.example.org/*"]),
                               (["*.b.example.org"], ["*.b.example.org", "GET *.b.example.org/*"]),
                               (["*.example.net"], ["!deep.example.net:5432", "GET *.example.net/*"]),
                               (["203.0.114.7"], ["203.0.114.7:443"]), (["203.0.114.0/28"], ["203.0.114.0/28:443"]),
                               (["203.0.0.0/16"], ["203.0.114.0/24:443"]), (["0.0.0.0/0"], list(RULES))):
            self.assertEqual(self.rules(network={**everything, "allowOut": allowed}), rules, allowed)
            self.assertEqual(self.rules(allow_internet_access=False, network={"allowOut": allowed}), rules, allowed)
        self.assertEqual(self.rules(network={"allowOut": ["api.test"]}), list(RULES))

    def test_what_rules_cannot_say(self):
        for network, words in (({"allowOut": ["198.51.100.7"]}, "do not allow '198.51.100.7'"),
                               ({"allowOut": ["a b"]}, "is no host"), ({"allowOut": "x"}, "a list of texts"),
                               ({"allowOut": [5]}, "a list of texts"), ({"denyOut": ["evil.test"]}, "is no IPv4 address"),
                               ({"denyOut": ["8.8.8.8"]}, "can only be '0.0.0.0/0'"),
                               ({"rules": {"x.test": [{"transform": {"headers": {"A": "b"}}}]}}, "network.rules is not"),
                               ({"egressProxy": {"address": "x"}}, "egressProxy is not"),
                               ({"maskRequestHost": "x"}, "maskRequestHost is not"), ({"httpsPorts": [3000]}, "httpsPorts is"),
                               ({"allowPublicTraffic": "no"}, "allowPublicTraffic must be")):
            self.refused(self.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": network}, ANN), 400, words)
        answer = self.ask("POST", "/v2/sandboxes", {"templateID": "base", "network": {"allowOut": ["api.test"]}}, BOB)
        self.refused(answer, 400, "have no network")
        self.assertEqual(self.ids(token=ANN) + self.ids(token=BOB), [])

    def test_a_change(self):
        box = self.make(ANN)
        net = lambda: self.server.rpc("session.net", {"Authorization": f"Bearer {ANN}"}, session=box.id)["net"]  # noqa: E731
        change = {"allowOut": ["api.test"], "denyOut": ["0.0.0.0/0"]}
        self.assertEqual(box.control("PUT", "/network", change).status, 204)
        self.assertEqual(net(), ["api.test:80=127.0.0.1:9", "GET api.test/*"])
        self.assertEqual(self.detail(box)["network"], change)
        self.assertEqual(box.control("PUT", "/network", {"allow_internet_access": False}).status, 204)
        self.assertEqual(net(), [])
        self.assertIs(self.detail(box)["allowInternetAccess"], False)
        self.assertEqual(box.control("PUT", "/network", {}).status, 204)
        self.assertEqual(net(), list(RULES))
        self.refused(box.control("PUT", "/network", {"rules": {"a": []}}), 400)
        self.assertEqual(net(), list(RULES))

    def test_copies(self):
        box = self.make(ANN, network={"allowOut": ["api.test"], "denyOut": ["0.0.0.0/0"]})
        made = box.control("POST", "/snapshots", {"name": "net"}).json["snapshotID"]
        self.addCleanup(self.ask, "DELETE", f"/templates/{made}", token=ANN)
        fork = box.control("POST", "/fork", {}).json[0]["sandbox"]["sandboxID"]
        self.addCleanup(self.ask, "DELETE", f"/sandboxes/{fork}", token=ANN)
        rpc = lambda name: self.server.rpc("session.get", {"Authorization": f"Bearer {ANN}"}, session=name)["net"]  # noqa: E731
        self.assertEqual(rpc(fork), ["api.test:80=127.0.0.1:9", "GET api.test/*"])
        self.assertEqual(self.rules(template=made), list(RULES))
        self.assertEqual(self.rules(template=made, allow_internet_access=False), [])


if __name__ == "__main__":
    unittest.main()
