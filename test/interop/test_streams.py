# SPDX-License-Identifier: Apache-2.0
"""What a server asks in the middle of a call is asked, and answered, while nothing else happens.

Needs nothing of npm: the fixture alone, spoken to as the handshake era has it.
"""

import http.client
import json
import unittest

import interop

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
# The answer is there at once or when some other connection stirs, for which nobody waits.
SILENCE_S = 20


class Client:
    """Two connections that stay open: a call waits on one, the other has all else."""

    def __init__(self, port, capabilities):
        self.calling = http.client.HTTPConnection("localhost", port, timeout=SILENCE_S)
        self.other = http.client.HTTPConnection("localhost", port, timeout=SILENCE_S)
        self.headers = dict(HEADERS)
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities,
                  "clientInfo": {"name": "t", "version": "0"}}
        answer = self.post(self.other, {"id": 0, "method": "initialize", "params": params})
        answer.read()
        self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = "2025-11-25"

    def post(self, connection, message):
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), self.headers)
        return connection.getresponse()

    def call(self, name):
        params = {"name": name, "arguments": {}}
        return self.post(self.calling, {"id": 1, "method": "tools/call", "params": params})

    def answer(self, number, result):
        told = self.post(self.other, {"id": number, "result": result})
        told.read()
        return told.status


def next_event(stream):
    """The next message of an event stream."""
    while True:
        line = stream.readline()
        if not line:
            raise EOFError("the stream ended")
        if line.startswith(b"data:") and line[5:].strip():
            return json.loads(line[5:])


class Streams(interop.harness.Case):
    def test_a_question_and_its_answer(self):
        with interop.fixture() as server:
            client = Client(server.port, {"elicitation": {}})
            stream = client.call("test_input_required_result_elicitation")
            self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
            question = next_event(stream)
            self.assertEqual(question["method"], "elicitation/create")
            self.assertEqual(client.answer(question["id"], {"action": "accept", "content": {"name": "Ann"}}), 202)
            result = next_event(stream)
            self.assertEqual(result["id"], 1)
            self.assertEqual(result["result"]["content"][0]["text"], "Hello, Ann!")

    def test_rounds_of_questions(self):
        with interop.fixture() as server:
            client = Client(server.port, {"elicitation": {}})
            stream = client.call("test_input_required_result_multi_round")
            for content in ({"name": "Ann"}, {"color": "blue"}):
                question = next_event(stream)
                client.answer(question["id"], {"action": "accept", "content": content})
            self.assertIn("blue", next_event(stream)["result"]["content"][0]["text"])

    def test_a_client_that_cannot_be_asked(self):
        with interop.fixture() as server:
            answer = Client(server.port, {}).call("test_missing_capability")
            told = json.loads(answer.read())
            self.assertIs(told["result"]["isError"], True, told)
            self.assertIn("sampling", told["result"]["content"][0]["text"])


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    interop.main()
