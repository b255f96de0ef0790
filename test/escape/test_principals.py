# SPDX-License-Identifier: Apache-2.0
"""A caller with a token tries for what is another's, for the host, and for more than its share."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import callers  # noqa: E402
import rpc  # noqa: E402


class Principals(harness.Case):
    def setUp(self):
        super().setUp()
        self.engine = callers.Engine({"eve": "sessions=3 steps=2", "bob": ""})
        self.addCleanup(self.engine.stop)
        self.eve, self.bob = self.engine.caller("eve"), self.engine.caller("bob")

    def refused(self, word, method, **params):
        with self.assertRaises(rpc.Failed) as caught:
            self.eve(method, **params)
        self.assertEqual(caught.exception.code, word)
        return str(caught.exception)

    def test_T_PRINCIPAL_SESSION_is_out_of_reach(self):
        """Name another caller's session in every way, run code in it, read and write its files."""
        made = self.bob("session.create", name="vault")
        secret = self.bob.run(made["session"], "secret = 4711\nopen('f', 'w').write('4711')\nsecret")
        for word in (made["session"], made["session"][:7], "vault"):
            for method, params in (("step.run", {"code": "secret"}), ("file.read", {"path": "f"}),
                                   ("file.write", {"path": "f", "content": "eve"}), ("session.branch", {}),
                                   ("session.log", {}), ("session.export", {}), ("session.close", {}),
                                   ("step.interrupt", {}), ("session.undo", {})):
                said = self.refused("not_found", method, session=word, **params)
                nobody = self.refused("not_found", method, session="nobody", **params)
                self.assertEqual(said.replace(word, "X"), nobody.replace("nobody", "X"))
        seen = str([self.eve("session.list"), self.eve("session.graph"), self.eve("engine.info")])
        for word in (made["session"], "vault", "4711", secret["step"]):
            self.assertNotIn(word, seen)
        # Nothing was done to it.
        self.assertEqual(self.bob.run("vault", "secret")["value"]["text/plain"], "4711")
        self.assertEqual(self.bob("file.read", session="vault", path="f")["content"], "4711")

    def test_T_PRINCIPAL_STEP_that_another_ran_leaves_no_trace(self):
        """Run what another is thought to have run, and look in the log for who was first."""
        def told(caller):
            s = caller("session.create")["session"]
            caller.run(s, "guess = 4711")
            caller.run(s, "1 / 0", atomic=True)
            log = caller("session.log", session=s, all=True)["steps"]
            return [{k: v for k, v in row.items() if k != "created_ms"} | {"session": row["session"] == s}
                    for row in log]

        eve = told(self.eve)
        self.assertEqual(len(eve), 2)
        self.assertEqual(eve, told(self.bob))

    def test_T_PRINCIPAL_PATH_of_the_host_cannot_be_named(self):
        """Ask for directories of the host: as volume, workspace, root, interpreter, by a record."""
        here = harness.make_dir()
        with open(os.path.join(here, "f"), "w", encoding="utf-8") as f:
            f.write("host")
        for name, value in (("volumes", [{"src": here, "dst": "x", "mode": "rw"}]), ("workspace", here),
                            ("rootfs", "/"), ("python", here)):
            self.refused("denied", "session.create", **{name: value})
        s = self.engine.operator("session.create", volumes=[{"src": here, "dst": "x"}])["session"]
        self.engine.operator.run(s, "open('x/f').read()")
        self.refused("denied", "replay.run", record=self.engine.operator("session.export", session=s)["record"])
        self.refused("denied", "engine.doctor")
        with open(os.path.join(here, "f"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "host")
        self.assertEqual(os.listdir(here), ["f"])

    def test_T_PRINCIPAL_SHARE_is_not_exceeded(self):
        """Make more sessions than the token allows, by each way there is."""
        first = self.eve("session.create")["session"]
        made = [first] + [self.eve("session.branch", session=first)["session"] for _ in range(2)]
        for method, params in (("session.create", {}), ("session.create", {"fresh": True}),
                               ("session.branch", {"session": first})):
            self.refused("quota", method, **params)
        self.eve("session.close", session=made.pop())
        self.eve("session.create")
        self.refused("quota", "session.create")
        self.assertEqual(len(self.eve("session.list")["sessions"]), 3)
        for _ in range(4):
            self.bob("session.create")


if __name__ == "__main__":
    harness.main()
