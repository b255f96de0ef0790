#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A model that says what a script says: enough of two providers' interfaces for real agents to use it.

usage: model.py SCRIPT.json ASKED_DIR

SCRIPT is a list of turns: {"text": …} or {"tool": "run_code", "server": "retort", "input": {…}}. The
k-th request for an answer gets the k-th turn, the last turn for all that come after. Each such request
is written to ASKED_DIR/K.json as it came. Listens on a port of 127.0.0.1, which is printed.

Anthropic Messages: POST /v1/messages. OpenAI Responses: POST /v1/responses. Streams only. Requests
that offer no tools (titles, summaries) are answered with a word and count for nothing.
"""

import http.server
import json
import os
import sys


class Script:
    def __init__(self, path, asked):
        with open(path, encoding="utf-8") as f:
            self.turns = json.load(f)
        self.asked, self.n = asked, 0

    def next(self, body):
        if not body.get("tools"):
            return {"text": "orders"}, -1
        k, self.n = self.n, self.n + 1
        with open(os.path.join(self.asked, f"{k}.json"), "w", encoding="utf-8") as f:
            json.dump(body, f, ensure_ascii=False)
        return self.turns[min(k, len(self.turns) - 1)], k


def messages(turn, k):
    """Events of Anthropic's interface. A tool of a server is named mcp__SERVER__TOOL."""
    if "tool" in turn:
        name = f"mcp__{turn['server']}__{turn['tool']}"
        block = {"type": "tool_use", "id": f"toolu_{k:04}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn["input"])}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": turn["text"]}
    message = {"id": f"msg_{k:04}", "type": "message", "role": "assistant", "content": [], "model": "scripted",
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 0}}
    stop = "tool_use" if "tool" in turn else "end_turn"
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
         "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def responses(turn, k):
    """Events of OpenAI's interface. A tool of a server is in a namespace mcp__SERVER."""
    if "tool" in turn:
        item = {"type": "function_call", "id": f"fc_{k:04}", "call_id": f"call_{k:04}", "status": "completed",
                "name": turn["tool"], "namespace": f"mcp__{turn['server']}",
                "arguments": json.dumps(turn["input"])}
    else:
        item = {"type": "message", "id": f"msg_{k:04}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": turn["text"], "annotations": []}]}
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    about = {"id": f"resp_{k:04}", "object": "response"}
    return [
        {"type": "response.created", "response": {**about, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**about, "status": "completed", "output": [item],
                                                    "usage": usage}},
    ]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script = None

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404, "application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.answer(200, "application/json", b'{"input_tokens": 1}')
        speak = {"/v1/messages": messages, "/v1/responses": responses}.get(path)
        if not speak:
            return self.answer(404, "application/json", b"{}")
        events = speak(*self.script.next(body))
        text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        return self.answer(200, "text/event-stream", text.encode())


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Agents hang up as they like."""


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    Handler.script = Script(*sys.argv[1:])
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
