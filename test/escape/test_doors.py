# SPDX-License-Identifier: Apache-2.0
"""T-DOOR: what the warden opens in a box for the engine is of that box only, and costs nobody else anything."""

import os
import re
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402

SERVER = "python3 -c '" \
    "import socket, sys; s = socket.create_server((\"127.0.0.1\", int(sys.argv[1]))); c = s.accept()[0]; c.send(sys.argv[2].encode())" \
    "' {} {} >/dev/null 2>&1 &"

# Ends with the errno of bind() or connect(), or 0.
STEAL = "printf 'import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_{}); " \
    "s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1)\\ntry: s.bind((\"0.0.0.0\", {}))\\n" \
    "except OSError as e: print(e.errno)\\nelse: print(0)' | python3 -"
CONNECT = "python3 -c 'import socket; print(socket.socket().connect_ex((\"{}\", {})))'"


class Doors(harness.Case):
    def setUp(self):
        self.boxes = boxes.Boxes()
        self.addCleanup(self.boxes.__exit__)

    def open(self, box, what):
        return int(self.boxes.ask("open", box, what))

    def peer(self, door):
        """The other side of a terminal: its door, and its number in /dev/pts."""
        return [int(word) for word in self.boxes.ask("door", door, "peer").split()]

    def listening(self, box):
        rows = self.boxes.ask("door", self.open(box, "listeners"), "read").split("|")[1:]
        return {int(row.split()[1].split(":")[1], 16) for row in rows if row and row.split()[3] == "0A"}

    def serve(self, box, port, text):
        self.boxes.shell(box, SERVER.format(port, text))
        self.until(lambda: port in self.listening(box))

    def helpers(self):
        """The helpers of the warden that exist."""
        found = []
        with open(f"/proc/{self.boxes.warden_pid()}/task/{self.boxes.warden_pid()}/children", encoding="ascii") as f:
            for pid in f.read().split():
                try:
                    with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                        found += [pid] if comm.read() == "retort-door\n" else []
                except (FileNotFoundError, ProcessLookupError):
                    pass
        return found

    def n_open(self):
        """How many descriptors the warden has."""
        return len(os.listdir(f"/proc/{self.boxes.warden_pid()}/fd"))

    def is_as_before(self):
        """The warden makes boxes and opens doors, and has no helper left."""
        box = self.boxes.create()
        self.open(box, "terminal")
        self.boxes.ask("destroy", box)
        self.until(lambda: not self.helpers())

    def test_T_DOOR_OTHER_sees_a_terminal_of_another_box(self):
        """A box, its branch and another box: each sees only the terminals that were opened in it."""
        mine, other = self.boxes.create("branchable"), self.boxes.create()
        twin = self.boxes.branch(mine)
        doors = {box: self.open(box, "terminal") for box in (mine, other, twin)}
        for box, door in doors.items():
            slave, number = self.peer(door)
            self.assertEqual(number, 0)
            self.assertEqual(self.boxes.shell(box, "ls /dev/pts"), "0\nptmx")
            self.boxes.ask("door", slave, "write", f"of {box}")
        for box, door in doors.items():
            self.assertEqual(self.boxes.ask("door", door, "read"), f"of {box}")
        self.boxes.ask("door", doors[other], "close")
        self.assertEqual(self.boxes.shell(twin, "test -e /dev/pts/0 && echo there"), "there")

    def test_T_DOOR_OTHER_keeps_the_other_side_of_a_closed_terminal(self):
        """A process that keeps a closed terminal open hears nothing of the next one."""
        box = self.boxes.create()
        old = self.open(box, "terminal")
        self.boxes.shell(box, "(exec 3<>/dev/pts/0; touch /tmp/held; cat <&3 >/tmp/heard; touch /tmp/ended; sleep 1000) "
                              ">/dev/null 2>&1 &")
        self.until(lambda: self.boxes.shell(box, "test -e /tmp/held && echo held") == "held")
        self.boxes.ask("door", old, "close")
        self.until(lambda: self.boxes.shell(box, "test -e /tmp/ended && echo ended") == "ended")
        new = self.open(box, "terminal")
        self.assertEqual(self.peer(new)[1], 1)
        self.boxes.ask("door", new, "write", "secret")
        self.assertEqual(self.boxes.shell(box, "cat /tmp/heard"), "")

    def test_T_DOOR_OTHER_is_reached_through_a_socket(self):
        """A socket of a box connects to what listens there, not on the host, in another box, or in its branch."""
        mine, other = self.boxes.create("branchable"), self.boxes.create()
        twin = self.boxes.branch(mine)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self.serve(other, port, "other")
            self.serve(twin, port, "twin")
            self.assertEqual(self.listening(mine), set())
            self.assertEqual(self.boxes.ask("door", self.open(mine, "socket"), "connect", port), "Connection refused")
            self.serve(mine, port, "mine")
            for box, text in ((mine, "mine"), (other, "other"), (twin, "twin")):
                door = self.open(box, "socket")
                self.assertEqual(self.boxes.ask("door", door, "connect", port), "connected")
                self.assertEqual(self.boxes.ask("door", door, "read"), text)
            server.setblocking(False)
            with self.assertRaises(BlockingIOError):
                server.accept()

    def test_T_DOOR_GONE_box_is_destroyed_meanwhile(self):
        """Each request gets its answer, and no helper is left, whenever the box ends."""
        for n in (1, 20, 200):
            for what in ("terminal", "socket", "listeners"):
                said = self.boxes.ask("open-many", self.boxes.create(), what, n, "destroy")
                found = {word: int(count) for word, count in re.findall(r"(\w+)=(\d+)", said)}
                self.assertEqual(sum(found.values()), n, said)
                self.assertLessEqual(set(found), {"none", "gone", "limit"}, said)
        self.is_as_before()

    def test_T_DOOR_GONE_first_process_was_killed(self):
        """The namespaces of a box whose processes have ended cannot be entered any more."""
        box = self.boxes.create("branchable")
        twin = self.boxes.branch(box)
        for pid in (self.boxes.ask("pid", twin), self.boxes.ask("pid", box)):
            os.kill(int(pid), signal.SIGKILL)
        for one in (box, twin):
            self.boxes.await_event(one, "end")
            for what in ("terminal", "socket", "listeners"):
                with self.assertRaisesRegex(boxes.Failed, "^gone: the box"):
                    self.open(one, what)
        self.boxes.ask("destroy", twin)
        self.boxes.ask("destroy", box)
        self.is_as_before()

    def test_T_DOOR_FLOOD_many_at_once(self):
        """Hundreds of requests: all are answered, a box gets its terminals and no more, and others get theirs."""
        box, other = self.boxes.create(), self.boxes.create()
        self.boxes.ask("usage", box)  # now the warden has removed what others left, too
        before = self.n_open()
        said = self.boxes.ask("open-many", box, "terminal", 300)
        self.assertRegex(said, r"^none=64 limit=236$")
        for what in ("socket", "socket6", "listeners", "listeners6"):
            self.assertRegex(self.boxes.ask("open-many", box, what, 300), r"^none=300$")
        kept = [self.open(box, "terminal") for _ in range(64)]
        with self.assertRaisesRegex(boxes.Failed, "^limit: no pseudo-terminal is left"):
            self.open(box, "terminal")
        self.open(other, "terminal")
        self.boxes.ask("door", kept[0], "close")
        self.open(box, "terminal")
        self.is_as_before()
        self.assertEqual(self.n_open(), before)

    def test_T_DOOR_HELPER_is_seen_by_the_box(self):
        """A process of the box that looks at /proc all the time never finds the helper, so it cannot stop or trace it."""
        box = self.boxes.create("branchable")
        twin = self.boxes.branch(box)
        look = "(touch /tmp/looks; while test ! -e /tmp/stop; do cat /proc/[0-9]*/comm; done 2>&1 | grep -c retort-door " \
               ">/tmp/seen; touch /tmp/done) >/dev/null 2>&1 &"
        for one in (box, twin):
            self.boxes.shell(one, look)
            self.until(lambda one=one: self.boxes.shell(one, "test -e /tmp/looks && echo yes") == "yes")
        for _ in range(10):
            self.boxes.ask("open-many", twin, "terminal", 30)
            self.boxes.ask("open-many", twin, "socket", 30)
            for _ in range(10):
                self.boxes.ask("network", twin, "resolver", "0.0.0.0:443")
        for one in (box, twin):
            self.boxes.shell(one, "touch /tmp/stop")
            self.until(lambda one=one: self.boxes.shell(one, "test -e /tmp/done && echo yes") == "yes")
            self.assertEqual(self.boxes.shell(one, "cat /tmp/seen"), "0")

    def test_T_DOOR_HELPER_finds_another_file(self):
        """A box that changes its /dev/pts harms itself at most."""
        box, other = self.boxes.create(), self.boxes.create()
        self.boxes.shell(box, "chmod 0 /dev/pts/ptmx; rm -f /dev/pts/ptmx; mv /dev/pts/ptmx /tmp; mkfifo /dev/pts/fifo; "
                              "ln -sf /dev/zero /dev/pts/ptmx; mv /dev/pts /dev/old; mkdir /dev/pts")
        self.assertEqual(self.boxes.shell(box, "ls /dev/pts"), "ptmx")
        self.assertEqual(self.peer(self.open(box, "terminal"))[1], 0)
        self.assertEqual(self.peer(self.open(other, "terminal"))[1], 0)

    def test_T_DOOR_NET_takes_what_is_meant_for_the_gateway(self):
        """Programs try to have the ports first or as well, in the box, its branch and another box."""
        mine, other = self.boxes.create("branchable"), self.boxes.create()
        twin = self.boxes.branch(mine)
        doors = {box: self.boxes.ask("network", box, "resolver", "0.0.0.0:443", "0.0.0.0:8443").split()[2:]
                 for box in (mine, twin)}
        for box in (mine, twin, other):
            for kind, port, error in (("STREAM", 443, 13), ("DGRAM", 53, 13), ("STREAM", 80, 13), ("STREAM", 8443, 98)):
                said = self.boxes.shell(box, STEAL.format(kind, port))
                self.assertEqual(said, "0" if box == other and port == 8443 else str(error), (box, port))
        for box in doors:
            self.boxes.shell(box, CONNECT.format("198.18.1.0", 8443))
            got = self.boxes.ask("door", doors[box][2], "accept")
            self.assertEqual(self.boxes.ask("door", got, "name"), "198.18.1.0:8443")
        self.assertEqual(self.boxes.shell(other, CONNECT.format("198.18.1.0", 8443)), "101")

    def test_T_DOOR_NET_takes_the_loopback(self):
        """Not even at the engine's request."""
        box = self.boxes.create()
        for word in ("127.0.0.0/8", "127.0.0.1/32", "64.0.0.0/2", "127.0.0.1:8443", "listeners=4294967295"):
            with self.assertRaisesRegex(boxes.Failed, "^(usage|protocol): "):
                self.boxes.ask("network", box, word)
        self.serve(box, 8443, "mine")
        self.assertEqual(self.boxes.ask("door", self.open(box, "socket"), "connect", 8443), "connected")


if __name__ == "__main__":
    harness.main()
