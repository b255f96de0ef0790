#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the client scenarios of the conformance suite run: `retort tools` against the server of one.

usage: tool_client.py URL    with MCP_CONFORMANCE_SCENARIO, _PROTOCOL_VERSION and _CONTEXT in the environment
"""

import json
import os
import subprocess
import sys
import tempfile

MODERN = "2026-07-28"


def calls(tools):
    """(name, arguments) of what to call: what the scenario says, else all there is with what each asks for."""
    wanted = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    if wanted:
        # What is null is left out: the schemas of the scenario do not allow it.
        return [("s." + one["name"], {n: v for n, v in one["arguments"].items() if v is not None})
                for one in wanted]
    values = {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}
    return [(tool["name"], {n: s.get("default", values.get(s.get("type"), "hello"))
                            for n, s in tool["input_schema"].get("properties", {}).items()}) for tool in tools]


def main():
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    server = {"url": sys.argv[1], "protocol": "modern" if revision == MODERN else "legacy", "timeout": 20000}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as f:
        json.dump({"mcpServers": {"s": server}}, f)
        f.flush()
        tools = [os.environ["RETORT"], "tools"]
        listed = subprocess.run([*tools, "list", "--json", "--mcp-config", f.name], stdout=subprocess.PIPE, check=False)
        status = listed.returncode
        if status == 0 and "json-schema-ref" not in scenario:
            for name, arguments in calls(json.loads(listed.stdout)["tools"]):
                done = subprocess.run([*tools, "call", "--yes", "--mcp-config", f.name, name, json.dumps(arguments)],
                                      check=False)
                status = status or (0 if done.returncode == 5 else done.returncode)
        return status


if __name__ == "__main__":
    sys.exit(main())
