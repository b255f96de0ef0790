# SPDX-License-Identifier: Apache-2.0
"""Callers with tokens: each sees its own, may have so much, and learns nothing of the others."""

import json
import os
import re
import signal
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc  # noqa: E402
import callers  # noqa: E402
import harness  # noqa: E402

IDENTITY = "user"
MIB = 1 << 20

# How each operation names what it works on. One that is new is to be named here: with an id among
# its parameters in ASKED or BY_RUN, or in ALONE with the reason why nothing of another's can be named.
ASKED = {
    "session.get": lambda it: {"session": it["session"]},
    "session.branch": lambda it: {"session": it["session"]},
    "session.net": lambda it: {"session": it["session"], "net": []},
    "session.undo": lambda it: {"session": it["session"]},
    "session.close": lambda it: {"session": it["session"]},
    "session.log": lambda it: {"session": it["session"], "all": True},
    "session.export": lambda it: {"session": it["session"]},
    "step.run": lambda it: {"session": it["session"], "code": "secret"},
    "step.get": lambda it: {"session": it["session"], "step": it["step"]},
    "step.interrupt": lambda it: {"session": it["session"]},
    "step.complete": lambda it: {"session": it["session"], "text": "sec"},
    "file.list": lambda it: {"session": it["session"]},
    "file.read": lambda it: {"session": it["session"], "path": "secret.txt"},
    "file.write": lambda it: {"session": it["session"], "path": "secret.txt", "content": "mine"},
    "file.remove": lambda it: {"session": it["session"], "path": "secret.txt"},
    "path.stat": lambda it: {"session": it["session"], "path": "secret.txt"},
    "path.list": lambda it: {"session": it["session"], "path": "."},
    "path.make": lambda it: {"session": it["session"], "path": "mine"},
    "path.move": lambda it: {"session": it["session"], "source": "secret.txt", "destination": "mine"},
    "path.remove": lambda it: {"session": it["session"], "path": "secret.txt"},
    "path.read": lambda it: {"session": it["session"], "path": "secret.txt"},
    "path.write": lambda it: {"session": it["session"], "path": "secret.txt", "content": "mine"},
    "path.watch": lambda it: {"session": it["session"], "path": "."},
    "process.start": lambda it: {"session": it["session"], "argv": ["touch", "mine"]},
    "terminal.open": lambda it: {"session": it["session"], "argv": ["touch", "mine"]},
    "process.list": lambda it: {"session": it["session"]},
    "process.get": lambda it: {"session": it["session"], "process": "server"},
    "process.wait": lambda it: {"session": it["session"], "process": "server"},
    "process.read": lambda it: {"session": it["session"], "process": "server"},
    "process.attach": lambda it: {"session": it["session"], "process": "server"},
    "process.write": lambda it: {"session": it["session"], "process": "server", "data": "x", "end": True},
    "process.resize": lambda it: {"session": it["session"], "process": "server", "rows": 5, "cols": 5},
    "process.signal": lambda it: {"session": it["session"], "process": "server", "signal": "KILL"},
    "port.list": lambda it: {"session": it["session"]},
    "port.close": lambda it: {"session": it["session"], "port": 8000},
}
BY_RUN = {"step.get": {}, "step.output": {}, "step.interrupt": {}, "step.input": {"text": "x"}}
ALONE = {
    "image.pull": "the operator's; see T-IMAGE-CALLER", "image.import": "the operator's; see T-IMAGE-CALLER",
    "image.remove": "the operator's; see T-IMAGE-CALLER", "image.prune": "the operator's; see T-IMAGE-CALLER",
    "image.list": "images are the operator's, and seen by all", "image.get": "images are the operator's, and seen by all",
    "port.open": "refused before it is looked for; see T-PORT-PRINCIPAL",
    "session.create": "makes one",
    "session.list": "names none; see test_lists_have_ones_own",
    "session.prune": "names none; see test_prune.py",
    "session.graph": "names none; see test_lists_have_ones_own",
    "replay.run": "a record is given in whole",
    "program.run": "makes a session of its own",
    "program.build": "makes a session of its own",
    "program.judge": "makes sessions of its own",
    "program.languages": "describes the host",
    "engine.info": "names none; see test_lists_have_ones_own",
    "engine.operations": "the same for everybody",
    "engine.doctor": "refused; see test_the_host_is_not_theirs",
    "template.list": "names none; see test_lists_have_ones_own",
    "template.create": "makes one",
    "template.build": "names are the caller's own; see test_templates_are_apart",
    "template.get": "names are the caller's own; see test_templates_are_apart",
    "template.remove": "names are the caller's own; see test_templates_are_apart",
    "plan.check": "a plan is given in whole",
    "plan.run": "a plan is given in whole",
    "tool.list": "tools are not anybody's",
    "tool.call": "tools are not anybody's",
    "tool.search": "tools are not anybody's",
    "tool.approve": "by the id of what is asked; see T-TOOL-PRINCIPAL",
    "agent.run": "refused; see test_the_host_is_not_theirs",
    "agent.list": "refused; see test_the_host_is_not_theirs",
}


def other_than(word):
    """A word of the same form that nothing is called."""
    last = "3" if word[-1] != "3" else "5"
    return word[:-1] + last


def without(value, word):
    """What was said, without the word that was asked with."""
    return json.loads(json.dumps(value).replace(word, "WORD"))


class PrincipalCase(harness.Case):
    def engine(self, tokens=None, *options, **kwargs):
        engine = callers.Engine(tokens or {"ann": "", "bob": ""}, *options, **kwargs)
        self.addCleanup(engine.stop)
        return engine

    def fails(self, word, caller, method, /, **params):
        with self.assertRaises(rpc.Failed) as caught:
            caller(method, **params)
        self.assertEqual(caught.exception.code, word, str(caught.exception))
        self.assertTrue(caught.exception.data.get("hint"), str(caught.exception))
        return str(caught.exception)


class Apart(PrincipalCase):
    """Whatever is asked with another's id is answered as with one that nothing has."""

    def setUp(self):
        super().setUp()
        self.e = self.engine()
        self.ann, self.bob = self.e.caller("ann"), self.e.caller("bob")
        made = self.bob("session.create", name="vault")
        self.vault = made["session"]
        self.bob("file.write", session=self.vault, path="secret.txt", content="bob's")
        self.done = self.bob.run(self.vault, "secret = 47; secret")
        self.server = self.bob("process.start", session=self.vault, argv=["cat"], input=True, name="server")["process"]
        self.own = self.ann("session.create", name="own")["session"]
        self.ann.run(self.own, "1")

    def state(self):
        return (self.bob("session.get", session=self.vault), self.bob("session.log", session=self.vault, all=True),
                self.bob("file.read", session=self.vault, path="secret.txt"), len(self.bob("session.list")["sessions"]),
                [(p["process"], p["state"]) for p in self.bob("process.list", session=self.vault)["processes"]])

    def same(self, method, make, word):
        """The same is said with @word, which bob has, and with one that nobody has."""
        taken = without(self.ann.said(method, **make(word)), word)
        free = other_than(word)
        self.assertEqual(taken, without(self.ann.said(method, **make(free)), free), method)
        self.assertIn("error", taken, method)
        return taken["error"]

    def test_every_operation_is_looked_at(self):
        known = set(ASKED) | set(BY_RUN) | set(ALONE)
        self.assertEqual([op for op in self.e.operator("engine.info")["operations"] if op not in known], [])

    def test_ids_starts_of_ids_and_names(self):
        before = self.state()
        words = {"id": self.vault, "start": self.vault[:8], "name": "vault"}
        for method, params in ASKED.items():
            for kind, word in words.items():
                with self.subTest(method=method, by=kind):
                    error = self.same(
                        method, lambda w, p=params: p({"session": w, "step": self.done["step"]}), word)
                    self.assertEqual(error["data"]["code"], "not_found")
        self.assertEqual(self.state(), before)

    def test_runs(self):
        for method, params in BY_RUN.items():
            with self.subTest(method=method):
                error = self.same(method, lambda w, p=params: {"run": w, **p}, self.done["run"])
                self.assertEqual(error["data"]["code"], "not_found")

    def test_processes(self):
        """By its id and its beginning, in one's own session: a process of another's session is none."""
        for method, params in ASKED.items():
            if not method.startswith("process.") or "process" not in params({"session": ""}):
                continue
            for word in (self.server, self.server[:6]):
                with self.subTest(method=method, word=word):
                    error = self.same(method, lambda w, p=params: {**p({"session": self.own}), "process": w}, word)
                    self.assertEqual(error["data"]["code"], "not_found")
        self.assertEqual(self.bob("process.get", session=self.vault, process="server")["state"], "running")

    def test_steps(self):
        step = self.done["step"]
        for word in (step, step[:8], "c-" + step):
            with self.subTest(step=word):
                self.same("session.undo", lambda w: {"session": self.own, "to": w}, word)
        if "step.get" in self.e.operator("engine.info")["operations"]:
            self.same("step.get", lambda w: {"session": self.own, "step": w}, step)

    def test_names_and_starts_are_ones_own(self):
        mine = self.ann("session.create", name="vault")["session"]
        self.assertEqual(self.ann("session.get", session="vault")["session"], mine)
        self.assertEqual(self.bob("session.get", session="vault")["session"], self.vault)
        self.assertEqual(self.ann("session.get", session=mine[:6])["session"], mine)
        self.fails("usage", self.ann, "session.create", name="vault")
        self.assertEqual(self.fails("usage", self.e.operator, "session.get", session="vault"),
                         "more than one owner has a session vault")
        own = self.e.operator("session.create", name="vault")["session"]
        self.assertEqual(self.e.operator("session.get", session="vault")["session"], own)
        self.assertEqual(self.ann("session.get", session="vault")["session"], mine)

    def test_lists_have_ones_own(self):
        def ids(answer):
            return [s["session"] for s in answer["sessions"]]

        self.assertEqual(ids(self.ann("session.list")), [self.own])
        self.assertEqual(ids(self.bob("session.list")), [self.vault])
        self.assertEqual(self.ann("engine.info")["sessions"], 1)
        graph = self.ann("session.graph")
        self.assertEqual([s["session"] for s in graph["steps"]], [self.own])
        self.assertEqual([h["session"] for h in graph["heads"]], [self.own])
        everything = self.e.operator("session.list")["sessions"]
        self.assertEqual({(s["session"], s.get("owner")) for s in everything},
                         {(self.own, "ann"), (self.vault, "bob")})
        table = harness.retort("session", "ls", "--socket", self.e.path).out.splitlines()
        self.assertEqual([(line.split()[0], line.split()[-1]) for line in table],
                         [("SESSION", "OWNER")] + [(s["session"], s["owner"]) for s in everything])
        self.assertEqual(self.e.operator("engine.info")["sessions"], 2)
        self.assertNotIn("owner", self.ann("session.list")["sessions"][0])
        if "template.list" in self.ann("engine.info")["operations"]:
            mine = json.dumps(self.ann("template.list"))
            for template in self.bob("template.list")["templates"]:
                self.assertNotIn(template["template"], mine)

    def test_templates_are_apart(self):
        """Two callers may have templates of one name, and neither sees, uses or removes that of the other."""
        self.bob("template.build", name="words", command=["sh", "-c", "echo bob >x"])
        for method in ("template.get", "template.remove"):
            self.fails("not_found", self.ann, method, name="words")
        for method in ("session.create", "template.create"):
            self.fails("not_found", self.ann, method, template="words")
        self.assertEqual(self.ann("template.list")["built"], [])
        self.ann("template.build", name="words", command=["sh", "-c", "echo ann >x"])
        for caller, said in ((self.ann, "ann"), (self.bob, "bob")):
            session = caller("session.create", template="words")["session"]
            self.assertEqual(caller.run(session, "open('/opt/words/x').read().strip()")["value"]["text/plain"], f"'{said}'")
        self.ann("template.remove", name="words")
        self.assertEqual(self.bob("template.get", name="words")["files"], 1)
        self.fails("denied", self.ann, "template.build", name="packages", pip=["six"])
        self.fails("denied", self.ann, "template.build", name="packages", command=["true"], net=["api.example"])
        self.fails("denied", self.ann, "template.build", name="packages", command=["true"], python="/usr/bin/python3")

    def test_who_was_there_first_is_not_told(self):
        """A step is kept once, whoever runs it: it is told as if nobody else had."""
        def tell(name, session):
            caller = self.e.caller(name)
            return [{k: v for k, v in step.items() if k != "created_ms"} for step in
                    caller("session.log", session=session, all=True)["steps"]], \
                [step["created_ms"] for step in caller("session.log", session=session, all=True)["steps"]]

        def do(name):
            caller = self.e.caller(name)
            made = caller("session.create")
            s = made["session"]
            caller.run(s, "x = 1")
            caller.run(s, "1 / 0", atomic=True)
            caller.run(s, "x + 1")
            rows, times = tell(name, s)
            self.assertTrue(all(t >= made["created_ms"] for t in times), (made, times))
            return json.loads(json.dumps(rows).replace(s, "SESSION"))

        first, second = do("ann"), do("bob")
        self.assertEqual(len(first), 3)
        self.assertEqual(first, second)
        self.assertNotIn("seq", first[0])
        self.assertEqual(sorted(step["outcome"] for step in first), ["committed", "committed", "rolled_back"])

    def test_it_stays_so_when_the_engine_is_started_anew(self):
        self.e.stop(signal.SIGKILL)
        self.e.start()
        self.ann, self.bob = self.e.caller("ann"), self.e.caller("bob")
        for word in (self.vault, self.vault[:8], "vault"):
            self.same("step.run", lambda w: {"session": w, "code": "1"}, word)
        self.assertEqual(self.ann("session.list")["sessions"][0]["session"], self.own)
        self.assertEqual(self.bob.run("vault", "secret")["value"]["text/plain"], "47")
        self.same("step.run", lambda w: {"session": w, "code": "1"}, self.vault)

    def test_a_closed_session(self):
        self.bob("session.close", session=self.vault)
        for method in ("session.log", "session.get", "step.run"):
            self.same(method, lambda w, m=method: ASKED[m]({"session": w}), self.vault)

    def test_the_operator_can_do_everything(self):
        self.assertEqual(self.e.operator.value("vault", "secret"), 47)
        self.e.operator("process.signal", session=self.vault, process=self.server, signal="KILL")
        self.e.operator("process.wait", session=self.vault, process=self.server)
        branch = self.e.operator("session.branch", session=self.vault, name="copy")["session"]
        self.assertEqual(self.bob.run("copy", "secret")["value"]["text/plain"], "47")
        self.fails("not_found", self.ann, "session.get", session=branch)

    def test_the_host_is_not_theirs(self):
        here = harness.make_dir()
        with open(os.path.join(here, "host.txt"), "w", encoding="utf-8") as f:
            f.write("host")
        asked = {"volumes": [{"src": here, "dst": "host"}], "workspace": here, "rootfs": "/", "python": "/usr/bin/python3"}
        for name, value in asked.items():
            with self.subTest(parameter=name):
                said = self.fails("denied", self.ann, "session.create", **{name: value})
                self.assertIn(name, said)
        self.fails("denied", self.ann, "engine.doctor")
        for method, params in (("agent.run", {"task": "Go."}), ("agent.run", {"resume": "a-1"}), ("agent.list", {})):
            self.assertIn("callers with a token", self.fails("denied", self.ann, method, **params))
        # Nor in a record that was made by somebody who may.
        s = self.e.operator("session.create", volumes=asked["volumes"])["session"]
        self.e.operator.run(s, "open('host/host.txt').read()")
        record = self.e.operator("session.export", session=s)["record"]
        self.assertEqual(self.e.operator("replay.run", record=record)["outcome"], "replayed")
        self.fails("denied", self.ann, "replay.run", record=record)
        self.assertEqual(len(self.ann("session.list")["sessions"]), 1)

    def test_paths_may_be_allowed(self):
        here = harness.make_dir()
        with open(os.path.join(here, "host.txt"), "w", encoding="utf-8") as f:
            f.write("host")
        e = self.engine({"ann": "paths=yes"})
        ann = e.caller("ann")
        s = ann("session.create", volumes=[{"src": here, "dst": "host"}])["session"]
        self.assertEqual(ann.run(s, "open('host/host.txt').read()")["value"]["text/plain"], "'host'")
        twice = [{"src": here, "dst": "host"}, {"src": harness.make_dir(), "dst": "/home/user/host/"}]
        self.assertIn(f"volume destination /home/user/host: both {here} and ", self.fails("usage", ann, "session.create", volumes=twice))


@harness.as_each
class Quotas(PrincipalCase):
    def test_sessions(self):
        e = self.engine({"ann": "sessions=2", "bob": ""})
        ann, bob = e.caller("ann"), e.caller("bob")
        for _ in range(4):  # what fails is not counted
            self.fails("runtime", ann, "session.create", runtime="cobol")
            self.fails("usage", ann, "session.create", name="s-no")
        first, second = (ann("session.create")["session"] for _ in range(2))
        self.assertIn("limit of ann is 2", self.fails("quota", ann, "session.create"))
        self.fails("quota", ann, "session.branch", session=first)
        said = ann.said("session.create")["error"]
        self.assertEqual(said["code"], -32020)
        for _ in range(3):
            bob("session.create")
        ann("session.close", session=first)
        third = ann("session.branch", session=second)["session"]
        self.fails("quota", ann, "session.create")
        # Those of the journal count, whether they are open or not.
        e.stop(signal.SIGKILL)
        e.start()
        ann = e.caller("ann")
        self.fails("quota", ann, "session.create")
        ann.run(second, "1")
        self.fails("quota", ann, "session.create")
        ann("session.close", session=third)
        ann("session.create")
        self.fails("quota", ann, "session.create")

    def test_many_at_once(self):
        e = self.engine({"ann": "sessions=3"})
        answers = []

        def make():
            answers.append(e.caller("ann").said("session.create"))

        threads = [threading.Thread(target=make) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sum("result" in a for a in answers), 3)
        self.assertEqual({a["error"]["data"]["code"] for a in answers if "error" in a}, {"quota"})

    def test_memory(self):
        e = self.engine({"ann": "memory=300m"})
        ann = e.caller("ann")
        sessions = [ann("session.create", limits={"memory_bytes": 128 * MIB})["session"] for _ in range(2)]
        self.assertIn("256 MiB are in use", self.fails("quota", ann, "session.create", limits={"memory_bytes": 128 * MIB}))
        self.fails("quota", ann, "session.create")  # 1 GiB, as usual
        self.fails("quota", ann, "session.branch", session=sessions[0])
        ann("session.close", session=sessions.pop())
        sessions.append(ann("session.branch", session=sessions[0])["session"])
        # What is only in the journal has no box.
        e.stop()
        e.start()
        ann = e.caller("ann")
        ann("session.create", limits={"memory_bytes": 128 * MIB})
        ann.run(sessions[0], "1")
        self.fails("quota", ann, "step.run", session=sessions[1], code="1")

    def test_steps_at_the_same_time(self):
        e = self.engine({"ann": "steps=1", "bob": ""})
        ann, bob = e.caller("ann"), e.caller("bob")
        one, two = (ann("session.create")["session"] for _ in range(2))
        answers = []
        runner = threading.Thread(target=lambda: answers.append(
            e.caller("ann").run(one, "import time\ntime.sleep(100)")))
        runner.start()
        self.until(lambda: ann("session.get", session=one)["state"] == "working")
        self.assertIn("limit of ann is 1", self.fails("quota", ann, "step.run", session=two, code="1"))
        self.fails("quota", ann, "step.run", session=one, code="1")
        self.assertEqual(bob.run(bob("session.create")["session"], "1")["status"], "ok")
        ann("step.interrupt", session=one)
        runner.join()
        self.assertEqual(answers[0]["status"], "killed")
        self.assertEqual(ann.run(two, "1")["status"], "ok")
        # A session that is closed takes its step along.
        runner = threading.Thread(target=lambda: e.caller("ann").said(
            "step.run", session=one, code="import time\ntime.sleep(100)"))
        runner.start()
        self.until(lambda: ann("session.get", session=one)["state"] == "working")
        ann("session.close", session=one)
        runner.join()
        self.assertEqual(ann.run(two, "1")["status"], "ok")

    def test_steps_per_minute(self):
        e = self.engine({"ann": "rate=3/min", "bob": ""})
        ann, bob = e.caller("ann"), e.caller("bob")
        s = ann("session.create")["session"]
        self.fails("not_found", ann, "step.run", session="nosuch", code="1")  # costs nothing
        ann.run(s, "1")
        ann("file.write", session=s, path="a", content="")
        ann.run(s, "2")
        with self.assertRaises(rpc.Failed) as caught:
            ann.run(s, "3")
        self.assertEqual(caught.exception.code, "quota")
        self.assertRegex(caught.exception.data["hint"], r"^ask again in \d+ s$")
        self.fails("quota", ann, "file.write", session=s, path="a", content="")
        record = ann("session.export", session=s)["record"]
        self.fails("quota", ann, "replay.run", record=record)
        for method in ("plan.check", "plan.run"):
            self.fails("quota", ann, method, plan="x = 1\n")
        t = bob("session.create")["session"]
        for _ in range(5):
            bob.run(t, "1")

    def test_the_engine(self):
        e = self.engine(None, "--max-sessions", "2")
        ann, bob = e.caller("ann"), e.caller("bob")
        s = ann("session.create")["session"]
        # Two names that look the same are none.
        for sign in "\u200b\u200d\u2060\ufeff\u00ad\u202e\U000e0041":
            self.assertIn("invisible", self.fails("usage", bob, "session.create", name=f"a{sign}b"))
        bob("session.create")
        for caller in (ann, bob, e.operator):
            self.assertIn("limit of the engine is 2", self.fails("quota", caller, "session.create"))
        self.fails("quota", ann, "session.branch", session=s)
        ann("session.close", session=s)
        e.operator("session.create")
        e = self.engine(None, "--max-memory", "100m")
        ann = e.caller("ann")
        ann("session.create", limits={"memory_bytes": 64 * MIB})
        self.fails("quota", e.caller("bob"), "session.create", limits={"memory_bytes": 64 * MIB})


class Metrics(PrincipalCase):
    LINE = re.compile(r'^([a-z_]+)(?:\{([a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*)\})? (\S+)$')

    def read(self, caller):
        status, text = caller.get("/metrics")
        self.assertEqual(status, 200, text)
        values, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line[7:].split()
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                found = self.LINE.match(line)
                self.assertTrue(found, line)
                name = re.sub(r"_(bucket|sum|count)$", "", found[1]) if found[1] not in types else found[1]
                self.assertIn(name, types, line)
                values[found[1] + (f"{{{found[2]}}}" if found[2] else "")] = float(found[3])
        return values

    def test_what_happened_is_counted(self):
        e = self.engine({"ann": "sessions=1", "watcher": "metrics=yes"})
        ann, watcher = e.caller("ann"), e.caller("watcher")
        status, said = ann.get("/metrics")
        self.assertEqual(status, 403)
        self.assertIn("metrics=yes", said)
        before = self.read(watcher)
        s = ann("session.create")["session"]
        ann.run(s, "1")
        ann.run(s, "1 / 0", atomic=True)
        self.fails("quota", ann, "session.create")
        self.fails("not_found", ann, "session.get", session="nosuch")
        after = self.read(watcher)

        def more(name):
            return after[name] - before.get(name, 0)

        for name, number in {
                'retort_sessions{state="idle"}': 1, "retort_boxes": 1,
                'retort_steps_total{runtime="python",status="ok"}': 1,
                'retort_steps_total{runtime="python",status="error"}': 1,
                'retort_step_outcomes_total{outcome="rolled_back"}': 1,
                "retort_step_seconds_count": 2, 'retort_step_seconds_bucket{le="+Inf"}': 2,
                'retort_step_seconds_bucket{le="300"}': 2, "retort_step_queued_seconds_count": 2,
                'retort_refused_total{reason="sessions"}': 1, "retort_memory_limit_bytes": 1 << 30,
                'retort_operations_total{operation="session.create",code="quota"}': 1,
                'retort_operations_total{operation="session.get",code="not_found"}': 1,
                'retort_operations_total{operation="step.run",code="ok"}': 2}.items():
            self.assertEqual(more(name), number, name)
        self.assertGreater(more("retort_journal_changes_total"), 2)
        self.assertGreater(after["process_resident_memory_bytes"], 1 << 20)
        self.assertGreater(after["retort_journal_bytes"], 4096)
        buckets = [v for k, v in after.items() if k.startswith("retort_step_seconds_bucket")]
        self.assertEqual(buckets, sorted(buckets))
        self.assertTrue(any(k.startswith("retort_standby{") and 'owner="ann"' in k for k in after))


if __name__ == "__main__":
    harness.main()
