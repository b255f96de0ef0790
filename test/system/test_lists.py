# SPDX-License-Identifier: Apache-2.0
"""Lists of thousands: told page by page, and made while others are served."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import callers  # noqa: E402
import rpc  # noqa: E402

IDENTITY = "user"
STEPS = 4000


class Pages(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = callers.Engine({"ann": "", "bob": ""}, "--standby", "0")
        cls.ann, cls.bob = cls.engine.caller("ann"), cls.engine.caller("bob")
        # Two that are only in the journal, two that live; one that is closed, one of bob's.
        cls.made = [cls.ann("session.create", runtime="shell")["session"] for _ in range(3)]
        cls.ann("session.close", session=cls.made.pop())
        cls.bobs = cls.bob("session.create", runtime="shell")["session"]
        cls.engine.stop()
        cls.engine.start()
        cls.ann.port = cls.bob.port = cls.engine.port
        cls.made += [cls.ann("session.create", runtime="shell")["session"] for _ in range(2)]

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()
        super().tearDownClass()

    def page(self, ask, **params):
        said = ask("session.list", **params)
        return [row["session"] for row in said["sessions"]], said.get("truncated", False)

    def test_a_list_goes_on_before_its_last(self):
        newest = self.made[::-1]
        self.assertEqual(self.page(self.ann), (newest, False))
        self.assertEqual(self.page(self.ann, limit=4), (newest, False))
        self.assertEqual(self.page(self.ann, limit=3), (newest[:3], True))
        self.assertEqual(self.page(self.ann, before=newest[2]), (newest[3:], False))
        self.assertEqual(self.page(self.ann, limit=2, before=newest[0]), (newest[1:3], True))
        self.assertEqual(self.page(self.ann, before=newest[3]), ([], False))

    def test_each_sees_his_own(self):
        self.assertEqual(self.page(self.bob, limit=1), ([self.bobs], False))
        everybodys, _ = self.page(self.engine.operator)
        self.assertEqual(set(everybodys), {*self.made, self.bobs})
        with self.assertRaises(rpc.Failed) as caught:
            self.bob("session.list", before=self.made[0])
        self.assertEqual(caught.exception.code, "not_found")
        self.assertEqual([ask("engine.info")["sessions"] for ask in (self.ann, self.bob, self.engine.operator)], [4, 1, 5])

    def test_one_that_was_closed_since_still_tells_where_to_go_on(self):
        at = self.ann("session.create", runtime="shell")["session"]
        self.ann("session.close", session=at)
        self.assertEqual(self.page(self.ann, before=at), (self.made[::-1], False))

    def test_the_command_lists_all(self):
        done = harness.retort("session", "ls", "--socket", self.engine.path, "--quiet")
        self.assertEqual(set(done.out.split()), {*self.made, self.bobs})


class Between(harness.Case):
    """An answer that takes several turns of the loop does not keep others from theirs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.engine = rpc.Engine()
        cls.client = cls.engine.client()
        cls.session = cls.client("session.create", runtime="shell")["session"]
        for i in range(STEPS):
            cls.client("file.write", session=cls.session, path="f", content=str(i))

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()
        super().tearDownClass()

    def passed(self, method, **params):
        """What `method` answers, asked for before engine.info and answered after it."""
        long, short = self.client.send(method, **params), self.client.send("engine.info")
        answers = [self.client.receive() for _ in range(2)]
        self.assertEqual([number for number, _ in answers], [short, long], method)
        return rpc.Client.result(answers[1][1])

    def test_the_log(self):
        for is_all in (False, True):
            steps = self.passed("session.log", session=self.session, all=is_all)["steps"]
            self.assertEqual([len(steps), len({s["step"] for s in steps})], [STEPS, STEPS])
            for step, parent in zip(steps, steps[1:]):
                self.assertEqual(step["parent"], parent["step"])

    def test_the_graph(self):
        said = self.passed("session.graph")
        self.assertEqual(len({s["step"] for s in said["steps"]}), STEPS)
        numbers = [s["seq"] for s in said["steps"]]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.assertEqual([row["session"] for row in said["heads"]], [self.session])

    def test_code_is_bounded(self):
        """Megabytes of code in each step: the newest are told, and that there are more."""
        s = self.client("session.create", runtime="shell")["session"]
        for i in range(5):
            self.client.run(s, f"true {i} # " + "x" * (9 << 20))
        for is_all in (False, True):
            said = self.client("session.log", session=s, all=is_all)
            self.assertEqual((len(said["steps"]), said["truncated"]), (4, True))
        self.client("session.close", session=s)


if __name__ == "__main__":
    harness.main()
