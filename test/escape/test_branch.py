# SPDX-License-Identifier: Apache-2.0
"""The window in which a box's clone into new namespaces is let through, and what comes out of it."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402

# What must be refused to a process with every capability over its own namespaces.
REFUSED = {"mount", "umount", "setns", "unshare", "clone", "pivot", "chroot", "hostname", "raw", "packet", "netlink",
           "ifup", "bridge", "tunnel", "ethtool", "iptables", "xfrm", "mknod", "filecap"}


def processes_of(pid):
    """All that descend from process @pid."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = [int(word) for word in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return children + [below for child in children for below in processes_of(child)]


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Window(harness.Case):
    def setUp(self):
        self.boxes = boxes.Boxes()
        self.addCleanup(self.boxes.__exit__)
        self.box = self.boxes.create("branchable")
        self.init = int(self.boxes.ask("pid", self.box))

    def failed(self, name, error):
        """A hostile driver gets an error, nothing is left of it, and the warden is as before."""
        with self.assertRaisesRegex(boxes.Failed, error):
            self.boxes.hostile(name, self.box)
        self.is_as_before()

    def ends_in_the_middle(self, name, said="^gone: "):
        """Or, if the first process is that slow, when all is ready. Whatever fails by that, its end is told."""
        try:
            self.boxes.ask("destroy", self.boxes.hostile(name, self.box))
        except boxes.Failed as e:
            self.assertRegex(str(e), said)

    def is_as_before(self):
        other = self.boxes.create("branchable")
        self.boxes.branch(other)
        self.boxes.ask("destroy", other)
        end = time.monotonic() + 10
        while self.nested() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.nested(), [])

    def nested(self):
        """Processes below the box's init that are in a pid namespace of their own."""
        return [pid for pid in processes_of(self.init) if self.is_nested(pid)]

    def is_nested(self, pid):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                own = next(line for line in f if line.startswith("NSpid")).split()
        except FileNotFoundError:
            return False
        with open(f"/proc/{self.init}/status", encoding="ascii") as f:
            return len(own) > len(next(line for line in f if line.startswith("NSpid")).split())

    def test_T_BRANCH_WINDOW_out_of_turn(self):
        """The very clone of a branch when none is expected: before one, after one, and in the branch."""
        self.assertEqual(self.boxes.say(self.box, "try"), "won 0")
        twin = self.boxes.branch(self.box)
        self.assertEqual(self.boxes.say(self.box, "try"), "won 0")
        self.assertEqual(self.boxes.say(twin, "try"), "won 0")

    def test_T_BRANCH_WINDOW_all_the_time(self):
        """Processes and threads that try without end while branches are made, in box and branches."""
        self.boxes.say(self.box, "spin 4")
        made = [self.boxes.branch(self.box) for _ in range(10)]
        self.boxes.say(made[0], "spin 2")
        made.append(self.boxes.branch(made[0]))
        time.sleep(1)
        for box in [self.box, *made]:
            word, won, _, tried = self.boxes.say(box, "spun").split()
            self.assertEqual((word, won), ("won", "0"))
        self.assertGreater(int(tried), 0)

    def test_T_BRANCH_WINDOW_another_process(self):
        """A child of the driver asks in the moment that is the driver's."""
        self.failed("child-asks", "^gone: the driver gave up")
        self.assertEqual(self.boxes.ask("hear", self.box), "asked EPERM")

    def test_T_BRANCH_WINDOW_twice(self):
        """One branch, one clone."""
        twin = self.boxes.hostile("again", self.box)
        self.boxes.ask("destroy", twin)
        self.assertEqual(self.boxes.ask("hear", self.box), "cloned done")
        self.assertEqual(self.boxes.ask("hear", self.box), "again EPERM")

    def test_T_BRANCH_WINDOW_second_of_two(self):
        """The first process never says a word and lets the driver go on, which asks for another one."""
        self.failed("second", "^box: the driver asked for a second first process")
        self.assertEqual(self.boxes.ask("hear", self.box), "made 1 EPERM")

    def test_T_BRANCH_WINDOW_second_by_a_thread(self):
        """While the driver waits for the first process, another thread takes its id and asks for another one."""
        self.failed("second-thread", "^box: the driver asked for a second first process")
        self.assertEqual(self.boxes.ask("hear", self.box), "made 1 EPERM")

    def test_T_BRANCH_WINDOW_second_after_the_first(self):
        """The first process says its word and ends, and the driver asks for another one before that is noticed."""
        self.boxes.say(self.box, "spin 2")
        for _ in range(harness.sample(40, 1000)):
            self.ends_in_the_middle("dies-again", "^(gone: |box: the driver asked for a second first process)")
            self.assertEqual(self.boxes.ask("hear", self.box), "made 1 EPERM")
        self.is_as_before()

    def test_T_BRANCH_WINDOW_out_of_order(self):
        """Of two branches that are asked for at once, the second one's clone is refused in the first one's time."""
        box, _, said = self.boxes.ask("out-of-turn", self.box).partition(" ")
        self.assertEqual(self.boxes.ask("hear", box)[:8], "ready 0 ")
        self.boxes.ask("destroy", box)
        self.assertRegex(said, r"^first branched \d+: ; second branched -1: the driver gave up the branch; "
                               r"third: box \d+ is being branched already$")
        self.is_as_before()

    def test_T_BRANCH_WINDOW_names_another(self):
        """A process of the box passes itself off as the branch's first."""
        self.failed("wrong-c", "^protocol: byte 67")

    def test_T_BRANCH_CAPABILITY_under_the_filter(self):
        """The branch's first process keeps all capabilities and tries what they open."""
        twin = self.boxes.hostile("capable", self.box)
        said = dict(word.split("=") for word in self.boxes.ask("hear", twin).split())
        for what in sorted(REFUSED):
            self.assertIn(said[what], ("EPERM", "EAFNOSUPPORT", "EOPNOTSUPP"), what)
        self.assertEqual(said["nodelay"], "done")
        self.assertEqual(said["ifget"], "done")

    def test_T_BRANCH_STALL_silent_driver(self):
        """Never asks: the branch fails in time, and others can be made."""
        other = self.boxes.create("branchable")
        self.failed("silent", "^box: the branch was not asked for in time")
        self.boxes.branch(other)

    def test_T_BRANCH_STALL_silent_child(self):
        """Clones, and the new process never says a word: it is found and killed."""
        self.failed("silent-child", "^(gone: the driver gave up|box: the branch was not started)")

    def test_T_BRANCH_STALL_closes(self):
        """Takes the descriptors and closes them."""
        self.failed("closes", "^gone: the driver gave up")

    def test_T_BRANCH_STALL_noise(self):
        """Says what no driver says."""
        self.failed("noise", "^protocol: byte 88")

    def test_T_BRANCH_STALL_dies(self):
        """The branch's first process ends in the middle."""
        for _ in range(30):
            self.ends_in_the_middle("dies")
        self.is_as_before()

    def test_T_BRANCH_STALL_spins(self):
        """Asking without end costs the asker, not the warden."""
        self.boxes.say(self.box, "spin 4")
        warden = self.boxes.warden_pid()
        before = cpu_s(warden)
        time.sleep(2)
        self.assertLess(cpu_s(warden) - before, 0.2)
        self.assertNotEqual(self.boxes.say(self.box, "spun").split()[3], "0")

    def test_T_BRANCH_STALL_repeats(self):
        """Asks again as soon as the first process has ended, which is as if there had been none."""
        self.failed("repeats", "^box: the driver asked for the clone of one branch more than 64 times")
        self.assertEqual(self.boxes.ask("hear", self.box), "made 64 EPERM")

    def test_T_BRANCH_OUTLIVE_without_init(self):
        """The branch's first process never becomes init: it ends when the branch is destroyed."""
        twin = self.boxes.hostile("stays", self.box)
        pid = int(self.boxes.ask("pid", twin))
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        self.boxes.ask("destroy", twin)
        with self.assertRaises(OSError):
            with open(f"/proc/{pid}/environ", "rb") as f:
                f.read(1)
                raise ProcessLookupError  # a zombie has none
        self.assertEqual(self.boxes.ask("hear", self.box), "cloned done")

    def test_T_BRANCH_SIBLING_cannot_see(self):
        """Neither branch nor box sees or signals the other's processes by number."""
        one, two = self.boxes.branch(self.box), self.boxes.branch(self.box)
        self.boxes.say(two, "fork once")
        self.assertEqual(self.boxes.shell(one, "set -- /proc/[0-9]*; echo $#"), "3")  # init, driver, sh
        with self.assertRaises(boxes.Failed):
            self.boxes.shell(one, "kill -9 -1")
        self.assertEqual(self.boxes.shell(two, "echo alive"), "alive")
        self.assertEqual(self.boxes.shell(self.box, "echo alive"), "alive")


if __name__ == "__main__":
    harness.main()
