# SPDX-License-Identifier: Apache-2.0
"""The front "e2b": the hosts of a sandbox, and the ports of its programs."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import web  # noqa: E402
from e2b_client import Sandbox  # noqa: E402

import harness  # noqa: E402


class Hosts(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = web.Server("--front", "e2b")
        self.addCleanup(self.server.stop)
        self.box = Sandbox(self.server)

    def ask(self, port, path, **headers):
        host = {"Host": f"{port}-{self.box.id}.localhost"}
        return self.server.request("GET", path, None, {**host, **headers})

    def test_the_parts_of_a_sandbox_by_its_hosts(self):
        token = {"X-Access-Token": self.box.token}
        self.assertEqual(self.ask(49983, "/health").status, 204)
        self.assertEqual(self.ask(49999, "/health").json, "OK")
        self.assertEqual(len(self.ask(49999, "/contexts", **token).json), 2)
        self.assertEqual(self.ask(49999, "/contexts").status, 401)
        self.assertEqual(self.ask(49983, "/rpc").status, 404)


class Ports(harness.Case):
    def test_a_port_of_a_sandbox_wants_its_traffic_token(self):
        key = "e2b_" + "a" * 40
        with web.Server("--front", "e2b", tokens=f"ann {key}\n") as server:
            box = Sandbox(server, key)
            stream, _, _ = box.begin("echo here > index.html; python3 -m http.server 3000")
            host = {"Host": f"3000-{box.id}.localhost"}
            traffic = {**host, "E2B-Traffic-Access-Token": box.made["trafficAccessToken"]}
            self.assertTrue(web.wait(lambda: server.request("GET", "/", None, traffic).status == 200))
            self.assertEqual(server.request("GET", "/index.html", None, traffic).body, b"here\n")
            for headers in (host, {**host, "E2B-Traffic-Access-Token": box.token},
                            {**host, "X-Access-Token": box.token}):
                self.assertEqual(server.request("GET", "/", None, headers).status, 401)
            other = Sandbox(server, key)
            stolen = {**host, "E2B-Traffic-Access-Token": other.made["trafficAccessToken"]}
            self.assertEqual(server.request("GET", "/", None, stolen).status, 401)
            stream.close()


if __name__ == "__main__":
    harness.main()
