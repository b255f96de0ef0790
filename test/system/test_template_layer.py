# SPDX-License-Identifier: Apache-2.0
"""The files of a template in a box: beside volumes, and on hosts whose /usr is of several mounts."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import registry  # noqa: E402
import service  # noqa: E402

USE = "print(open('/opt/words/x').read(), end='')\nimport greeter; print(greeter.WORD)"

# A root that is an overlay, as in a container: $1 overlays on each other, then a command.
PIVOT = r"""
set -e
mount -t tmpfs none /mnt
lower=/
for i in $(seq $1); do
    mkdir /mnt/upper$i /mnt/work$i /mnt/root$i
    mount -t overlay none -o lowerdir=$lower,upperdir=/mnt/upper$i,workdir=/mnt/work$i /mnt/root$i
    lower=/mnt/root$i
done
cd $lower
for place in proc dev sys tmp; do mount --rbind /$place $place; done
mkdir old
pivot_root . old
cd /
umount -l /old
shift
exec "$@"
"""


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.there = registry.Registry()
        self.addCleanup(self.there.stop)
        self.env = {**self.there.env, "XDG_STATE_HOME": self.state}

    def build(self, *args, status=0):
        done = harness.retort("template", "build", "words", *args, env=self.env)
        self.assertEqual(done.status, status, done)
        return done

    def run_in(self, code, *options):
        done = harness.run(code, "--template", "words", *options, env=self.env)
        self.assertEqual(done.status, 0, done)
        return done.out

    def elsewhere(self, script, *args, command=("run", "--template", "words", "-c", USE)):
        """`retort run` of what is in /opt/words, on a host that a script of root has changed."""
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", *args, harness.RETORT, *command], check=False,
            capture_output=True, text=True, env=harness.environment(self.env), timeout=harness.TIMEOUT_S, cwd="/")


class Volumes(Case):
    def test_they_cover_the_files(self):
        folder = harness.make_dir()
        with open(os.path.join(folder, "mine"), "w", encoding="ascii") as f:
            f.write("mine\n")
        self.build("--", "sh", "-c", "mkdir d; echo theirs >d/mine; echo theirs >x")
        listed = "import os; print(sorted(os.listdir('/opt/words')), os.listdir({0!r}), open({0!r} + '/mine').read())"
        for at, names in (("/opt/words/d", ["d", "x"]), ("/opt/words/new", ["d", "new", "x"]), ("/opt/new", ["d", "x"]),
                          ("/usr/share/doc", ["d", "x"])):
            with self.subTest(at=at):
                self.assertEqual(self.run_in(listed.format(at), "-v", f"{folder}:{at}"), f"{names} ['mine'] mine\n\n")
        # a file
        path = os.path.join(folder, "mine")
        self.assertEqual(self.run_in("print(open('/opt/words/x').read())", "-v", f"{path}:/opt/words/x"), "mine\n\n")


@unittest.skipUnless(registry.PIP, "no pip")
class Hosts(Case):
    def setUp(self):
        super().setUp()
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        self.build("--pip", "greeter", "--", "sh", "-c", "echo text >x")

    @harness.needs_root("mounts something")
    def test_something_is_mounted_below_usr(self):
        done = self.elsewhere('mount -t tmpfs none /usr/share/doc; exec "$@"')
        self.assertEqual((done.returncode, done.stdout), (0, "text\nhello\n"), done)
        # the layer has files in that very directory
        done = self.elsewhere('mount -t tmpfs none /usr/local/lib; exec "$@"')
        self.assertEqual((done.returncode, done.stdout), (0, "text\nhello\n"), done)
        # it has a directory beside what is mounted, which cannot be added
        done = self.elsewhere('mount -t tmpfs none /usr/local/lib; mkdir /usr/local/lib/x; '
                              'mount -t tmpfs none /usr/local/lib/x; exec "$@"')
        self.assertEqual((done.returncode, done.stdout), (125, ""), done)
        self.assertIn("which cannot be added to a directory of the host", done.stderr)
        self.assertIn("something is mounted below it", done.stderr)

    @harness.needs_root("mounts something")
    def test_the_root_is_an_overlay(self):
        done = self.elsewhere(PIVOT, "1")
        self.assertEqual((done.returncode, done.stdout), (0, "text\nhello\n"), done)
        done = self.elsewhere(PIVOT, "2")
        self.assertEqual((done.returncode, done.stdout), (125, ""), done)
        self.assertIn("overlay of overlays", done.stderr)

    @harness.needs_root("mounts something")
    def test_a_build_where_no_id_can_be_mapped(self):
        self.env["XDG_STATE_HOME"] = "/root/state"  # of the overlay
        done = self.elsewhere(PIVOT, "1", command=("template", "build", "other", "--", "true"))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("no id-mapped mounts, as an overlay; set XDG_STATE_HOME, or be an ordinary user\n", done.stderr)

    def test_another_root(self):
        done = harness.run("import greeter; print(greeter.WORD)", "--rootfs", self.state, "--template", "words", env=self.env)
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn("template and rootfs: the packages of a template are for the host's system", done.err)

    def test_the_layer_is_gone(self):
        state = os.path.join(self.state, "retort")
        with service.Engine(state=state, env=self.env) as engine:
            s = engine.session(template="words")
            s.run("x = 1")
        shutil.rmtree(os.path.join(state, "layers"))
        with service.Engine(state=state, env=self.env) as engine:
            for method, params in (("step.run", {"session": s.id, "code": "x"}), ("session.create", {"template": "words"})):
                with self.assertRaisesRegex(service.Refused, "template words: the layer [0-9a-f]{12}… does not exist any more"):
                    engine.call(method, **params)
            self.assertEqual(engine.session().run("6 * 7")["value"]["text/plain"], "42")


del Case


if __name__ == "__main__":
    harness.main()
