# SPDX-License-Identifier: Apache-2.0
"""The door of a box's network: what programs connect to reaches sockets that the engine has, and nothing else changes."""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import boxes  # noqa: E402
import harness  # noqa: E402

# In a box: what became of a connection, a datagram, a bind.
CONNECT = "import socket, errno; s = socket.socket(); r = s.connect_ex((\"{}\", {})); print(errno.errorcode.get(r, \"connected\")); " \
          "r or s.send(b\"hello\")"
SEND = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((\"{}\", {})); s.send(b\"question\")"
BIND = "import socket, errno\ntry: s = socket.socket(); [s.setsockopt(socket.SOL_SOCKET, o, 1) for o in {}]; s.bind((\"{}\", {})); " \
       "s.listen(); print(\"bound\")\nexcept OSError as e: print(errno.errorcode[e.errno])"
SERVE = "import socket, time; s = socket.create_server((\"{}\", {})); open(\"/tmp/serves\", \"w\"); time.sleep(1000)"


class NetworkDoor(harness.Case):
    def setUp(self):
        self.boxes = boxes.Boxes()
        self.addCleanup(self.boxes.__exit__)

    def network(self, box, *words):
        """The doors, None for each socket that was left out."""
        said = self.boxes.ask("network", box, *words).split()
        return [None if word == "-" else int(word) for word in said[2:]]

    def python(self, box, code):
        return self.boxes.shell(box, f"printf '{code}' | python3 -".replace("\n", "\\n"))

    def connect(self, box, ip, port):
        return self.python(box, CONNECT.format(ip, port))

    def bind(self, box, ip, port, *options):
        return self.python(box, BIND.format(list(options), ip, port))

    def kinds(self):
        """A box, one that can be branched, its branch and the branch of that."""
        stem = self.boxes.create("branchable")
        twin = self.boxes.branch(stem)
        return [self.boxes.create(), stem, twin, self.boxes.branch(twin)]

    def is_led(self, box, listener, ip, port):
        """A program's connection to that address arrives at the listener, which learns the address."""
        self.assertEqual(self.connect(box, ip, port), "connected")
        got = int(self.boxes.ask("door", listener, "accept"))
        self.assertEqual(self.boxes.ask("door", got, "name"), f"{ip}:{port}")
        self.assertEqual(self.boxes.ask("door", got, "read"), "hello")

    def test_connections_and_questions_arrive(self):
        for box in self.kinds():
            self.assertEqual(self.connect(box, "198.18.1.0", 443), "ENETUNREACH")
            resolver, http, https, other, literal = self.network(
                box, "resolver", "0.0.0.0:80", "0.0.0.0:443", "0.0.0.0:5432", "93.184.216.34:8080", "93.184.216.0/24")
            for door, name in ((resolver, "198.18.0.1:53"), (http, "0.0.0.0:80"), (https, "0.0.0.0:443"),
                               (other, "0.0.0.0:5432"), (literal, "93.184.216.34:8080")):
                self.assertEqual(self.boxes.ask("door", door, "name"), name)
            self.is_led(box, https, "198.18.1.0", 443)
            self.is_led(box, http, "198.19.255.255", 80)
            self.is_led(box, other, "93.184.216.255", 5432)
            self.is_led(box, literal, "93.184.216.34", 8080)
            self.python(box, SEND.format("198.18.0.1", 53))
            self.assertEqual(self.boxes.ask("door", resolver, "read"), "question")
            for ip in ("198.17.255.255", "198.20.0.0", "93.184.217.0", "169.254.169.254", "8.8.8.8"):
                self.assertEqual(self.connect(box, ip, 443), "ENETUNREACH")
            self.assertEqual(self.connect(box, "198.18.1.0", 444), "ECONNREFUSED")

    def test_is_of_this_box_only(self):
        """Neither another box nor a branch has the network of a box: each gets its own."""
        kinds = self.kinds()
        doors = {}
        for i, box in enumerate(kinds):
            for other in kinds[i:]:
                self.assertEqual(self.connect(other, "198.18.0.1", 443), "ENETUNREACH")
            doors[box], = self.network(box, "0.0.0.0:443")
        for box, door in doors.items():
            self.is_led(box, door, "198.18.1.0", 443)

    def test_further_request_adds_what_is_new(self):
        for box in self.kinds():
            first = self.network(box, "resolver", "0.0.0.0:443", "10.1.0.0/16")
            self.assertNotIn(None, first)
            *taken, ssh = self.network(box, "resolver", "0.0.0.0:443", "0.0.0.0:22", "10.1.0.0/16", "10.2.3.4/32")
            self.assertEqual(taken, [None, None])
            self.is_led(box, ssh, "10.2.3.4", 22)
            self.is_led(box, first[1], "10.1.255.1", 443)
            self.assertEqual(self.network(box), [])
            self.boxes.ask("door", ssh, "close")
            self.assertNotIn(None, self.network(box, "0.0.0.0:22"))

    def test_most_of_one_request(self):
        box = self.boxes.create()
        doors = self.network(box, "resolver", *(f"0.0.0.0:{port}" for port in range(1, 15)),
                             *(f"10.0.{i}.0/24" for i in range(64)))
        self.assertEqual(len([door for door in doors if door]), 15)
        self.is_led(box, doors[14], "10.0.63.1", 14)

    def test_port_that_a_program_has(self):
        """A program's own port is left out, and so goes on working; the rest is opened."""
        for box in self.kinds():
            self.boxes.shell(box, f"printf '{SERVE.format('127.0.0.1', 8080)}' | python3 - >/dev/null 2>&1 &")
            self.boxes.shell(box, "until test -e /tmp/serves; do sleep 0.02; done")
            https, own, beside = self.network(
                box, "0.0.0.0:443", "0.0.0.0:8080", "10.1.1.1:8080", "10.1.1.1/32")
            self.assertIsNone(own)
            self.assertEqual(self.connect(box, "127.0.0.1", 8080), "connected")
            self.is_led(box, beside, "10.1.1.1", 8080)
            self.is_led(box, https, "10.1.1.1", 443)

    def test_connections_to_a_listener_cannot_be_taken(self):
        """Whatever its options, no socket of a program can be bound where a listener or the resolver is."""
        for box in self.kinds():
            everywhere, here, _ = self.network(box, "0.0.0.0:8080", "10.1.1.1:8081", "10.1.1.1:8082", "10.1.1.1/32")
            for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):
                for ip, port in (("0.0.0.0", 8080), ("10.1.1.1", 8080), ("127.0.0.1", 8080), ("10.1.1.1", 8081),
                                 ("0.0.0.0", 8082)):
                    self.assertEqual(self.bind(box, ip, port, *options), "EADDRINUSE", (ip, port, options))
            self.is_led(box, everywhere, "10.1.1.1", 8080)
            self.is_led(box, here, "10.1.1.1", 8081)

    def test_ports_below_1024_are_no_program_s(self):
        for box in self.kinds():
            for port, result in ((53, "EACCES"), (443, "EACCES"), (1023, "EACCES"), (1024, "bound")):
                self.assertEqual(self.bind(box, "0.0.0.0", port), result)

    def test_requests_that_are_refused(self):
        box = self.boxes.create()
        for word, error in (("listeners=15", "protocol"), ("listeners=4294967295", "protocol"), ("networks=65", "protocol"),
                            ("127.0.0.0/8", "usage"), ("127.1.2.3/32", "usage"), ("0.0.0.0/8", "usage"),
                            ("198.18.0.0/16", "usage"), ("198.0.0.0/8", "usage"), ("10.0.0.1/8", "protocol"),
                            ("10.0.0.0/0", "protocol"), ("10.0.0.0/33", "protocol"), ("0.0.0.0:0", "protocol"),
                            ("0.0.0.0:65536", "protocol"), ("127.0.0.1:99", "protocol"), ("10.1.1.1:99", "box")):
            with self.assertRaisesRegex(boxes.Failed, f"^{error}: ", msg=word):
                self.network(box, "0.0.0.0:443", word)
        self.assertNotIn(None, self.network(box, "resolver", "0.0.0.0:443"))

    def test_names_without_a_network(self):
        """The resolver's address is in every box; where nobody answers there, a name is not found, and a lookup ends."""
        box = self.boxes.create()
        self.assertEqual(self.boxes.shell(box, "head -1 /etc/resolv.conf"), "nameserver 198.18.0.1")
        self.assertEqual(self.python(box, "import socket\ntry: socket.getaddrinfo(\"example.com\", 80)\n"
                                          "except OSError as e: print(e)"), "[Errno -3] Temporary failure in name resolution")


if __name__ == "__main__":
    harness.main()
