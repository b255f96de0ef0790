# SPDX-License-Identifier: Apache-2.0
"""One table of operations: documents, help and schemas say the same, and live answers keep to it."""

import json
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import harness  # noqa: E402
import registry_fake  # noqa: E402
import service  # noqa: E402

IDENTITY = "user"
SOURCE = os.environ.get("RETORT_SOURCE", harness.ROOT)
NEEDS_SOURCE = unittest.skipUnless(
    os.access(os.path.join(SOURCE, "docs/reference/api.md"), os.R_OK), "the sources are not readable for this user")

# What the contract promises.
PROMISED = """session.create session.list session.get session.branch session.undo session.close
step.run step.interrupt step.get session.log file.read file.write file.list file.remove agent.run
template.create template.list plan.check plan.run tool.list tool.call engine.info engine.doctor""".split()

# Subcommands of `retort session` and what they call; the summary where it cannot be the same.
COMMANDS = {
    "new": ("session.create", None),
    "ls": ("session.list", None),
    "exec": ("step.run", None),
    "branch": ("session.branch", None),
    "undo": ("session.undo", None),
    "log": ("session.log", None),
    "export": ("session.export", None),
    "rm": ("session.close", "End sessions"),
    "prune": ("session.prune", None),
    "net": ("session.net", None),
}

# Options that say it in other units, or take files where the operation takes texts.
OTHERWISE = {
    "new": {"runtime", "env", "preload", "seed", "time", "fresh", "workspace", "rootfs", "timeout", "cpu_time"},
    "exec": {"code", "stdin"},
}
UNITS = {"timeout": "timeout_ms"}

IDS = re.compile(r"^(s-[a-z2-7]{10}|r-[a-z2-7]{26}|[0-9a-f]{64})$")


def table():
    done = harness.retort("help", "--api")
    assert done.status == 0, done.err
    return {op["name"]: op for op in json.loads(done.out)["operations"]}


def kinds_of(value):
    """How JSON Schema may call a value."""
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    return {{float: "number", str: "string", list: "array", dict: "object"}[type(value)]}


def mismatches(schema, value, path="result"):
    """What in @value is not as @schema says. Of JSON Schema, what the table uses."""
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not kinds_of(value) & set(types):
            yield f"{path}: {value!r} is no {types}"
            return
    if "enum" in schema and value is not None and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from mismatches(schema.get("items", {}), item, f"{path}[{i}]")
    if not isinstance(value, dict):
        return
    rows = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}.{name}: missing"
    for name, member in value.items():
        if name in rows:
            yield from mismatches(rows[name], member, f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}.{name}: not in the schema"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from mismatches(schema["additionalProperties"], member, f"{path}.{name}")


def shows(want, got):
    """Is @want, of an example, a part of what came?"""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and shows(v, got[k]) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and all(any(shows(v, g) for g in got) for v in want) and bool(want or not got)
    if isinstance(want, str) and IDS.match(want):
        return isinstance(got, str) and want[:2] == got[:2] and bool(IDS.match(got))
    if isinstance(want, str) and want.endswith("…"):
        return isinstance(got, str) and got.startswith(want[:-1])
    return want == got and kinds_of(want) == kinds_of(got)


class Table(harness.Case):
    """No engine is needed for these."""

    def test_every_promised_operation_is_there(self):
        self.assertEqual(set(PROMISED) - set(table()), set())

    @NEEDS_SOURCE
    def test_the_document_is_made_of_the_table(self):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(SOURCE, "dev/gen_api.py"), "--check"],
            env={**os.environ, "RETORT": harness.RETORT}, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_schemas_are_strict_and_described(self):
        for name, op in table().items():
            for schema in (op["params"], op["result"]):
                self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False), name)
                self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]), name)
            for path, row in op["params"]["properties"].items():
                self.assertIsInstance(row["type"], str, f"{name} {path}: one type")
                self.assertTrue(row["description"], f"{name} {path}")
                if "enum" in row and "default" in row:
                    self.assertIn(row["default"], row["enum"])
                if "default" in row:
                    self.assertEqual(list(mismatches(row, row["default"])), [], f"{name} {path}")

    @NEEDS_SOURCE
    def test_labels_and_errors_are_of_their_tables(self):
        with open(os.path.join(SOURCE, "docs/reference/errors.md"), encoding="utf-8") as f:
            words = set(re.findall(r"^\| `(\w+)` \|", f.read(), re.M))
        for name, op in table().items():
            self.assertLessEqual(set(op["errors"]), words, name)
            self.assertEqual(len(op["errors"]), len(set(op["errors"])), name)
            self.assertIn(op["label"], {"engine", "caller", "program"})

    def test_what_programs_wrote_is_labelled(self):
        """What can hold output, values or files of a box is never called anything else."""
        ops = table()
        for name in ("step.run", "step.get", "step.output", "file.read", "file.list", "session.export", "plan.run",
                     "tool.list", "tool.call", "process.get", "process.wait", "process.list", "process.read",
                     "process.attach", "path.stat", "path.list", "path.read", "path.watch"):
            self.assertEqual(ops[name]["label"], "program", name)

    def test_examples_fit_their_schemas(self):
        for name, op in table().items():
            self.assertEqual(list(mismatches(op["params"], op["example"])), [], name)
            partly = {**op["result"], "required": []}
            for path, row in partly["properties"].items():
                partly["properties"][path] = {**row, "items": {}} if "items" in row else row
            self.assertEqual(
                [m for m in mismatches(partly, op["answer"]) if not m.endswith("missing")], [], name)


class Help(harness.Case):
    def options_of(self, command):
        """{option: help} of `retort session COMMAND --help`."""
        text = harness.retort("session", command, "--help", env={"COLUMNS": "100"}).out
        found, name = {}, None
        for line in text.splitlines():
            match = re.match(r"^  (?:-\w, |    )?--([a-z-]+)(?: \S+)?(?:  +(.*))?$", line)
            if match:
                name = match[1]
                found[name] = match[2] or ""
            elif name and re.match(r"^ {10,}\S", line):
                found[name] += " " + line.strip()
            else:
                name = None
        return {name: help_.strip() for name, help_ in found.items()}, text

    def test_commands_say_what_the_table_says(self):
        ops = table()
        n_compared = 0
        for command, (name, summary) in COMMANDS.items():
            options, text = self.options_of(command)
            self.assertIn(summary or ops[name]["summary"], text, command)
            rows = dict(ops[name]["params"]["properties"])
            rows.update(rows.get("limits", {}).get("properties", {}))
            for option, help_ in options.items():
                key = option.replace("-", "_")
                row = rows.get(UNITS.get(key, key))
                if row is None or key in OTHERWISE.get(command, ()):
                    continue
                self.assertTrue(help_.startswith(row["description"]), f"{command} --{option}: {help_}")
                n_compared += 1
        self.assertGreater(n_compared, 8)

    def test_every_subcommand_is_compared(self):
        text = harness.retort("session", "--help").out
        listed = set(re.findall(r"^  ([a-z]+) {2,}\S", text, re.M))
        self.assertEqual(listed - {"files"}, set(COMMANDS))


class Live(harness.Case):
    """Every operation is called, by its example and in other ways, and its answers are checked."""

    @classmethod
    def setUpClass(cls):
        model = os.path.join(harness.make_dir(), "model.jsonl")
        with open(model, "w", encoding="utf-8") as f:
            f.write(json.dumps({"reply": {"text": "```python\nfinal_answer(6 * 7)\n```"}, "times": 0}))
        tools = os.path.join(harness.make_dir(), "mcp.json")
        with open(tools, "w", encoding="utf-8") as f:
            server = os.path.join(harness.HERE, "system", "tool_server.py")
            json.dump({"mcpServers": {"demo": {"command": "/usr/bin/python3", "args": [server]}}}, f)
        cls.engine = service.Engine("--model", "replay:" + model, "--tools", tools)
        cls.engine.__enter__()
        cls.table = table()

    @classmethod
    def tearDownClass(cls):
        cls.engine.__exit__(None, None, None)

    def setUp(self):
        self.fresh()

    def tearDown(self):
        self.drop()

    def drop(self):
        for row in self.engine.call("session.list")["sessions"]:
            self.engine.call("session.close", session=row["session"])

    def fresh(self, has_file=False):
        """A session "demo" with one step, and perhaps a file."""
        self.drop()
        self.engine.call("session.create", name="demo")
        if has_file:
            self.engine.call("file.write", session="demo", path="notes.txt", content="hello\n")
        self.run_id = self.engine.call("step.run", session="demo", code="6 * 7")["run"]

    def call(self, method, **params):
        result = self.engine.call(method, **params)
        self.assertEqual(list(mismatches(self.table[method]["result"], result)), [], method)
        return result

    def refused(self, method, **params):
        try:
            result = self.engine.call(method, **params)
        except service.Refused as error:
            return error
        self.fail(f"{method} {params}: {result}")

    def fill(self, params):
        """Ids of an example that are of this engine."""
        filled = {k: self.run_id if k == "run" else v for k, v in params.items()}
        if "approval" in filled:
            filled["approval"] = self.approval
        if "mirror" in filled:
            filled["mirror"] = self.registry.host
        if filled.get("path") == "/srv/words.tar":
            filled["path"] = self.archive
        if filled.get("record") == "…":
            filled["record"] = self.engine.call("session.export", session="demo")["record"]
        return filled

    def test_examples_are_true(self):
        words = registry_fake.layer({"etc/motd": b"hello\n"})
        self.archive = os.path.join(harness.make_dir(), "words.tar")
        with open(self.archive, "wb") as f:
            f.write(words)
        self.registry = registry_fake.Registry()
        self.addCleanup(self.registry.close)
        self.registry.add("library/words", registry_fake.Image(words))
        for name, op in self.table.items():
            with self.subTest(operation=name):
                self.fresh(has_file=name.startswith(("file.", "path.")))
                if name == "session.create":
                    self.drop()
                if name == "port.close":
                    self.call("port.open", session="demo", port=8000, early=True)
                if name.startswith("process.") and name != "process.start":
                    self.start_examples(has_ended=name in ("process.wait", "process.read", "process.attach"))
                if name == "step.input":
                    self.run_id = self.call(
                        "step.run", session="demo", code="input()", stdin_open=True, wait_ms=0)["run"]
                if name == "tool.approve":
                    run = self.call("step.run", session="demo", code="import retort\nretort.tools.demo.echo('x')",
                                    approvals=True, wait_ms=0)["run"]
                    record = self.call("step.get", run=run, wait_ms=60000)
                    self.approval = record["approvals"][0]["approval"]
                result = self.call(name, **self.fill(op["example"]))
                self.assertTrue(shows(op["answer"], result), f"{op['answer']} is no part of {result}")

    def start_examples(self, has_ended):
        """The programs of the examples: one that reads its input, and one at a terminal."""
        for name in ("process.start", "terminal.open"):
            self.call(name, **self.table[name]["example"])
        if has_ended:
            for name in ("process.write", "process.wait"):
                self.call(name, **self.table[name]["example"])

    def test_all_of_them_are_described(self):
        info = self.call("engine.info")
        self.assertEqual(info["operations"], list(self.table))
        self.assertEqual(f"retort {info['version']}\n", harness.retort("version").out)

    def test_records_of_all_kinds_keep_to_the_schema(self):
        codes = ["1 / 0", "def", "raise SystemExit(3)", "import os; os._exit(5)", "print('\\udcff')",
                 "while True: pass", "open('x', 'w').write('x')", "import os; os.remove('x')",
                 "import os; os.write(1, b'\\xff')", "print('y' * 20_000_000)"]
        statuses = set()
        for code in codes:
            for atomic in (False, True):
                record = self.call("step.run", session="demo", code=code, atomic=atomic, timeout_ms=2000)
                statuses.add(record["status"])
                again = self.call("step.get", run=record["run"])
                self.assertEqual(again, record)
        self.assertLessEqual({"ok", "error", "timeout"}, statuses)
        self.call("session.log", session="demo", all=True)
        self.call("session.graph")
        self.call("session.undo", session="demo", count=2)

    def test_a_step_can_be_left_and_waited_for(self):
        code = "import time\nprint('one', flush=True)\nwhile not __import__('os').path.exists('go'): time.sleep(.01)\n7"
        started = self.call("step.run", session="demo", code=code, wait_ms=0)
        self.assertEqual(started["status"], "running")
        run = started["run"]
        part = {"text": ""}
        while part["text"] != "one\n":
            part = self.call("step.output", run=run)
        self.assertFalse(part["is_end"])
        rest = self.call("step.output", run=run, offset=part["next_offset"])
        self.assertEqual((rest["text"], rest["is_end"]), ("", False))
        now = self.call("step.get", run=run, wait_ms=1)
        self.assertEqual((now["status"], now["stdout"]), ("running", "one\n"))
        self.assertNotIn("step", now)
        self.call("step.interrupt", run=run)
        record = self.call("step.get", run=run, wait_ms=60000)
        self.assertEqual(record["status"], "killed")
        self.assertEqual(record["stdout"], "one\n")
        by_step = self.call("step.get", session="demo", step=record["step"][:10])
        self.assertEqual(by_step["run"], run)

    def test_a_killed_step_has_no_grace(self):
        code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(600)"
        run = self.call("step.run", session="demo", code=code, wait_ms=0, timeout_ms=300000)["run"]
        while self.call("step.output", run=run)["text"] != "on\n":
            pass
        self.call("step.interrupt", run=run, kill=True)
        self.assertEqual(self.call("step.get", run=run, wait_ms=60000)["status"], "killed")

    def test_a_queued_step_that_is_interrupted_is_not_begun(self):
        first = self.call("step.run", session="demo", code="import time; time.sleep(600)", wait_ms=0)["run"]
        second = self.call("step.run", session="demo", code="while True: pass", wait_ms=0)["run"]
        self.assertEqual(self.call("step.get", run=second)["behind"], first)
        self.call("step.interrupt", run=second)
        with self.assertRaisesRegex(service.Refused, "interrupted while it waited for its turn"):
            self.call("step.get", run=second)
        self.assertEqual(self.call("step.get", run=first)["status"], "running")
        self.call("step.interrupt", session="demo")
        self.assertEqual(self.call("step.get", run=first, wait_ms=60000)["status"], "killed")

    def test_nothing_waits_for_input_that_others_are_to_give(self):
        first = self.call("step.run", session="demo", code="input()", stdin_open=True, wait_ms=60000)
        self.assertEqual(first["waiting"], "stdin")
        run = first["run"]
        for name, params in (("session.undo", {}), ("session.branch", {}), ("step.complete", {"text": "x"})):
            with self.assertRaisesRegex(service.Refused, f"run {run} of the session waits for input") as refused:
                self.call(name, session="demo", **params)
            self.assertEqual(refused.exception.code, "busy")
        client = self.engine.client
        number = client.send("step.run", session="demo", code="1", stream=True)
        event = json.loads(client.file.readline())["params"]
        self.assertEqual((event["event"], event["behind"], event["waiting"]), ("queued", run, "stdin"))
        self.call("step.input", run=run, text="\n")
        self.assertEqual(client.receive(number)["status"], "ok")

    def test_who_waits_is_told_when_the_one_ahead_waits_for_input(self):
        code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\ninput()"
        run = self.call("step.run", session="demo", code=code, stdin_open=True, wait_ms=0, timeout_ms=600000)["run"]
        client = self.engine.client
        number = client.send("step.run", session="demo", code="1", stream=True)
        event = json.loads(client.file.readline())["params"]
        self.assertEqual((event["event"], event["behind"], event.get("waiting")), ("queued", run, None))
        other = service.Client(self.engine.path)
        self.addCleanup(other.close)
        other.call("file.write", session="demo", path="go", content="")
        event = json.loads(client.file.readline())["params"]
        self.assertEqual((event["event"], event["behind"], event.get("waiting")), ("queued", run, "stdin"))
        self.call("file.remove", session="demo", path="go")
        self.call("step.input", run=run, text="\n")
        self.assertEqual(client.receive(number)["status"], "ok")

    def test_a_step_that_has_to_wait_is_told_behind_which(self):
        first = self.call("step.run", session="demo", code="import time; time.sleep(600)", wait_ms=0)["run"]
        client = self.engine.client
        number = client.send("step.run", session="demo", code="1", stream=True)
        event = json.loads(client.file.readline())["params"]
        self.assertEqual((event["event"], event["behind"]), ("queued", first))
        self.call("step.interrupt", run=event["run"])
        with self.assertRaisesRegex(service.Refused, "interrupted while it waited"):
            client.receive(number)
        self.call("step.interrupt", run=first, kill=True)

    def test_input_can_be_written_while_a_step_runs(self):
        code = "a = input('? ')\nprint('<' + a + '>', flush=True)\nimport sys\nsys.stdin.read()"
        started = self.call(
            "step.run", session="demo", code=code, stdin="first\n", stdin_open=True, wait_ms=0)
        run, text = started["run"], ""
        while "<first>" not in text:
            text = self.call("step.output", run=run)["text"]
        self.assertTrue(self.call("step.input", run=run, text="sec")["is_open"])
        self.assertFalse(self.call("step.input", run=run, text="ond é", end=True)["is_open"])
        record = self.call("step.get", run=run, wait_ms=60000)
        self.assertEqual(record["value"]["text/plain"], "'second é'")
        self.assertEqual(self.refused("step.input", run=run, text="x").code, "gone")
        # What it was given is part of what it was: it is given again.
        record = self.call("session.export", session="demo")["record"]
        self.assertEqual(self.call("replay.run", record=record)["outcome"], "replayed")

    def test_a_program_that_waits_for_input_is_told(self):
        """The clock stands still for it, and the event comes once for each time."""
        code = "import time\na = input()\nb = input()\na + b"
        client = self.engine.client
        for is_open, n_events, shown in ((True, 2, "'xx'"), (False, 0, "EOFError")):
            number = client.send("step.run", session="demo", code=code, stdin_open=is_open, stream=True, timeout_ms=1000)
            n, message = 0, {}
            while message.get("id") != number:
                message = json.loads(client.file.readline())
                if message.get("params", {}).get("event") == "stdin":
                    n += 1
                    time.sleep(1.2)
                    self.call("step.input", run=message["params"]["run"], text="x\n")
            record = message["result"]
            self.assertEqual(n, n_events)
            self.assertEqual(record["value"]["text/plain"] if is_open else record["error"]["name"], shown)

    def test_input_that_nobody_reads_is_refused_before_it_grows(self):
        code = "import time\nprint('on', flush=True)\ntime.sleep(600)"
        run = self.call("step.run", session="demo", code=code, stdin_open=True, wait_ms=0, timeout_ms=300000)["run"]
        sizes, error = [], None
        for _ in range(8):
            try:
                sizes.append(self.call("step.input", run=run, text="x" * (1 << 19))["queued_bytes"])
            except service.Refused as refused:
                error = refused
                break
        self.assertEqual(error.code, "busy")
        self.assertLessEqual(max(sizes), 1 << 20)
        self.call("step.interrupt", run=run, kill=True)
        self.assertEqual(self.call("step.get", run=run, wait_ms=60000)["status"], "killed")
        closed = self.call("step.run", session="demo", code="import time; time.sleep(600)", wait_ms=0)["run"]
        self.assertEqual(self.refused("step.input", run=closed, text="x").code, "usage")
        self.call("step.interrupt", run=closed)

    def test_input_of_a_runtime_that_reads_it_whole_is_refused(self):
        try:
            self.call("session.create", name="js", runtime="javascript")
        except service.Refused as refused:
            self.assertEqual(refused.code, "runtime")
            self.skipTest("no node on this host")
        error = self.refused("step.run", session="js", code="1", stdin_open=True)
        self.assertEqual(error.code, "usage")
        self.assertIn("javascript", str(error))

    def test_long_output_is_read_in_parts_and_searched(self):
        code = "for i in range(100_000): print('line', i)"
        run = self.call("step.run", session="demo", code=code)["run"]
        text, offset = "", 0
        while offset is not None:
            part = self.call("step.output", run=run, offset=offset, limit=1 << 20)
            text, offset = text + part["text"], part.get("next_offset")
        self.assertEqual(text, "".join(f"line {i}\n" for i in range(100_000)))
        found = self.call("step.output", run=run, grep="line 99999")
        self.assertEqual((found["text"], found["lines"], found["is_end"]), ("100000:line 99999\n", 1, True))

    def test_runs_go_with_their_session(self):
        self.call("session.close", session="demo")
        for method in ("step.get", "step.output", "step.interrupt"):
            self.assertEqual(self.refused(method, run=self.run_id).code, "not_found")

    def test_a_template_makes_sessions_of_its_kind_fast(self):
        made = self.call("template.create", preload=["fractions"])
        listed = self.call("template.list")["templates"]
        self.assertIn(made["template"], [row["template"] for row in listed])
        session = self.call("session.create", preload=["fractions"])["session"]
        record = self.call("step.run", session=session, code="import sys; 'fractions' in sys.modules")
        self.assertEqual(record["value"]["text/plain"], "True")
        n = len(self.call("template.list")["templates"])
        self.assertEqual(n, len(listed), "no second template was made")
        self.assertEqual(self.refused("template.create", runtime="sql").code, "usage")

    def test_plans_are_checked_and_run_within_bounds(self):
        tools = json.dumps({"tools": {"mail.send": {
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
            "answers": [{"result": None}]}}})
        plan = 'mail.send(to="bob@example.com")\nprint("sent")\n'
        self.assertEqual(self.call("plan.check", plan=plan, tools=tools)["asked"], 1)
        denied = self.call("plan.run", plan=plan, tools=tools)
        self.assertEqual((denied["status"], denied["stdout"]), ("denied", ""))
        allowed = self.call("plan.run", plan=plan, tools=tools, approve=["mail.send"])
        self.assertEqual((allowed["status"], allowed["stdout"]), ("ok", "sent\n"))
        invalid = self.call("plan.check", plan="x = [\n")
        self.assertEqual((invalid["status"], invalid["diagnostics"][0]["code"]), ("invalid", "P103"))
        endless = self.call("plan.run", plan="def f():\n    for i in range(1 << 60):\n        pass\nf()\n")
        self.assertEqual((endless["status"], endless["diagnostics"][0]["code"]), ("failed", "P602"))
        long = self.call("plan.run", plan="for i in range(100000):\n    print('0123456789abcdef')\n")
        self.assertTrue(long["truncated"])
        self.assertEqual(len(long["stdout"]) <= 1 << 20, True)
        whole = self.call("plan.run", plan="for i in range(3):\n    print('x' + 'é' * 250001)\n")
        self.assertTrue(whole["truncated"])
        self.assertEqual(len(whole["stdout"].encode()), (1 << 20) - 1, "as much as fits, and no half character")

    def test_every_wrong_parameter_is_named(self):
        wrong = {"string": 7, "integer": "x", "number": "x", "boolean": "x", "array": {}, "object": []}
        for name, op in self.table.items():
            rows, required = op["params"]["properties"], op["params"].get("required", [])
            good = {k: op["example"][k] for k in required}
            error = self.refused(name, **good, surplus_=1)
            self.assertEqual(error.code, "usage", name)
            self.assertIn("surplus_", str(error))
            for path in required:
                error = self.refused(name, **{k: v for k, v in good.items() if k != path})
                self.assertEqual((error.code, str(error)), ("usage", f"{path}: missing"), name)
                self.assertTrue(error.hint)
            for path, row in rows.items():
                error = self.refused(name, **{**good, path: wrong[row["type"]]})
                self.assertEqual(error.code, "usage", f"{name} {path}")
                self.assertTrue(str(error).startswith(f"{path}: not of the right type"), f"{name} {path}: {error}")
                self.assertTrue(error.hint)

    def test_languages_and_limits_as_others_name_them(self):
        for word, runtime in (("py", "python"), ("Python", "python"), ("python3", "python")):
            with self.subTest(word):
                session = self.call("session.create", language=word)
                self.assertEqual(session["runtime"], runtime)
                record = self.call("step.run", session=session["session"], code="1", language=word)
                self.assertEqual(record["runtime"], runtime)
                self.call("session.close", session=session["session"])
        self.assertEqual(self.refused("session.create", language="py", runtime="python").hint, "give one of the two")
        self.assertIn("python, javascript", self.refused("session.create", language="perl").hint)
        error = self.refused("session.create", memory="4g")
        self.assertIn('limits.memory_bytes, as in {"limits": {"memory_bytes": …}}', error.hint)
        self.assertIn("limits.timeout_ms", self.refused("session.create", timeout=3).hint)

    def test_a_path_may_be_written_in_other_ways(self):
        session = self.call("session.create")["session"]
        for path in ("d//a.txt", "d/./a.txt", "./d/a.txt", "d/../d/a.txt", "/home/user/d/a.txt", "/home/user//d/a.txt"):
            self.assertEqual(self.call("file.write", session=session, path=path, content=path)["path"], "d/a.txt")
            self.assertEqual(self.call("file.read", session=session, path=path)["content"], path)
        for path in ("..", "../x", "d/../../x", "/etc/passwd", ".", "d/..", "/home/user", "/home/user/../x", "x/../.."):
            self.assertEqual(self.refused("file.write", session=session, path=path, content="").code, "usage", path)
        self.assertIn("name a file in it", self.refused("file.write", session=session, path="d", content="").hint)
        self.assertIn("name a file in it", self.refused("file.write", session=session, path="new/", content="").hint)
        self.call("step.run", session=session, code="import os; os.chmod('d/a.txt', 0o750)")
        self.call("file.write", session=session, path="d/a.txt", content="#!")
        self.assertEqual(self.call("step.run", session=session, code="oct(os.stat('d/a.txt').st_mode)")["value"]["text/plain"],
                         "'0o100750'")
        self.call("file.remove", session=session, path="d/", recursive=True)
        self.assertEqual(self.call("file.list", session=session)["files"], [])

    def test_an_error_says_what_helps(self):
        session = self.call("session.create")["session"]
        for code, hint in (("input()", '"stdin_open"'), ("import no_such", '"python"'), ("1 / 0", None)):
            error = self.call("step.run", session=session, code=code)["error"]
            self.assertIn(hint, error["hint"]) if hint else self.assertNotIn("hint", error)

    def test_hints_name_operations(self):
        session = self.call("session.create")["session"]
        self.assertIn("`file.list`", self.refused("file.read", session=session, path="no.csv").hint)
        self.assertIn("`session.list`", self.refused("session.get", session="no").hint)
        self.assertIn("`session.log`", self.refused("session.undo", session=session, count=9).hint)
        self.call("session.close", session=session)
        self.assertIn("`session.log", self.refused("step.run", session=session, code="1").hint)
        self.assertEqual(self.call("session.close", session=session), {})

    def test_what_does_not_exist_is_not_found(self):
        n = 0
        for name, op in self.table.items():
            for key, value in (("session", "nobody"), ("run", "r-aaaa")):
                if key not in op["params"]["properties"]:
                    continue
                params = {**{k: v for k, v in op["example"].items() if k not in ("session", "run")}, key: value}
                if name == "step.get" and key == "session":
                    params["step"] = "0123"
                error = self.refused(name, **params)
                self.assertEqual(error.code, "not_found", f"{name}: {error}")
                self.assertTrue(error.hint, name)
                n += 1
        self.assertGreater(n, 12)

    def test_an_unknown_operation_names_the_nearest(self):
        error = self.refused("step.rnu", session="demo", code="1")
        self.assertEqual(error.code, "usage")
        self.assertIn("step.run", error.hint)


if __name__ == "__main__":
    harness.main()
