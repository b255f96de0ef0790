# SPDX-License-Identifier: Apache-2.0
"""Models over their wires: what is sent, what comes back, and what becomes of everything that goes wrong.

test/tool/wire.c asks; test/system/model_server.py answers.
"""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402
import model_server  # noqa: E402
from model_server import Answer, Server, error, lines, sse  # noqa: E402

IDENTITY = "user"
TOOL = boxes.find("tool-wire", *boxes.TOOLS)
KEY = "sk-test-5e11f00dcafe"
USER = [{"role": "user", "content": [{"type": "text", "text": "Question?"}]}]
BLOCK = "Thought.\n```python\nprint(1)\n```"
CODE = BLOCK + "\n"


def environment(**more):
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY")
    return harness.environment({**dict.fromkeys(names, KEY), **more})


class Said:
    """What the tool printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.events = [json.loads(line) for line in out.splitlines()]

    def all(self, name):
        return [e for e in self.events if name in e]

    @property
    def done(self):
        return self.all("done")[-1]

    @property
    def failed(self):
        return self.all("failed")[-1]

    def __repr__(self):
        return f"status {self.status}\n{self.out[-2000:]}\n{self.err[-1000:]}"


def command(spec, options):
    return [TOOL, spec, *(f"{k}={v}" for k, v in {"random": 7, **options}.items())]


def ask(spec, *questions, env=None, **options):
    text = "".join(json.dumps(q if isinstance(q, dict) else {"messages": q}) + "\n" for q in questions or [USER])
    done = subprocess.run(command(spec, options), input=text, capture_output=True, text=True, check=False,
                          env=environment(**(env or {})), cwd=harness.TMP, timeout=harness.TIMEOUT_S)
    return Said(done.returncode, done.stdout, done.stderr)


def start(spec, **options):
    process = subprocess.Popen(command(spec, options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=environment(), cwd=harness.TMP)
    process.stdin.write(json.dumps({"messages": USER}) + "\n")
    process.stdin.flush()
    return process


def chat(text, step=0, usage=True, **more):
    """An answer of Chat Completions, in pieces of 7 characters."""
    events = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}]
    events += [{"choices": [{"index": 0, "delta": {"content": text[i:i + 7]}}]} for i in range(0, len(text), 7)]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    if usage:
        events += [{"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}}]
    return sse(*events, "[DONE]", step=step, **more)


def responses(text, **more):
    item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 11, "output_tokens": 5}
    return sse(("response.created", {"type": "response.created"}),
               ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
               ("response.completed", {"type": "response.completed", "response": {"usage": usage}}), **more)


def anthropic(text, **more):
    block = {"type": "text", "text": ""}
    events = [{"type": "message_start", "message": {"usage": {"input_tokens": 11}}},
              {"type": "content_block_start", "index": 0, "content_block": block},
              {"type": "ping"},
              {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
              {"type": "message_stop"}]
    return sse(*((e["type"], e) for e in events), **more)


def ollama(text, **more):
    return lines({"message": {"role": "assistant", "content": text}, "done": False},
                 {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 5}, **more)


WIRES = {"openai": chat, "openai-responses": responses, "anthropic": anthropic, "ollama": ollama}
USAGE = {"input": 11, "output": 5, "cached": 0, "reasoning": 0}


class Wires(harness.Case):
    def test_a_question_goes_where_it_belongs_with_nothing_added(self):
        text = {"role": "user", "content": "Question?"}
        want = {
            "openai": ("/v1/chat/completions", {
                "model": "m", "messages": [text], "stream": True, "stream_options": {"include_usage": True}}),
            "openai-responses": ("/v1/responses", {
                "model": "m", "stream": True, "store": False, "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Question?"}]}]}),
            "anthropic": ("/v1/messages", {
                "model": "m", "max_tokens": 8192, "stream": True, "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Question?"}]}]}),
            "ollama": ("/api/chat", {"model": "m", "messages": [text], "stream": True}),
        }
        for name, answer in WIRES.items():
            with self.subTest(name), Server(answer("Hello \u20ac \U0001f600")) as server:
                said = ask(f"{name}:m@{server.url}")
                self.assertEqual(said.status, 0, said)
                self.assertEqual(said.done["done"], {"text": "Hello \u20ac \U0001f600", "stop": "end", "usage": USAGE})
                (asked,) = server.asked
                self.assertEqual((asked.path, asked.json()), want[name])
                self.assertEqual(asked.headers["Content-Type"], "application/json")
                keys = {"openai": ("Authorization", f"Bearer {KEY}"), "anthropic": ("x-api-key", KEY)}
                header, value = keys.get(name, keys["openai"])
                self.assertEqual(asked.headers[header], value)
                self.assertEqual(asked.headers["anthropic-version"], "2023-06-01" if name == "anthropic" else None)

    def test_images_tools_and_options_arrive(self):
        question = {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is it?"}, {"type": "image", "mime": "image/png", "data": "iVBORw0KGgo="}]}],
            "tools": [{"name": "run_code", "description": "Run.", "schema": {"type": "object"}}],
            "options": {"max_tokens": 77, "stop": ["Observation:"]}}
        for name, answer in WIRES.items():
            with self.subTest(name), Server(answer("A dot.")) as server:
                self.assertEqual(ask(f"{name}:m@{server.url}", question).status, 0)
                body = server.asked[0].body.decode()
                self.assertIn("iVBORw0KGgo=", body)
                self.assertIn("run_code", body)
                self.assertIn("77", body)
                # One wire has no such thing.
                self.assertEqual("Observation:" in body, name != "openai-responses")

    def test_a_byte_at_a_time_is_the_same(self):
        for name, answer in WIRES.items():
            with self.subTest(name), Server(answer("Hello \u20ac", step=1)) as server:
                said = ask(f"{name}:m@{server.url}")
                self.assertEqual(said.done["done"], {"text": "Hello \u20ac", "stop": "end", "usage": USAGE})

    def test_one_connection_serves_many_questions(self):
        with Server(chat("a"), chat("b"), chat("c")) as server:
            said = ask(f"openai:m@{server.url}", USER, USER, USER)
            self.assertEqual([e["done"]["text"] for e in said.all("done")], ["a", "b", "c"])
            self.assertEqual(len(server.connections), 1)

    def test_variables_of_the_environment(self):
        with Server(chat("a")) as server:
            said = ask("openai:m", env={
                "OPENAI_BASE_URL": server.url + "/v1/", "OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1",
                "OPENAI_CUSTOM_HEADERS": "X-Team: blue\n\nnonsense\nX-Other:two"})
            self.assertEqual(said.status, 0, said)
            headers = server.asked[0].headers
            self.assertEqual([headers[n] for n in ("OpenAI-Organization", "OpenAI-Project", "X-Team", "X-Other")],
                             ["org-1", "proj-1", "blue", "two"])

    def test_request_ids_are_kept(self):
        with Server(chat("a", headers={"x-request-id": "req-7"})) as server:
            self.assertEqual(ask(f"openai:m@{server.url}").done["request_id"], "req-7")
        with Server(error(400, {"error": {"message": "m"}}, request_id="req-8")) as server:
            self.assertEqual(ask(f"anthropic:m@{server.url}").failed["request_id"], "req-8")

    def test_libcurl_is_not_loaded_by_retort(self):
        done = subprocess.run([harness.RETORT, "version"], capture_output=True, text=True, check=False,
                              env=harness.environment({"LD_TRACE_LOADED_OBJECTS": "1"}))
        self.assertIn("libc.so", done.stdout)
        self.assertNotIn("libcurl", done.stdout)

    def test_without_libcurl_it_says_so(self):
        where = harness.make_dir()
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            with open(os.path.join(where, name), "w", encoding="utf-8"):
                pass
        said = ask("openai:m@http://127.0.0.1:1", env={"LD_LIBRARY_PATH": where})
        self.assertEqual(said.status, 2)
        self.assertIn("not_found: libcurl.so.4 is not on this host", said.err)
        self.assertIn("install libcurl", said.err)


class Failures(harness.Case):
    def failing(self, *answers, spec="openai", **options):
        with Server(*answers) as server:
            said = ask(f"{spec}:m@{server.url}", **options)
            return said, server

    def test_what_does_not_pass_is_asked_once(self):
        rows = [
            (400, {"error": {"message": "bad"}}, "request", "usage"),
            (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, "auth", "auth"),
            (402, {"error": {"message": "pay"}}, "billing", "auth"),
            (403, {"error": {"message": "no"}}, "permission", "auth"),
            (404, {"error": "model 'm' not found"}, "model", "not_found"),
            (413, {"error": {"type": "request_too_large", "message": "big"}}, "size", "limit"),
            (422, {"detail": "field"}, "request", "usage"),
            (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "billing", "auth"),
            (400, {"error": {"message": "m", "code": "context_length_exceeded"}}, "context", "limit"),
            (400, {"error": {"type": "exceed_context_size_error", "message": "m", "n_ctx": 512}}, "context", "limit"),
        ]
        for status, body, name, code in rows:
            with self.subTest(status=status, name=name):
                said, server = self.failing(error(status, body))
                self.assertEqual((said.failed["failed"], said.failed["code"]), (name, code))
                self.assertEqual(len(server.asked), 1)
                self.assertEqual(said.all("wait"), [])
                self.assertTrue(said.failed["message"].startswith("openai:m: "), said)
        self.assertEqual(said.failed["context_tokens"], 512)

    def test_what_passes_is_asked_again(self):
        for status in (408, 409, 429, 500, 502, 503, 529):
            with self.subTest(status=status):
                said, server = self.failing(error(status, {}, retry_after_ms="1"), chat("there"))
                self.assertEqual(said.done["done"]["text"], "there")
                self.assertEqual(len(server.asked), 2)
                self.assertEqual(server.asked[0].body, server.asked[1].body)

    def test_tries_come_to_an_end(self):
        said, server = self.failing(error(500, {"error": {"message": "sorry"}}, retry_after_ms="1"))
        self.assertEqual(len(server.asked), 5)
        self.assertEqual((said.failed["failed"], said.failed["code"]), ("server", "unreachable"))
        said, server = self.failing(error(500, {}, retry_after_ms="1"), tries=2)
        self.assertEqual(len(server.asked), 3)
        said, server = self.failing(error(500, {}, retry_after_ms="1"), tries=0)
        self.assertEqual(len(server.asked), 1)

    def test_the_server_decides_when_it_says_so(self):
        said, server = self.failing(error(500, {}, x_should_retry="false"), chat("a"))
        self.assertEqual((said.failed["failed"], len(server.asked)), ("server", 1))
        said, server = self.failing(error(400, {}, x_should_retry="true", retry_after_ms="1"), chat("a"))
        self.assertEqual((said.done["done"]["text"], len(server.asked)), ("a", 2))
        said, server = self.failing(error(429, {}, retry_after="0.02"), chat("a"))
        self.assertEqual(said.all("wait")[0]["wait"], 20)
        # Longer than anybody waits: said at once, not slept through.
        said, server = self.failing(error(429, {"error": {"message": "later"}}, retry_after="3600"), chat("a"))
        self.assertEqual((said.failed["failed"], len(server.asked)), ("rate", 1))

    def test_waits_are_reproducible_and_jittered(self):
        def waits(seed):
            said, _ = self.failing(error(500, {}), chat("a"), random=seed)
            return [e["wait"] for e in said.all("wait")]

        first = waits(7)
        self.assertEqual(first, waits(7))
        self.assertTrue(375 <= first[0] <= 500, first)
        self.assertGreater(len({waits(seed)[0] for seed in range(1, 5)}), 1)

    def test_a_loading_model_is_waited_for(self):
        loading = error(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
                        retry_after_ms="1")
        said, server = self.failing(*[loading] * 9, chat("awake"))
        self.assertEqual((said.done["done"]["text"], len(server.asked)), ("awake", 10))

    def test_errors_inside_the_stream(self):
        inside = {
            "openai": sse({"error": {"message": "broke", "type": "server_error"}}),
            "openai-responses": sse(("response.failed", {"type": "response.failed", "response": {
                "error": {"code": "server_error", "message": "broke"}}})),
            "anthropic": sse(("error", {"type": "error", "error": {"type": "overloaded_error", "message": "broke"}})),
            "ollama": lines({"error": "broke"}),
        }
        for name, answer in inside.items():
            with self.subTest(name):
                said, server = self.failing(answer, spec=name, tries=0)
                self.assertIn(said.failed["failed"], ("server", "overloaded"))
                self.assertIn("broke", said.failed["message"])

    def test_a_stream_that_breaks_is_asked_again_only_before_it_was_shown(self):
        whole = chat("Hello there, you")
        head = Answer(whole.body[:20], end="cut")
        said, server = self.failing(head, whole)
        self.assertEqual((said.done["done"]["text"], len(server.asked)), ("Hello there, you", 2))
        half = Answer(whole.body[:whole.body.index(b"here, y") + 40], end="cut")
        said, server = self.failing(half, whole)
        self.assertEqual((said.failed["failed"], len(server.asked)), ("stream", 1))
        self.assertTrue("Hello there, you".startswith(said.failed["reply"]["text"]))
        self.assertTrue(said.failed["reply"]["text"])
        # Somebody who can start over may.
        said, server = self.failing(half, whole, restart=1)
        self.assertEqual((said.done["done"]["text"], len(server.asked)), ("Hello there, you", 2))
        self.assertEqual(said.all("restart"), [{"restart": "stream"}])

    def test_every_place_to_break_off_is_a_failure_or_the_answer(self):
        for name, answer in WIRES.items():
            whole = answer("Hello")
            for cut in range(0, len(whole.body), max(len(whole.body) // 8, 1)):
                with self.subTest(name, cut=cut):
                    part = Answer(whole.body[:cut], end="cut", headers=whole.headers)
                    said, _ = self.failing(part, spec=name, tries=0)
                    if said.all("done"):
                        self.assertEqual(said.done["done"]["text"], "Hello")
                    else:
                        self.assertIn(said.failed["failed"], ("stream", "connection"))

    def test_what_is_no_stream(self):
        rows = [
            (Answer(b"<html>a portal</html>", content_type="text/html"), "stream"),
            (Answer(b'{"choices": []}', content_type="application/json"), "stream"),
            (Answer(b'{"error": {"message": "odd", "type": "server_error"}}', content_type="application/json"), "server"),
            (Answer(b"data: {\"choices\": [\n\n"), "stream"),
            (Answer(b""), "stream"),
            (Answer(b"", 204), "stream"),
            (Answer(b"\x00\xff\xfe" * 100), "stream"),
        ]
        for answer, name in rows:
            with self.subTest(body=answer.body[:30]):
                said, _ = self.failing(answer, tries=0)
                self.assertEqual(said.failed["failed"], name)

    def test_nobody_is_there(self):
        with Server(chat("a")) as server:
            url = server.url
        said = ask(f"openai:m@{url}")
        self.assertEqual((said.failed["failed"], said.failed["code"]), ("connection", "unreachable"))
        self.assertIn(url[7:], said.failed["message"])
        self.assertEqual(said.all("wait"), [])  # on this host nobody is on the way

    def test_silence_ends_at_a_limit(self):
        hang = Answer(b": wait\n\n", end="hang")
        said, _ = self.failing(hang, idle_ms=300, tries=0)
        self.assertEqual(said.failed["failed"], "timeout")
        self.assertIn("not a byte", said.failed["message"])
        said, _ = self.failing(hang, whole_ms=300, tries=0)
        self.assertEqual(said.failed["failed"], "timeout")
        # Comments keep a connection alive, as long as they come.
        slow = chat("ok")
        said, _ = self.failing(Answer(b": wait\n\n" * 300 + slow.body, step=8), idle_ms=2000, tries=0)
        self.assertEqual(said.done["done"]["text"], "ok")

    def test_headers_cannot_be_smuggled(self):
        with Server(chat("a")) as server:
            said = ask(f"openai:m@{server.url}", env={"OPENAI_CUSTOM_HEADERS": "Bad Name: x"})
            self.assertEqual(said.failed["failed"], "request")
            self.assertEqual(server.asked, [])

    def test_a_url_with_a_password_is_refused_without_showing_it(self):
        said = ask(f"openai:m@http://user:{KEY}@127.0.0.1:1/v1")
        self.assertNotIn(KEY, said.out + said.err)
        self.assertIn("password", said.out + said.err)


class Stopping(harness.Case):
    def test_the_end_of_the_first_block_ends_the_call(self):
        for name, answer in WIRES.items():
            full = answer(CODE + "Output: 1\n```python\nmore()\n```\n")
            hang = Answer(full.body[:full.body.index(b"more")], end="hang", headers=full.headers)
            if name == "openai-responses":
                delta = {"type": "response.output_text.delta", "output_index": 0, "delta": CODE + "Output"}
                hang = sse(("response.output_text.delta", delta), end="hang")
            elif name != "openai":
                hang = Answer(full.body[:full.body.index(b"\n", full.body.index(b"more")) + 2], end="hang",
                              headers=full.headers)
            with self.subTest(name), Server(hang) as server:
                said = ask(f"{name}:m@{server.url}", fence=1)
                self.assertEqual((said.done["done"]["text"].rstrip("\n"), said.done["done"]["stop"]), (BLOCK, "stopped"))
                self.assertTrue(said.done["done"]["usage"]["estimated"])
                self.assertGreater(said.done["done"]["usage"]["output"], 0)
                self.assertTrue(server.gone.wait(30), "the server was not hung up on")

    def test_a_call_that_is_cancelled_says_nothing_more(self):
        with Server(Answer(chat("Hello there, you").body[:500], end="hang")) as server:
            said = ask(f"openai:m@{server.url}", cancel_after=1)
            self.assertEqual(said.status, 0, said)
            self.assertEqual([list(e)[0] for e in said.events], ["delta", "delta", "cancelled"])
            self.assertTrue(server.gone.wait(30))


class Secrets(harness.Case):
    def test_a_key_file(self):
        path = os.path.join(harness.make_dir(), "key")
        with open(path, "w", encoding="utf-8") as f:
            f.write("sk-from-file\n")
        os.chmod(path, 0o600)
        with Server(chat("a")) as server:
            self.assertEqual(ask(f"openai:m@{server.url}", key_file=path).status, 0)
            self.assertEqual(server.asked[0].headers["Authorization"], "Bearer sk-from-file")
            os.chmod(path, 0o644)
            said = ask(f"openai:m@{server.url}", key_file=path)
            self.assertEqual(said.status, 2)
            self.assertIn("access: ", said.err)
            self.assertIn("chmod 600", said.err)
            self.assertNotIn("sk-from-file", said.err)

    def test_no_key_no_connection(self):
        said = ask("openai:m", env={"OPENAI_API_KEY": ""})
        self.assertEqual(said.status, 3)
        self.assertIn("OPENAI_API_KEY", said.err)
        said = ask("openai:m@http://example.invalid/v1")
        self.assertEqual(said.status, 126)
        self.assertIn("in the clear", said.err)

    def test_a_server_by_its_address_gets_no_other_key(self):
        with Server(chat("a")) as server:
            self.assertEqual(ask(f"{server.url}/v1#local").status, 0)
            self.assertIsNone(server.asked[0].headers["Authorization"])
            self.assertEqual(server.asked[0].json()["model"], "local")
            self.assertEqual(ask(f"{server.url}/v1#local", env={"RETORT_MODEL_KEY": "sk-own"}).status, 0)
            self.assertEqual(server.asked[1].headers["Authorization"], "Bearer sk-own")


class Network(harness.Case):
    def certificate(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate with")
        where = harness.make_dir()
        argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run(argv, cwd=where, check=True, stderr=subprocess.DEVNULL)
        return os.path.join(where, "cert.pem"), os.path.join(where, "key.pem")

    def test_certificates_are_verified(self):
        cert, key = self.certificate()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with Server(chat("secret")) as server:
            server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
            url = f"https://localhost:{server.port}"
            said = ask(f"openai:m@{url}")
            self.assertEqual(said.failed["failed"], "untrusted")
            self.assertIn("SSL_CERT_FILE", said.failed["hint"])
            self.assertEqual(server.asked, [])
            said = ask(f"openai:m@{url}", env={"SSL_CERT_FILE": cert})
            self.assertEqual(said.done["done"]["text"], "secret")
            # The name counts as well.
            said = ask(f"openai:m@https://127.0.0.1:{server.port}", env={"SSL_CERT_FILE": cert}, tries=0)
            self.assertEqual(said.failed["failed"], "untrusted")

    def test_proxies_of_the_environment(self):
        with Server(chat("by proxy")) as proxy, Server(chat("straight")) as server:
            spec = f"http://127.0.0.1:{server.port}/v1#m"
            said = ask(spec, env={"http_proxy": proxy.url})
            self.assertEqual(said.done["done"]["text"], "by proxy")
            self.assertEqual(proxy.asked[0].path, f"{server.url}/v1/chat/completions")
            said = ask(spec, env={"http_proxy": proxy.url, "NO_PROXY": "127.0.0.1"})
            self.assertEqual(said.done["done"]["text"], "straight")


class Programs(harness.Case):
    def test_a_program_is_a_model(self):
        question = {"messages": [{"role": "system", "content": [{"type": "text", "text": "S"}]}, *USER],
                    "options": {"max_tokens": 5}}
        said = ask("exec:cat", question)
        self.assertEqual(said.status, 0, said)
        self.assertEqual(json.loads(said.done["done"]["text"]), question)
        self.assertTrue(said.done["done"]["text"].endswith("\n"))
        self.assertTrue(said.done["done"]["usage"]["estimated"])

    def test_characters_that_come_in_halves(self):
        said = ask(r"exec:cat >/dev/null; for b in 342 202 254 360 237 230 200 377 303; do printf \\$b; sleep 0.02; done")
        self.assertEqual(said.done["done"]["text"], "\u20ac\U0001f600\ufffd\ufffd")
        for delta in said.all("delta"):
            self.assertNotEqual(delta["text"], "")

    def test_programs_that_fail(self):
        rows = [("exec:echo half; echo first >&2; echo why >&2; exit 3", "exit status 3: why"),
                ("exec:/no/such/program", "exit status 127"),
                ("exec:kill -9 $$", "signal 9")]
        for spec, message in rows:
            with self.subTest(spec):
                said = ask(spec)
                self.assertEqual((said.failed["failed"], said.all("wait")), ("program", []))
                self.assertIn(message, said.failed["message"])

    def test_one_that_does_not_read_or_says_nothing(self):
        big = [{"role": "user", "content": [{"type": "text", "text": "x" * (4 << 20)}]}]
        self.assertEqual(ask("exec:echo hi", big).done["done"]["text"], "hi\n")
        self.assertEqual(ask("exec:true").done["done"].get("text"), None)

    def test_it_ends_with_the_call(self):
        path = os.path.join(harness.make_dir(), "pids")
        spec = f"exec:echo $$ >{path}; sleep 300 & echo $! >>{path}; echo started; wait"
        for options in ({"cancel_after": 0}, {"whole_ms": 500}):
            with self.subTest(options):
                said = ask(spec, **options)
                self.assertTrue(said.all("cancelled") or "not done after" in said.failed["message"], said)
                with open(path, encoding="utf-8") as f:
                    pids = f.read().split()
                self.assertEqual(len(pids), 2)
                end = time.monotonic() + 30
                while any(self.lives(pid) for pid in pids):
                    self.assertLess(time.monotonic(), end, pids)
                    time.sleep(0.02)

    @staticmethod
    def lives(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                return f.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def test_what_it_leaves_behind_is_not_waited_for(self):
        said = ask("exec:echo done; setsid sleep 40 & exit 0")
        self.assertEqual(said.done["done"]["text"], "done\n")

    def test_its_first_block_is_enough(self):
        said = ask(f"exec:printf '{CODE}'; sleep 300", fence=1)
        self.assertEqual((said.done["done"]["text"].rstrip("\n"), said.done["done"]["stop"]), (BLOCK, "stopped"))

    def test_a_flood_ends_at_a_limit(self):
        said = ask("exec:yes")
        self.assertEqual(said.failed["failed"], "ours")


class Recordings(harness.Case):
    def recording(self, *entries):
        path = os.path.join(harness.make_dir(), "r.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(json.dumps(e) + "\n" for e in entries))
        return f"replay:{path}"

    def test_answers_come_in_turn(self):
        spec = self.recording({"expect": ["Question"], "reply": {"text": "one"}},
                              {"failure": {"class": "rate", "wait_ms": 1}},
                              {"chunk": 1, "reply": {"text": CODE + "more"}})
        said = ask(spec, USER, USER, fence=1)
        self.assertEqual([e["done"]["text"].rstrip("\n") for e in said.all("done")], ["one", BLOCK])
        self.assertEqual(len(said.all("wait")), 1)
        self.assertEqual(len(said.all("delta")), 1 + len(said.done["done"]["text"]))

    def test_the_one_in_the_manual(self):
        path = os.path.join(os.environ.get("RETORT_SOURCE", harness.ROOT), "docs", "use", "models.md")
        if not os.access(path, os.R_OK):
            self.skipTest("the source tree cannot be read")
        with open(path, encoding="utf-8") as f:
            example = f.read().rpartition("```json\n")[2].partition("\n```")[0]
        entries = [json.loads(line) for line in example.splitlines()]
        self.assertEqual(len(entries), 3)
        questions = [[{"role": "user", "content": [{"type": "text", "text": t}]}]
                     for t in ("interest", "ZeroDivisionError", "ZeroDivisionError")]
        said = ask(self.recording(*entries), *questions)
        self.assertEqual([e["done"]["text"] for e in said.all("done")],
                         ["```python\nfinal_answer(42)\n```", "I give up.", "I give up."])

    def test_another_question_is_a_failure(self):
        said = ask(self.recording({"expect": ["sesame"], "reply": {"text": "open"}}))
        self.assertEqual(said.failed["failed"], "replay")
        self.assertIn("line 1 expects 'sesame'", said.failed["message"])
        said = ask(self.recording({"reply": {"text": "one"}}), USER, USER)
        self.assertIn("used up", said.failed["message"])

    def test_what_is_no_recording(self):
        self.assertIn("not_found", ask("replay:/no/such/file").err)
        self.assertIn("line 1", ask(self.recording({"reply": 1})).err)


class Interrupted(harness.Case):
    def test_nothing_is_left_of_one_that_is_killed(self):
        with Server(Answer(chat("Hello there, you").body[:500], end="hang")) as server:
            process = start(f"openai:m@{server.url}")
            self.assertIn("delta", process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.assertTrue(server.gone.wait(30))


if __name__ == "__main__":
    harness.main()
