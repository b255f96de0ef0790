// One conversation with an MCP server through the SDK's client, told as JSON on stdout.
// SPDX-License-Identifier: Apache-2.0
//
// usage: node client.mjs v1|legacy|auto|modern http URL
//        node client.mjs v1|legacy|auto|modern stdio COMMAND ARGS…
//
// v1 is @modelcontextprotocol/sdk; the others are @modelcontextprotocol/client in that mode. What is
// right is not judged here: test_clients.py does.

const [kind, transport, ...target] = process.argv.slice(2);
const CALL_TIMEOUT_MS = 60_000;
const about = { name: "retort-interop", version: "1" };
const errors = [];

async function makeV1() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client(about);
  return { client, StdioClientTransport, StreamableHTTPClientTransport,
    call: (params, options) => client.callTool(params, undefined, options) };
}

async function makeV2() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = kind === "modern" ? { pin: "2026-07-28" } : kind;
  const client = new Client(about, { versionNegotiation: { mode } });
  return { client, StdioClientTransport, StreamableHTTPClientTransport,
    call: (params, options) => client.callTool(params, options) };
}

const made = kind === "v1" ? await makeV1() : await makeV2();
const { client } = made;
client.onerror = (e) => errors.push(String(e?.message ?? e));
const started = performance.now();
await client.connect(transport === "http"
  ? new made.StreamableHTTPClientTransport(new URL(target[0]))
  : new made.StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env }));

const story = {
  connected: {
    ms: performance.now() - started,
    era: client.getProtocolEra?.() ?? "legacy",
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  },
  errors,
};

async function tell(name, fn) {
  try {
    story[name] = { result: await fn() };
  } catch (e) {
    story[name] = { error: { name: e.constructor.name, code: e.code, message: e.message, data: e.data } };
  }
  return story[name].result;
}

const call = (name, args, options = {}) =>
  made.call({ name, arguments: args }, { timeout: CALL_TIMEOUT_MS, ...options });
const run = (name, code, more = {}, options) => tell(name, () => call("run_code", { code, ...more }, options));
const record = (result) => result?._meta?.["retort/result"] ?? {};

await tell("tools", () => client.listTools());

// Runs beside all that follows, in a session of its own; its answer comes after theirs.
const ticks = [];
const slow = run("slow", "import time\ntime.sleep(11)\n'slept'", { session: "slow" },
  { onprogress: (p) => ticks.push(p), resetTimeoutOnProgress: true });

await run("assign", "x = 41");
await run("use", "print('to stdout')\nx + 1");
await run("other_session", "'x' in globals()", { session: "other" });
await run("javascript", "const y = [1, 2, 3]; y.length", { runtime: "javascript", session: "js" });
await run("plot", "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('squares')\nplt.show()");
await run("raises", "1 / 0");
await run("times_out", "while True: pass", { timeout_ms: 300 });
await run("after_time_out", "x");

const running = await run("long", "import time\nprint('begun', flush=True)\ntime.sleep(2)\n'late'",
  { session: "long", wait_ms: 100 });
const runId = record(running).run;
await tell("long_wait", () => call("run_wait", { run_id: runId, wait_ms: 20000 }));
await tell("long_output", () => call("read_output", { run_id: runId, stream: "stdout" }));
const endless = await run("endless", "while True: pass", { session: "long", wait_ms: 100 });
await tell("endless_stopped",
  () => call("run_wait", { run_id: record(endless).run, action: "interrupt", wait_ms: 20000 }));

await run("kept", "kept = 5", { session: "cancel" });
const abort = new AbortController();
setTimeout(() => abort.abort("enough"), 500);
await run("cancelled", "while True: pass", { session: "cancel", timeout_ms: 50000 }, { signal: abort.signal });
await run("after_cancel", "kept", { session: "cancel" });

const wrote = await run("writes", "with open('table.csv', 'w') as f: f.write('a,b\\n1,2\\n')");
const link = wrote?.content?.find((block) => block.type === "resource_link");
await tell("resource", () => client.readResource({ uri: link.uri }));
await tell("no_resource", () => client.readResource({ uri: link.uri.replace("table.csv", "none.csv") }));
await tell("write_file", () => call("write_file", { path: "in.txt", content: "déjà vu\n" }));
await tell("read_file", () => call("read_file", { path: "in.txt" }));
await tell("list_files", () => call("list_files", {}));

await run("much", "print('head'); print('x' * 50000); print('tail')");
await tell("sessions", () => call("sessions", { action: "list" }));
await tell("undo", () => call("sessions", { action: "undo", session: "cancel" }));
await tell("branch", () => call("sessions", { action: "branch", session: "default", name: "twig" }));
await run("in_branch", "x", { session: "twig" });
await tell("reset", () => call("sessions", { action: "reset", session: "default" }));
await run("after_reset", "x");
await run("resets", "x = 1", { reset: true });

await tell("no_code", () => call("run_code", {}));
await tell("wrong_type", () => call("run_code", { code: 7 }));
await tell("surplus", () => call("run_code", { code: "1", colour: "red" }));
await tell("no_tool", () => call("no_such_tool", {}));
await tell("no_run", () => call("run_wait", { run_id: "r-none" }));

await slow;
story.slow.ticks = ticks;
story.errors = errors;
await client.close();
process.stdout.write(JSON.stringify(story), () => process.exit(0));
