# SPDX-License-Identifier: Apache-2.0
"""The clients of both SDKs, in every era and over both transports, get what the tools promise."""

import base64
import concurrent.futures
import functools
import json

import interop

CLIENTS = {"v1": "legacy", "legacy": "legacy", "auto": "modern", "modern": "modern"}
TOOLS = ["run_code", "run_wait", "read_output", "read_file", "write_file", "list_files", "sessions"]
RECORD = "retort/result"
TEXT_MAX = 10_000


TRANSPORTS = ("stdio", "http")
AT_ONCE = 4


@functools.lru_cache(maxsize=None)
def stories():
    """{(client, transport): what it was told, to come}: most of it is waiting, so several at once."""
    interop.workshop()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return {(k, t): pool.submit(play, k, t) for k in CLIENTS for t in TRANSPORTS}


def play(kind, transport):
    if transport == "stdio":
        return interop.story(kind, "stdio", interop.harness.RETORT, "mcp")
    with interop.engine() as engine:
        return interop.story(kind, "http", engine.url)


class Conversation:
    """One client over one transport; the story is played once and asked about by each test."""

    kind = transport = None

    def setUp(self):
        super().setUp()
        self.story = stories()[self.kind, self.transport].result()

    def result(self, name):
        told = self.story[name]
        if "result" not in told:
            self.fail(f"{name}: the client threw {told['error']}")
        return told["result"]

    def text(self, name):
        blocks = self.result(name)["content"]
        self.assertEqual(blocks[0]["type"], "text", f"{name}: the verdict comes first")
        return blocks[0]["text"]

    def record(self, name):
        meta = self.result(name).get("_meta", {})
        self.assertIn(RECORD, meta, f"{name}: no record in _meta: {json.dumps(meta)[:300]}")
        return meta[RECORD]

    def value(self, name):
        record = self.record(name)
        self.assertEqual(record["status"], "ok", f"{name}: {record}")
        self.assertFalse(self.result(name).get("isError", False), name)
        return record.get("value", {}).get("text/plain")

    def blocks(self, name, kind):
        return [b for b in self.result(name)["content"] if b["type"] == kind]

    def assert_refused(self, name, *words):
        """A tool's failure that the model reads."""
        self.assertIs(self.result(name).get("isError"), True, f"{name}: {self.story[name]}")
        for word in words:
            self.assertIn(word, self.text(name), name)

    def assert_threw(self, name, code):
        """An error of the protocol, which the client throws."""
        self.assertIn("error", self.story[name], f"{name}: {self.story[name]}")
        self.assertEqual(self.story[name]["error"]["code"], code, f"{name}: {self.story[name]}")

    # What a connection begins with.

    def test_era(self):
        self.assertEqual(self.story["connected"]["era"], CLIENTS[self.kind])

    def test_nothing_was_malformed(self):
        # Over HTTP a client cancels by hanging up, and tells its own user.
        told = [e for e in self.story["errors"] if "aborted" not in e]
        self.assertEqual(told, [])

    def test_server_says_who_it_is(self):
        about = self.story["connected"]
        self.assertEqual(about["server"]["name"], "retort")
        self.assertIn("tools", about["capabilities"])
        self.assertIn("resources", about["capabilities"])
        self.assertIn("run_code", about["instructions"])

    def test_tools(self):
        tools = self.result("tools")["tools"]
        self.assertEqual(sorted(t["name"] for t in tools), sorted(TOOLS))
        for tool in tools:
            self.assertTrue(tool["description"], tool["name"])
            self.assertEqual(tool["inputSchema"]["type"], "object", tool["name"])
            self.assertNotIn("outputSchema", tool, f"{tool['name']}: hosts would drop text and images")

    # State, and what comes back.

    def test_state_is_kept_from_call_to_call(self):
        self.assertEqual(self.value("use"), "42")
        self.assertEqual(self.record("use")["stdout"], "to stdout\n")
        self.assertIn("42", self.text("use"))
        self.assertIn("to stdout", self.text("use"))

    def test_sessions_are_apart(self):
        self.assertEqual(self.value("other_session"), "False")

    def test_javascript(self):
        self.assertEqual(self.value("javascript"), "3")

    def test_no_structured_content(self):
        for name in ("use", "plot", "raises"):
            self.assertNotIn("structuredContent", self.result(name), name)

    def test_plot_is_an_image(self):
        images = self.blocks("plot", "image")
        self.assertEqual(len(images), 1, self.result("plot"))
        self.assertEqual(images[0]["mimeType"], "image/png")
        self.assertEqual(base64.b64decode(images[0]["data"])[:8], b"\x89PNG\r\n\x1a\n")
        self.assertNotIn(images[0]["data"][:64], self.text("plot"), "an image is no text")

    def test_exception_is_an_error_of_the_tool(self):
        self.assert_refused("raises", "ZeroDivisionError", "division by zero")
        record = self.record("raises")
        self.assertEqual((record["status"], record["error"]["name"]), ("error", "ZeroDivisionError"))
        self.assertTrue(self.text("raises").splitlines()[0].startswith("error"), self.text("raises"))

    def test_time_limit_costs_the_step_only(self):
        self.assert_refused("times_out")
        self.assertEqual(self.record("times_out")["status"], "timeout")
        self.assertEqual(self.value("after_time_out"), "41")

    # Runs that outlive a call.

    def test_long_run_is_waited_for(self):
        self.assertEqual(self.record("long")["status"], "running")
        self.assertFalse(self.result("long").get("isError", False), "running is no error")
        self.assertIn(self.record("long")["run"], self.text("long"), "the model has to know it")
        self.assertEqual(self.value("long_wait"), "'late'")

    def test_output_of_a_run_is_read(self):
        self.assertIn("begun", self.text("long_output"))

    def test_endless_run_is_interrupted(self):
        self.assertEqual(self.record("endless")["status"], "running")
        self.assertNotIn(self.record("endless_stopped")["status"], ("ok", "running"))
        self.assertIs(self.result("endless_stopped")["isError"], True)

    def test_progress_while_code_runs(self):
        self.assertEqual(self.value("slow"), "'slept'")
        ticks = [t["progress"] for t in self.story["slow"]["ticks"]]
        self.assertGreaterEqual(len(ticks), 2, "eleven seconds, a sign of life about every five")
        self.assertEqual(ticks, sorted(set(ticks)), "progress grows")

    def test_cancelled_call_ends_the_run(self):
        self.assertIn("error", self.story["cancelled"])
        self.assertEqual(self.value("after_cancel"), "5", "what was there before is still there")

    # Files.

    def test_new_file_is_linked_and_read(self):
        links = self.blocks("writes", "resource_link")
        self.assertEqual([(x["name"], x.get("mimeType")) for x in links], [("table.csv", "text/csv")])
        contents = self.result("resource")["contents"]
        self.assertEqual((contents[0]["uri"], contents[0]["text"]), (links[0]["uri"], "a,b\n1,2\n"))

    def test_resource_that_is_not_there(self):
        self.assertIn("error", self.story["no_resource"], self.story["no_resource"])
        self.assertIn(self.story["no_resource"]["error"]["code"], (-32002, -32602))

    def test_files_by_tools(self):
        self.assertFalse(self.result("write_file").get("isError", False), self.story["write_file"])
        self.assertIn("déjà vu", self.text("read_file"))
        self.assertIn("in.txt", self.text("list_files"))
        self.assertIn("table.csv", self.text("list_files"))

    def test_long_output_is_cut_in_the_middle(self):
        text = "".join(b["text"] for b in self.blocks("much", "text"))
        self.assertLessEqual(len(text), TEXT_MAX)
        self.assertIn("head", text)
        self.assertIn("tail", text)
        self.assertIn(self.record("much")["run"], text, "how to get the rest")

    # Sessions.

    def test_sessions_are_listed(self):
        for name in ("default", "other", "cancel", "long"):
            self.assertIn(name, self.text("sessions"))

    def test_undo(self):
        self.assertFalse(self.result("undo").get("isError", False), self.story["undo"])

    def test_branch_has_what_its_parent_had(self):
        self.assertFalse(self.result("branch").get("isError", False), self.story["branch"])
        self.assertEqual(self.value("in_branch"), "41")

    def test_reset_forgets(self):
        self.assertFalse(self.result("reset").get("isError", False), self.story["reset"])
        self.assert_refused("after_reset", "NameError")
        self.assertEqual(self.record("resets")["status"], "ok")

    # What is wrong with a call is said where it is read.

    def test_wrong_arguments_are_named(self):
        self.assert_refused("no_code", "code")
        self.assert_refused("wrong_type", "code")
        self.assert_refused("surplus", "colour")
        self.assert_refused("no_run", "r-none")

    def test_unknown_tool(self):
        self.assert_threw("no_tool", -32602)


for _kind in CLIENTS:
    for _transport in TRANSPORTS:
        _name = f"{_kind.capitalize()}Over{_transport.capitalize()}"
        globals()[_name] = type(_name, (Conversation, interop.Case),
                                {"kind": _kind, "transport": _transport, "__module__": __name__})


if __name__ == "__main__":
    interop.main()
