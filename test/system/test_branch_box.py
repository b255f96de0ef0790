# SPDX-License-Identifier: Apache-2.0
"""A branch of a box is a box: its own processes, files, network and limits, and nothing left after it."""

import contextlib
import glob
import os
import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402


SPARE_MAX = 8  # of sandbox/warden/spare.h


def leaves(of):
    """The directories of the leaves of one warden's boxes: others may be at work here. Besides these it may have
    SPARE_MAX leaves for the next boxes; a leaf has a directory in each hierarchy."""
    found = glob.glob(f"/sys/fs/cgroup/**/retort-{of.warden_pid()}-*.*", recursive=True)
    used, spare = set(), set()
    for leaf in found:
        with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
            (used if pathlib.Path(leaf, "cgroup.procs").read_text() else spare).add(leaf)
    assert len({os.path.basename(leaf) for leaf in spare}) <= SPARE_MAX, spare
    return used


class Branches(harness.Case):
    def setUp(self):
        self.boxes = boxes.Boxes()
        self.addCleanup(self.boxes.__exit__)
        self.box = self.boxes.create("branchable", "disk_bytes=67108864", "disk_inodes=2000")

    def test_has_processes_of_its_own(self):
        twin = self.boxes.branch(self.box)
        seen = self.boxes.shell(twin, "cat /proc/[0-9]*/comm | sort | uniq -c | tr -s ' '")
        self.assertIn("1 retort-init", seen)
        self.assertNotIn("2 retort-init", seen)
        self.assertEqual(self.boxes.shell(twin, "echo $PPID"), "2")
        self.assertRegex(self.boxes.shell(twin, "cat /proc/2/stat"), r"^2 \(.*\) . 1 2 2 ")  # child of init, own session

    def test_descriptors_are_its_own(self):
        self.assertEqual(self.boxes.say(self.box, "hold"), "held")
        twin = self.boxes.branch(self.box)
        self.assertRegex(self.boxes.ready, r"reopened 6 lost 2$")
        want = "file 345 gone efg pipe {} events 1 77 count 5 system 9 dir 1 stream 1"
        self.assertEqual(self.boxes.say(twin, "held branch"), want.format(0))
        self.assertEqual(self.boxes.say(self.box, "held parent"), want.format(-1))  # nothing was moved or taken
        third = self.boxes.branch(twin)
        self.assertEqual(self.boxes.say(third, "held branch"),
                         want.format(0).replace("345", "678").replace("efg", "hij").replace(" 1 77 count 5", " 0 0 count 0"))
        self.assertEqual([self.boxes.shell(b, "head -c1 /home/user/held") for b in (self.box, twin)], ["p", "b"])

    def test_stays_in_its_directory(self):
        self.boxes.shell(self.box, "mkdir /home/user/deep; echo x >/home/user/deep/in")
        self.boxes.say(self.box, "cd /home/user/deep")
        twin = self.boxes.branch(self.box)
        self.assertEqual(self.boxes.shell(twin, "cat in; echo y >in; pwd -P"), "x\n/home/user/deep")
        self.assertEqual(self.boxes.shell(self.box, "cat in"), "x")

    def test_has_no_capability(self):
        twin = self.boxes.branch(self.box)
        for pid in 1, 2:
            status = self.boxes.shell(twin, f"grep -E 'Cap|NoNew|Seccomp:' /proc/{pid}/status")
            self.assertEqual(re.findall(r"Cap(?:Inh|Prm|Eff|Bnd|Amb):\t0000000000000000\n", status).__len__(), 5)
            self.assertIn("NoNewPrivs:\t1\nSeccomp:\t2", status)

    def test_workspace_is_a_copy(self):
        self.boxes.shell(self.box, """cd /home/user; mkdir -p d/e; echo one >d/e/f; chmod 640 d/e/f; ln -s d/e/f s;
            mkfifo p; truncate -s 50M hole; echo x >>hole; touch -d 2001-02-03 old; chmod 700 d; touch -d 2002-03-04 d;
            echo t >/tmp/t; mkdir no; echo n >no/n; chmod 0 no/n""".replace("\n", " "))
        look = ("cd /home/user; cat d/e/f /tmp/t; stat -c '%n %A %s %Y' d d/e/f hole old p no/n; readlink s; tail -c2 hole;"
                " test $(stat -c %b hole) -lt 100 && echo sparse")
        before = self.boxes.shell(self.box, look)
        self.assertIn("sparse", before)
        twin = self.boxes.branch(self.box)
        self.assertEqual(self.boxes.shell(twin, look), before)
        self.boxes.shell(twin, "cd /home/user; echo two >d/e/f; rm s; echo u >/tmp/t")
        self.assertEqual(self.boxes.shell(self.box, look), before)
        self.assertEqual(self.boxes.shell(self.box, "stat -c %Y /home/user/d"), self.boxes.shell(twin, "stat -c %Y /home/user/d"))

    def test_workspace_that_does_not_fit(self):
        self.boxes.shell(self.box, "head -c 9000000 /dev/zero >/home/user/big")
        before = leaves(self.boxes)
        with self.assertRaisesRegex(boxes.Failed, "^no_space: write big .*raise it"):
            self.boxes.branch(self.box, "disk_bytes=1000000")
        self.assertRegex(self.boxes.ask("hear", self.box), "^branched ")  # with the copy, if that was sooner
        self.assertEqual(leaves(self.boxes), before)
        self.boxes.branch(self.box)

    def test_too_many_files(self):
        self.boxes.shell(self.box, "cd /home/user; i=0; while [ $i -lt 60 ]; do : >f$i; i=$((i+1)); done")
        with self.assertRaisesRegex(boxes.Failed, "^no_space: "):
            self.boxes.branch(self.box, "disk_inodes=50")

    def test_workspace_of_the_host(self):
        place = os.path.join(harness.TMP, "given")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "host"), "w", encoding="utf-8") as f:
            f.write("hello")
        self.boxes.shell(self.box, "echo own >/home/user/own")
        twin = self.boxes.branch(self.box, f"workspace={place}")
        self.assertEqual(self.boxes.shell(twin, "cat host; ls; echo new >made"), "hellohost")
        self.assertTrue(os.path.exists(os.path.join(place, "made")))
        third = self.boxes.branch(twin)  # and is copied when no other is given
        self.assertEqual(self.boxes.shell(third, "cat host made; rm made; ls"), "hellonew\nhost")
        self.assertTrue(os.path.exists(os.path.join(place, "made")))

    def test_volume_in_the_workspace(self):
        place = os.path.join(harness.TMP, "volume")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "v"), "w", encoding="utf-8") as f:
            f.write("volume")
        box = self.boxes.create("branchable", f"rw={place}:/home/user/sub/vol")
        self.boxes.shell(box, "echo beside >/home/user/sub/beside")
        twin = self.boxes.branch(box, f"rw={place}:/home/user/sub/vol")
        self.assertEqual(self.boxes.shell(twin, "cat sub/vol/v sub/beside"), "volumebeside")
        bare = self.boxes.branch(box)
        self.assertEqual(self.boxes.shell(bare, "ls sub/vol | wc -l; cat sub/beside"), "0\nbeside")

    def test_limits_may_be_lower(self):
        twin = self.boxes.branch(self.box, "disk_bytes=4194304", "open_files=64", "pids=9", "file_bytes=8192")
        self.assertEqual(self.boxes.shell(twin, "ulimit -n; ulimit -f"), "64\n16")
        self.assertIn("4096", self.boxes.shell(twin, "df -k /home/user"))
        free = self.boxes.shell(self.box, "ulimit -n; ulimit -f")
        self.assertNotEqual(free, "64\n16")

    def test_usage_is_its_own(self):
        twin = self.boxes.branch(self.box)
        self.boxes.shell(twin, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
        used = [int(self.boxes.ask("usage", b).split()[3]) for b in (self.box, twin)]
        self.assertGreater(used[1], used[0] + 100000)

    def test_files_copied_count_as_its_own(self):
        if not leaves(self.boxes):
            self.skipTest("no cgroup")
        self.boxes.shell(self.box, "head -c 30000000 /dev/zero >/home/user/big")
        twin = self.boxes.branch(self.box)
        self.assertGreater(int(self.boxes.ask("usage", twin).split()[1]), 30000000)

    def test_network_is_its_own(self):
        twin = self.boxes.branch(self.box)
        self.assertIn("lo", self.boxes.shell(twin, "cat /proc/net/dev"))
        names = [self.boxes.shell(b, "readlink /proc/self/ns/* | sort -u") for b in (self.box, twin)]
        same = set(names[0].split()) & set(names[1].split())
        self.assertEqual({n.split(":")[0] for n in same} - {"cgroup", "time", "time_for_children"}, set())

    def test_branches_of_branches_to_the_limit(self):
        box = self.box
        for depth in range(28):
            try:
                box = self.boxes.branch(box)
            except boxes.Failed as e:
                self.assertGreater(depth, 20, str(e))  # in a container the kernel's own limit comes first
                return
        self.assertEqual(self.boxes.shell(box, "echo alive"), "alive")
        with self.assertRaisesRegex(boxes.Failed, "^limit: .*replaying"):
            self.boxes.branch(box)

    def test_ends_alone(self):
        twins = [self.boxes.branch(self.box) for _ in range(3)]
        self.boxes.ask("destroy", twins[1])
        for box in (self.box, twins[0], twins[2]):
            self.assertEqual(self.boxes.shell(box, "echo alive"), "alive")

    def test_outlives_the_box_it_comes_from(self):
        self.boxes.say(self.box, "fork once")
        twin = self.boxes.branch(self.box)
        third = self.boxes.branch(twin)
        self.boxes.ask("destroy", self.box)
        self.boxes.ask("destroy", twin)
        self.assertEqual(self.boxes.shell(third, "echo alive"), "alive")
        with self.assertRaisesRegex(boxes.Failed, "^gone"):
            self.boxes.ask("branch", self.box)
        fourth = self.boxes.branch(third)
        self.boxes.ask("destroy", third)
        self.boxes.ask("destroy", fourth)
        self.assertEqual(leaves(self.boxes), set())
        self.assertEqual(self.boxes.create("branchable"), self.box)  # and its number is free again

    def test_anchor_keeps_only_init(self):
        self.boxes.say(self.box, "fork once")
        pid = self.boxes.ask("pid", self.box)
        twin = self.boxes.branch(self.box)
        self.boxes.ask("destroy", self.box)
        time.sleep(0.1)
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            self.assertEqual(len(f.read().split()), 1)  # the branch's init
        self.assertEqual(self.boxes.shell(twin, "echo alive"), "alive")

    def test_kill_all_spares_branches(self):
        twin = self.boxes.branch(self.box)
        self.boxes.ask("kill", self.box)
        self.boxes.await_event(self.box, "exited 1 9")
        self.assertEqual(self.boxes.shell(twin, "echo alive"), "alive")
        self.boxes.ask("kill", twin)
        self.boxes.await_event(twin, "exited 1 9")

    def test_end_of_its_driver_is_reported(self):
        twin = self.boxes.branch(self.box)
        self.boxes.ask("send", twin, "exit")
        self.boxes.await_event(twin, "exited 1 1792")

    def test_nothing_is_left_when_the_engine_goes(self):
        with boxes.Boxes() as others:
            box = others.create("branchable")
            warden = others.warden_pid()  # it is there when it has answered
            twin = others.branch(box)
            others.branch(twin)
            pids = [int(others.ask("pid", b)) for b in (box, twin)]
            self.assertTrue(all(os.path.exists(f"/proc/{pid}") for pid in pids))
        self.assertFalse([pid for pid in pids if os.path.exists(f"/proc/{pid}")])
        self.assertEqual(glob.glob(f"/sys/fs/cgroup/**/retort-{warden}-*.*", recursive=True), [])

    def test_box_that_is_not_for_branches(self):
        box = self.boxes.create()
        with self.assertRaisesRegex(boxes.Failed, "^usage: box . is not made to be branched"):
            self.boxes.ask("branch", box)
        self.assertEqual(self.boxes.say(box, "try"), "won 0")

    @unittest.skipIf(harness.IS_EMULATED, "the processor is emulated")
    def test_is_quick(self):
        times = []
        for _ in range(10):
            twin = self.boxes.branch(self.box)
            times.append(self.boxes.took_us)
            self.boxes.ask("destroy", twin)
        self.assertLess(min(times), 20000)


class Rollback(harness.Case):
    def setUp(self):
        self.boxes = boxes.Boxes()
        self.addCleanup(self.boxes.__exit__)
        self.box = self.boxes.create("branchable")

    def back(self, guard):
        self.boxes.ask("rollback", self.box, guard)
        return self.boxes.ask("events", self.box, 300)

    def guard(self):
        return int(self.boxes.say(self.box, "guard").split()[1])

    def test_kills_what_came_later(self):
        old = int(self.boxes.say(self.box, "fork once").split()[1])
        guard = self.guard()
        self.boxes.say(self.box, "fork once")
        self.boxes.say(self.box, "fork twice")
        later = self.guard()
        self.assertRegex(self.back(guard), r"rolled-back 1 5 ")  # driver, child, orphan with child gone, guard
        self.assertEqual(len(self.children()), 2)  # the guard, and the old child that has no parent now
        self.assertNotEqual(old, later)

    def test_driver_that_is_gone(self):
        guard = self.guard()
        self.boxes.ask("send", self.box, "exit")
        self.boxes.await_event(self.box, "exited 1 1792")
        self.assertIn("rolled-back 1 0", self.back(guard))

    def test_guard_that_is_none(self):
        for pid in (2, 1, -5, 4000):
            self.assertIn("failed 1 0", self.back(pid))
        self.assertEqual(self.boxes.shell(self.box, "echo alive"), "alive")

    def test_end_of_a_guard_is_silent(self):
        guard = self.guard()
        self.boxes.shell(self.box, f"kill -9 {guard}")
        self.assertEqual(self.boxes.ask("events", self.box, 100).replace("ready", "").strip(), "")
        self.assertIn("failed 1 0", self.back(guard))

    def children(self):
        init = self.boxes.ask("pid", self.box)
        with open(f"/proc/{init}/task/{init}/children", encoding="ascii") as f:
            return f.read().split()

    def test_a_stopped_guard_ends_though_init_is_kept_busy(self):
        guard = self.guard()
        self.assertEqual(len(self.children()), 2)
        self.boxes.ask("clear", self.box, guard)
        heard, end = "", time.monotonic() + 20
        while len(self.children()) > 1 and time.monotonic() < end:
            self.boxes.ask("mark", self.box)
            heard += self.boxes.ask("events", self.box, 2)
        self.assertIn("cleared 0 0", heard)
        self.assertEqual(len(self.children()), 1)

    def test_the_guard_is_the_driver_then(self):
        guard = self.guard()
        self.back(guard)
        self.boxes.ask("kill", self.box)
        self.boxes.await_event(self.box, "exited 1 9")


if __name__ == "__main__":
    harness.main()
