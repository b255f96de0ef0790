# SPDX-License-Identifier: Apache-2.0
"""Plans run under a policy, with tools that answer as an environment of AgentDojo does."""

import ast
import collections
import copy
import hashlib
import json
import os
import pickle
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
RETORT = os.path.abspath(os.environ.get("RETORT", os.path.join(ROOT, "build", "retort")))
ROUNDS_MAX = 200
TIMEOUT_S = 60
MEMORY_MAX = 1000  # of arguments: an answer to more is not made ready for runs to come

Call = collections.namedtuple("Call", "tool arguments ruling line outcome")
Run = collections.namedtuple("Run", "status calls out said code n_approved")


class Policy:
    """What of a policy the bench has to know: which calls have an effect, and what controls them."""

    def __init__(self, text):
        self.text, self.effect, self.control = text, {}, collections.defaultdict(set)
        self.covered = collections.defaultdict(set)  # parameters that say who gets what another one carries
        self.private = set()  # tools whose results not everybody may read
        self.kept = set()  # tools whose results the policy says others cannot put any text in
        self.said = {}  # by tool: the field with the owner, the fields that only an owner writes, owners believed in
        self.names = {}
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign):
                self.names[node.targets[0].id] = ast.literal_eval(node.value)
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and call.func.id == "rule":
                self._rule(call.args[0].value, call.keywords)
            if isinstance(call, ast.Call) and call.func.id == "trust":
                self.kept |= {a.args[0].value for a in call.args
                                 if isinstance(a, ast.Call) and not a.keywords}

    def _rule(self, tool, keywords):
        for k in keywords:
            if k.arg == "effect":
                self.effect[tool] = k.value.id
            elif k.arg == "result":
                said = {w.arg for w in k.value.keywords}
                self.kept |= {tool} if "kind" in said else set()
                self.private |= {tool} if "readers" in said else set()
                if "says" in said:
                    each = {w.arg: w.value for w in k.value.keywords}
                    self.said.setdefault(tool, (each["origin"].value, ast.literal_eval(each["says"]), set()))
            elif isinstance(k.value, ast.Call) and k.value.func.id in ("control", "payload"):
                self.control[tool] |= {k.arg} if k.value.func.id == "control" else set()
                self.covered[tool] |= {w.value.args[0].value for w in k.value.keywords if w.arg == "readers"}
                givers = [of for c in ast.walk(k.value) if isinstance(c, ast.Call) and c.func.id == "chosen"
                          for of in c.args]
                self.kept |= {of.args[0].value for of in givers if not of.keywords}
                for of in (of for of in givers if of.keywords):
                    self.said[of.args[0].value][2].add(self.names[of.keywords[0].value.id])

    def has_effect(self, tool):
        return self.effect.get(tool, "write") != "read"


def scratch():
    """Where a run keeps its files: in memory, since each line of a record is waited for until it is on disk."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(prefix="dojo-", dir=memory if os.access(memory, os.W_OK) else None)


def copied(environment):
    return pickle.loads(pickle.dumps(environment, pickle.HIGHEST_PROTOCOL))


def _key(call):
    return call.tool, json.dumps(call.arguments, sort_keys=True)


class Known:
    """What the tools of one environment answer, by what was changed before."""

    def __init__(self):
        self.answers = {}  # by the changes and the call
        self.last = {}  # by the call: what is most likely to be the answer again

    def keep(self, key, answer):
        if len(key[1]) < MEMORY_MAX:
            self.last[key] = answer

    def foresee(self, bench, environment, before, calls):
        """Calls that come behind those of a run: (tool, arguments)."""
        past, world = tuple(_key(c) for c in bench.effects(before)), bench.after(environment, before)
        for tool, arguments in calls:
            key = tool, json.dumps(arguments, sort_keys=True)
            self.answers[past, key] = bench.suite.call(world, tool, arguments)
            self.keep(key, self.answers[past, key])
            past += (key,) if bench.policy.has_effect(tool) else ()


class World:
    """An environment that is changed as the calls of one plan change it."""

    def __init__(self, bench, environment, known, change):
        self.bench, self.environment, self.known, self.change = bench, environment, known, change
        self.now, self.n_done = None, 0

    def answers(self, calls, given):
        """Returns: the first call that did not get its answer, and that; or None."""
        past, seen = (), set()
        for i, call in enumerate(calls):
            key = _key(call)
            if call.outcome is not None and key not in seen:
                seen.add(key)
                if (past, key) not in self.known.answers:
                    self.known.answers[past, key] = self._found(calls, i)
                if given.get(key) != self.known.answers[past, key]:
                    return key, self.known.answers[past, key]
            past += (key,) if self.bench.is_effect(call) else ()
        return None

    def _found(self, calls, i):
        if self.now is None:
            self.now = copied(self.environment)
        for call in calls[self.n_done:i]:
            if self.bench.is_effect(call):
                self.bench.suite.call(self.now, call.tool, call.arguments)
        answer = self.bench.suite.call(self.now, calls[i].tool, calls[i].arguments)
        self.n_done = i + 1
        return self.change(calls[i].tool, answer) if self.change else answer


class Bench:
    def __init__(self, suite, policy, where):
        self.suite, self.policy, self.where = suite, policy, where
        self.tools = copy.deepcopy(suite.tools)
        for name, tool in self.tools.items():
            tool["annotations"] = {"readOnlyHint": not policy.has_effect(name)}
        self._test_policy()

    def _test_policy(self):
        """A policy that cannot be read would stop everything, and prove nothing."""
        done = subprocess.run([RETORT, "plan", "test", self._write("policy.star", self.policy.text), "--tools",
                               self._write("tools.json", json.dumps({"tools": self.tools}))],
                              capture_output=True, encoding="utf-8", check=False, timeout=TIMEOUT_S)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def at(self, where):
        """The same, with other files."""
        other = copy.copy(self)
        other.where = where
        other._write("policy.star", self.policy.text)
        return other

    def _write(self, name, text):
        path = os.path.join(self.where, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def _once(self, plan, request, tools, asks):
        record = os.path.join(self.where, "record")
        for path in (record, record + ".values"):
            if os.path.exists(path):
                os.remove(path)
        argv = [RETORT, "plan", "run", "--json", "--policy", os.path.join(self.where, "policy.star"),
                "--request", request, "--tools", self._write("tools.json", json.dumps({"tools": tools, "ask": asks})),
                "--record", record, "--yes", self._write("plan.star", plan)]
        done = subprocess.run(argv, capture_output=True, encoding="utf-8", check=False, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL)
        calls, code, n_approved = self._read(record)
        return Run(done.returncode, calls, done.stdout, done.stderr, code, n_approved)

    @staticmethod
    def _read(record):
        if not os.path.exists(record):
            return [], None, 0
        with open(record + ".values", "rb") as f:
            values = {hashlib.sha256(v).hexdigest(): v for v in
                      (json.loads(line).encode() for line in f.read().decode().splitlines())}
        with open(record, encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        results = {e["n"]: e for e in events if e["event"] == "result"}
        calls = []
        for e in events:
            if e["event"] != "call":
                continue
            given = {name: json.loads(values[a["value"]]) for name, a in e["arguments"].items()}
            result = results.get(e["n"])
            outcome = None if result is None else values[result["value"]].decode()
            is_seen = any("approved" in end for a in e["arguments"].values()
                          for end in a["label"]["endorsements"] or [])
            ruling = "approved" if is_seen and e["ruling"] == "allow" else e["ruling"]
            calls.append(Call(e["tool"], given, ruling, e["line"], outcome))
        code = next((e.get("code") for e in events if e["event"] == "end"), None)
        return calls, code, sum(e["event"] == "approve" for e in events)

    def run(self, plan, request, environment, asks, known, change=None, moot=None):
        """Run a plan; what its tools answer is found out as they are called. @known: of this environment and
        @change, a function of (tool, answer); @moot: a tool whose answer does not matter. A call gets one answer in a
        run, however often it is made."""
        answers, world = dict(known.last), World(self, environment, known, change)
        for _ in range(ROUNDS_MAX):
            tools = {name: {**tool, "answers": []} for name, tool in self.tools.items()}
            # The fixture takes the first that is part of the arguments, so those with more come first.
            for (tool, given), answer in sorted(answers.items(), key=lambda a: -len(a[0][1])):
                tools[tool]["answers"].append({"arguments": json.loads(given), **answer})
            run = self._once(plan, request, tools, asks)
            right = world.answers([c for c in run.calls if c.tool != moot], answers)
            if right is None:
                return run
            answers.update([right])
            known.keep(*right)
        raise RuntimeError("a plan has too many calls for the bench")

    def is_effect(self, call):
        return self.policy.has_effect(call.tool) and call.outcome is not None

    def after(self, environment, calls):
        """The environment after calls. Nothing that only reads is done again."""
        calls = [c for c in calls if self.policy.has_effect(c.tool)]
        world = copied(environment)
        for call in calls:
            self.suite.call(world, call.tool, call.arguments)
        return world

    def effects(self, calls):
        return [c for c in calls if self.is_effect(c)]
