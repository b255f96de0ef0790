# SPDX-License-Identifier: Apache-2.0
"""Of a session that was branched the next branch is made before it is asked for, and is as good as any."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc  # noqa: E402
import harness  # noqa: E402

QUIET_S = 0.4  # after which what is made in idle time is there, unless the machine is busy


class Case(harness.Case):
    options = ("--standby", "2")

    def setUp(self):
        self.engine = rpc.Engine(*self.options)
        self.client = self.engine.client()
        self.create_and_close()
        self.before = self.settled()

    def tearDown(self):
        self.assertEqual(self.engine.stop(), 0, self.engine.said())

    def create_and_close(self):
        self.close(self.create())

    def create(self, **options):
        return self.client("session.create", **options)["session"]

    def branch(self, session, **options):
        return self.client("session.branch", session=session, **options)["session"]

    def close(self, session):
        self.client("session.close", session=session)

    def value(self, session, code):
        return self.client.value(session, code)

    def inits(self):
        """The first processes of the boxes; that of a new branch is called so only when it has run for a moment."""
        return {p for p in rpc.descendants(self.engine.warden) if rpc.nested(p)[-1:] == [1]}

    def settled(self):
        """The boxes there are, when their number has stayed for a while."""
        until, last = time.monotonic() + harness.TIMEOUT_S, None
        while time.monotonic() < until:
            now = self.inits()
            if now == last:
                return now
            last = now
            time.sleep(QUIET_S)
        raise AssertionError("boxes are made and ended all the time")

    def await_inits(self, is_so, what):
        until = time.monotonic() + harness.TIMEOUT_S
        while not is_so(self.inits()):
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.02)

    def branched(self, session):
        """It has been branched, and what comes of that is there."""
        self.close(self.branch(session))
        return self.settled()

    def took_one(self, ready, session, **options):
        """A branch that is made now: was its box there before?"""
        child = self.branch(session, **options)
        now = self.inits()
        self.client("session.close", session=child)
        self.await_inits(lambda left: (ready | now) - left, "the branch's box has stayed")
        return bool(ready - self.inits())


class Ready(Case):
    def test_none_of_one_that_was_never_branched(self):
        self.create()
        self.value(self.create(), "1")
        self.assertEqual(len(self.settled()), len(self.before) + 2)

    def await_ready(self, session):
        """In the end a branch is taken that was there before."""
        until = time.monotonic() + harness.TIMEOUT_S
        while not self.took_one(self.branched(session), session):
            self.assertLess(time.monotonic(), until, "no branch is made before it is asked for")

    def test_the_next_branch_is_there_before(self):
        session = self.create()
        self.value(session, "x = 41; open('f', 'w').write('text'); 0")
        for _ in range(3):
            self.await_ready(session)
        child = self.branch(session, name="mine")
        self.assertEqual(self.value(child, "[x + 1, open('f').read()]"), [42, "text"])
        self.assertEqual(self.value(child, "import os; os.environ['RETORT_SESSION']"), child)
        told = {s["session"]: s for s in self.client("session.list")["sessions"]}
        self.assertEqual((told[child]["name"], told[child]["parent"], told[child]["steps"]), ("mine", session, 3))
        self.assertEqual(set(told), {session, child})
        self.assertEqual(self.value(session, "x"), 41)

    def test_what_is_random_differs(self):
        code = "import random, uuid, os; [random.random(), str(uuid.uuid4()), os.urandom(8).hex()]"
        session = self.create()
        self.value(session, "import random, uuid; random.random()")
        given = []
        for _ in range(3):
            self.branched(session)
            child = self.branch(session)
            given += self.value(child, code)
            self.close(child)
        given += self.value(session, code)
        self.assertEqual(len(set(given)), 12, given)

    def test_a_seed_gives_the_same(self):
        """Whether the branch was ready or not."""
        given = []
        for is_ready in (False, True):
            session = self.create(seed=7)
            self.value(session, "import random; random.random()")
            if is_ready:
                self.branched(session)
            child = self.branch(session)
            given.append(self.value(child, "[random.random(), __import__('os').urandom(4).hex()]"))
            self.close(child)
            self.close(session)
        self.assertEqual(given[0], given[1])

    def test_neither_sees_the_other(self):
        session = self.create()
        self.value(session, "x = [1]; 0")
        self.branched(session)
        one, two = self.branch(session), self.branch(session)
        for i, s in enumerate((one, two, session)):
            self.assertEqual(self.value(s, f"x.append({i}); open('f', 'x').write('{i}'); x"), [1, i])
        self.assertEqual([self.value(s, "open('f').read()") for s in (one, two, session)], ["0", "1", "2"])

    def test_a_rollback_and_an_undo_in_it(self):
        session = self.create()
        self.value(session, "x = 1; x")
        self.branched(session)
        child = self.branch(session)
        self.assertEqual(self.client.run(child, "x = 2; import os; os._exit(3)")["state"]["outcome"], "rolled_back")
        self.assertEqual(self.value(child, "x"), 1)
        self.value(child, "x = 5; x")
        self.client("session.undo", session=child)
        self.assertEqual(self.value(child, "x"), 1)
        grandchild = self.branch(child)
        self.assertEqual(self.value(grandchild, "x"), 1)

    def test_a_branch_after_what_its_session_did(self):
        """What was ready is of an older state, and not given."""
        session = self.create()
        self.value(session, "x = 1; x")
        self.branched(session)
        self.value(session, "x = 2; x")
        self.assertEqual(self.value(self.branch(session), "x"), 2)
        self.branched(session)
        self.client("file.write", session=session, path="f", content="late")
        self.assertEqual(self.value(self.branch(session), "open('f').read()"), "late")
        self.branched(session)
        self.client("session.undo", session=session)
        self.branched(session)
        self.client("session.undo", session=session)
        self.assertEqual(self.value(self.branch(session), "x"), 1)

    def test_nothing_is_left(self):
        sessions = [self.create() for _ in range(4)]
        for session in sessions:
            self.value(session, "x = 1; x")
            self.branched(session)
        for session in sessions:
            self.close(session)
        self.await_inits(lambda left: len(left) <= len(self.before), "a box was forgotten")

    def test_at_most_so_many(self):
        """Those of the sessions that were branched last."""
        sessions = [self.create() for _ in range(4)]
        for session in sessions:
            self.value(session, "x = 1; x")
        for session in sessions:
            self.branched(session)
        n = len(self.before) + 2 * len(sessions) + 2  # of each its box, and its stem's
        self.await_inits(lambda now: len(now) == n, f"not {n} boxes")
        ready = self.settled()
        self.assertEqual(len(ready), n)
        self.assertEqual([self.took_one(ready, s) for s in (sessions[3], sessions[2])], [True, True])

    def test_one_that_was_killed(self):
        session = self.create()
        self.value(session, "x = 1; x")
        before = self.settled()
        self.branched(session)
        for init in self.settled() - before:
            for pid in rpc.descendants(init):
                if rpc.name_of(pid).startswith("python"):
                    os.kill(pid, signal.SIGSTOP)  # what is ready does not answer, or is the stem
                    os.kill(pid, signal.SIGKILL)
        time.sleep(QUIET_S)
        for _ in range(2):  # the stem may have been among them: then its session is made again first
            try:
                child = self.branch(session)
                break
            except rpc.Failed as e:
                self.assertEqual(e.code, "gone", str(e))
                self.client.run(session, "0")
        self.assertEqual(self.value(child, "x"), 1)

    def test_closed_while_it_is_made(self):
        for i in range(10):
            session = self.create()
            self.value(session, "x = 1; x")
            self.close(self.branch(session))
            time.sleep(0.095 + 0.002 * i)  # what is made in idle time begins about now
            self.close(session)
        self.await_inits(lambda left: len(left) <= len(self.before), "a box was forgotten")

    def test_asked_for_while_it_is_made(self):
        session = self.create()
        self.value(session, "x = 1; x")
        for i in range(10):
            child = self.branch(session)
            self.assertEqual(self.value(child, "x"), 1)
            self.close(child)
            time.sleep(0.095 + 0.002 * i)


class Hooks(Case):
    def test_one_that_can_not_be_made_costs_nothing(self):
        """Its hook runs as it is made; and it is not tried again and again."""
        session = self.create()
        self.value(session, "import os; os.register_at_fork(after_in_child=lambda: os._exit(3)); x = 1; x")
        with self.assertRaises(rpc.Failed):
            self.branch(session)
        self.settled()
        self.assertEqual(self.value(session, "1 + 1"), 2)


class Host(Case):
    def test_none_of_a_session_that_writes_to_the_host(self):
        where = harness.make_dir()
        session = self.create(workspace=where)
        self.value(session, "x = 1; x")
        ready = self.branched(session)
        self.assertFalse(self.took_one(ready, session))


class None_(Case):
    options = ("--standby", "0")

    def test_none(self):
        session = self.create()
        self.value(session, "x = 1; x")
        ready = self.branched(session)
        self.assertFalse(self.took_one(ready, session))

    def test_too_many(self):
        done = harness.retort("serve", "--standby", "17")
        self.assertEqual(done.status, 2, done)
        self.assertIn("16", done.err)


if __name__ == "__main__":
    harness.main()
