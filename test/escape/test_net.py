# SPDX-License-Identifier: Apache-2.0
"""A box with a network by rules: addresses that no rule names, ports and sockets of the gateway, other protocols."""

import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402
import upstream  # noqa: E402
import web  # noqa: E402


def address_of_host():
    """An address of an interface of the host that is not the loopback, or that of the loopback."""
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.1"


class Box(netbox.Case):
    servers = ("api.test:80", "api.test:443", "db.test:6000", "db.test:53")

    @classmethod
    def known(cls):
        cls.secret_server = netbox.Server(address="")  # of the host; no rule names it
        cls.addClassCleanup(cls.secret_server.stop)
        cls.engine = service.Engine()
        cls.addClassCleanup(cls.engine.stop)
        cls.http = web.Server()
        cls.addClassCleanup(cls.http.stop)
        return {"PORT": cls.secret_server.port, "HTTP": cls.http.port, "SOCKET": cls.engine.path, "HOST": address_of_host(),
                "HOST_PID": os.getpid(), "HOSTNAME": socket.gethostname()}


class Addresses(Box):
    """Where connections lead."""

    def test_T_NET_ADDRESS_nobody_came(self):
        """Neither to the host's server that no rule names, nor to the ones that have names, by another way."""
        self.assertEqual(self.secret_server.heard, [])
        self.assertEqual(self.secret_server.n, 0)
        for name, server in self.server.items():
            self.assertEqual(set(server.heard), {b"x"} if name == "db.test:6000" else set(), name)
        socket.create_connection(("127.0.0.1", self.secret_server.port)).close()
        self.until(lambda: self.secret_server.n == 1, "the control")

    @attack.inside(["reached", "198.18"])
    def test_T_NET_ADDRESS_control():
        """Not an attack: the name is reached, at its own address."""
        return [say("db.test", 6000), address("db.test")[:6]]

    @attack.inside({})
    def test_T_NET_ADDRESS_connects_to_the_host():
        """A server of the host that no rule names, the engine's own HTTP; on the loopback and the address of the host, at
        zero, in numbers, octal, hexadecimal, short forms, IPv6 forms."""
        said = {}
        for port in (PORT, HTTP):
            for a in ("127.0.0.1", "127.1", "0.0.0.0", "0", "2130706433", "0x7f000001", "017700000001", "0x7f.1", "localhost",
                      "localhost.", "::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::7f00:1", "::127.0.0.1", HOST,
                      "127.0.0.53", "127.255.255.254"):
                said[a + ":%d" % port] = say(a, port)
        return {a: s for a, s in said.items() if s not in ("ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "no name")}

    @attack.inside({})
    def test_T_NET_ADDRESS_connects_to_metadata():
        """The metadata services of clouds, in each notation, at ports that rules name and at others."""
        said = {}
        for port in (80, 443, 6000, 53, 8080):
            for a in ("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "fd00:ec2::254",
                      "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "169.254.170.2", "100.100.100.200", "metadata.google.internal"):
                said[a] = say(a, port)
        return {a: s for a, s in said.items() if s not in ("ENETUNREACH", "EADDRNOTAVAIL", "no name")}

    @attack.inside({})
    def test_T_NET_ADDRESS_connects_to_the_world():
        """Addresses that no rule names, at ports that rules name."""
        said = {a: say(a, port) for a in ("8.8.8.8", "11.0.0.1", "10.0.0.1", "2606:4700:4700::1111", "198.20.0.1", "198.17.255.255")
                for port in (80, 443, 6000, 53)}
        return {a: s for a, s in said.items() if s not in ("ENETUNREACH", "EADDRNOTAVAIL")}

    @attack.inside({})
    def test_T_NET_ADDRESS_connects_to_the_gateway_itself():
        """Its listeners at addresses that stand for no name: the loopback, the resolver, the ends of the network, others."""
        said = {a + ":%d" % port: say(a, port) for port in (80, 443, 53)
                for a in ("127.0.0.1", "127.9.9.9", "198.18.0.1", "198.18.0.0", "198.18.77.77", "198.19.255.255", "198.18.0.255",
                          "::ffff:198.18.77.77")}
        return {a: s for a, s in said.items() if s not in ("ECONNRESET", "EACCES")}

    @attack.inside({})
    def test_T_NET_ADDRESS_uses_a_name_at_another_port():
        """A name is allowed at its ports only, even if other names have others."""
        said = {port: say("db.test", port) for port in (80, 443, 22, 6001, 65535)}
        said["api"] = say("api.test", 6000)
        return {a: s for a, s in said.items() if s not in ("ECONNREFUSED", "ECONNRESET")}

    @attack.inside({})
    def test_T_NET_ADDRESS_tries_every_fake_address():
        """Addresses that were never given out, at the ports of names."""
        said = {}
        for i in range(2, 600):
            a = "198.18.%d.%d" % divmod(256 + i, 256)
            said[a] = said.get(a) or say(a, 443)
        return {a: s for a, s in said.items() if s != "ECONNRESET"}

    @attack.inside(["ECONNREFUSED", "ENETUNREACH", "ENETUNREACH", "ECONNREFUSED"])
    def test_T_NET_ADDRESS_sends_datagrams():
        """UDP to a name (QUIC), to the world, to the host, and to the resolver at another port."""
        def udp(*to):
            try:
                return exchange(b"x", to)
            except OSError as e:
                return errno.errorcode.get(e.errno, repr(e))
        return [udp(address("api.test"), 443), udp("8.8.8.8", 443), udp("169.254.169.254", 80), udp("198.18.0.1", 5353)]

    @attack.inside([None, "ENETUNREACH", "ENETUNREACH"])
    def test_T_NET_ADDRESS_binds_to_a_way_out():
        """Choose the interface (then what is sent comes back on it, for nobody), the way by options, or the service: where
        there is no route, none is made."""
        def by(*option):
            with socket.socket() as s:
                s.settimeout(1)
                try:
                    s.setsockopt(*option)
                except OSError:
                    pass
                try:
                    s.connect(("11.0.0.1", 443))
                except OSError as e:
                    return errno.errorcode.get(e.errno)
        return [by(socket.SOL_SOCKET, 25, b"lo"), by(0, 4, b"\x83\x07\x04" + socket.inet_aton("198.18.1.0") + b"\0"),
                by(0, 5, 1)]

    @attack.inside("ENOENT")
    def test_T_NET_ADDRESS_calls_the_engine():
        """Change the rules oneself: the engine's socket is not in the box."""
        socket.socket(socket.AF_UNIX).connect(SOCKET)


class Any(harness.Case):
    """A box that may use every name, at the port of a server of the host."""

    def test_T_NET_ADDRESS_by_any_name(self):
        """Names of the host, and addresses as names, asked by hand: the box's resolver knows no address, and what the host's
        resolver says of a name is looked at."""
        with netbox.Server(address="") as server:
            names = ["localhost", "LOCALHOST", "localhost.", "ip6-localhost"]
            where = socket.gethostname()
            try:
                names += [where] * socket.getaddrinfo(where, 80)[0][4][0].startswith("127.")
            except OSError:
                pass
            addresses = ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "1.0x7f", "0", "169.254.169.254", "::1"]
            r = attack.record(netbox.PRELUDE + f"P = {server.port}\n"
                f"print([say(address(n), P) for n in {names!r}])\nprint([address(n) for n in {addresses!r}])",
                "--net", f"any:{server.port}")
            self.assertEqual(r["stdout"], f"{['ECONNRESET'] * len(names)}\n{[None] * len(addresses)}\n", r)
            self.assertEqual(server.n, 0)
        for row in netbox.rows(r, port=server.port):
            self.assertRegex(row["reason"], "^its (address .* is|name was not found)")


class Taking(Box):
    """Take from the gateway what is meant for it."""

    @attack.inside([])
    def test_T_NET_TAKE_binds_its_ports():
        """80, 443 and 53, at all addresses, at the loopback, at the resolver, with every option to share them."""
        got = []
        for kind, port in ((1, 80), (1, 443), (1, 53), (2, 53)):
            for a in ("0.0.0.0", "127.0.0.1", "198.18.0.1", address("api.test")):
                for options in ((), (2,), (15,), (2, 15)):
                    with socket.socket(type=kind) as s:
                        for o in options:
                            s.setsockopt(socket.SOL_SOCKET, o, 1)
                        try:
                            s.bind((a, port))
                            got.append([kind, a, port, options])
                        except PermissionError:
                            pass
        return got

    @attack.inside(["reached", [], "reached"])
    def test_T_NET_TAKE_shares_the_port_of_a_name():
        """A port from 1024 on: at the name's address, and at all, with SO_REUSEADDR and SO_REUSEPORT."""
        got, first = [], say("db.test", 6000)
        for a in (address("db.test"), "0.0.0.0", "::"):
            for options in ((), (2,), (15,), (2, 15)):
                s = socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET)
                for o in options:
                    s.setsockopt(socket.SOL_SOCKET, o, 1)
                try:
                    s.bind((a, 6000))
                    s.listen()
                    got.append([a, options])
                except OSError as e:
                    if e.errno != errno.EADDRINUSE:
                        got.append([a, options, e.errno])
                s.close()
        return [first, got, say("db.test", 6000)]

    @attack.inside(["EPERM", "EPERM", "EPERM", "EACCES"])
    def test_T_NET_TAKE_is_transparent():
        """IP_TRANSPARENT in both families; SO_MARK; a bind to the resolver's port with IP_FREEBIND."""
        def by(family, *option):
            with socket.socket(family) as s:
                try:
                    s.setsockopt(*option)
                    s.bind(("198.18.0.1", 53))
                except OSError as e:
                    return errno.errorcode[e.errno]
        return [by(2, 0, 19, 1), by(10, 41, 75, 1), by(2, 1, 36, 1), by(2, 0, 15, 1)]

    @attack.inside([])
    def test_T_NET_TAKE_configures_the_network():
        """Remove or add routes and addresses, by ioctl, by netlink, and by settings of the kernel."""
        done = []
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            for request in (0x890b, 0x890c, 0x8916, 0x8914, 0x891c, 0x8922, 0x8953, 0x8955):
                try:
                    call("ioctl", s.fileno(), request, ctypes.create_string_buffer(b"lo" + bytes(118)))
                    done.append(hex(request))
                except OSError:
                    pass
        def number(kind, value):
            return struct.pack("=HH4s", 8, kind, value)
        route = bytes([2, 15, 0, 0, 255, 4, 254, 2, 0, 0, 0, 0]) + number(1, socket.inet_aton("198.18.0.0")) + number(4, b"\1\0\0\0")
        other = bytes([2, 8, 0, 0, 255, 4, 254, 2, 0, 0, 0, 0]) + number(1, socket.inet_aton("11.0.0.0")) + number(4, b"\1\0\0\0")
        own = bytes([2, 32, 0, 254, 1, 0, 0, 0]) + number(2, socket.inet_aton("11.0.0.1"))
        for kind, flags, body in ((25, 5, route), (24, 0x605, other), (20, 0x605, own), (21, 5, own)):  # delete it; add others
            try:
                s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
                s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
                if struct.unpack_from("=i", s.recv(4096), 16)[0] != -1:
                    done.append(kind)
            except OSError:
                pass
        for path in ("ip_unprivileged_port_start", "ip_forward", "conf/lo/route_localnet", "ip_nonlocal_bind"):
            try:
                write("/proc/sys/net/ipv4/" + path, b"1")
                done.append(path)
            except OSError:
                pass
        return done

    @attack.inside(["EROFS", "EROFS"])
    def test_T_NET_TAKE_changes_the_resolver():
        """Have other programs of the box ask elsewhere: /etc/resolv.conf and /etc/hosts are read-only."""
        return [outcome(lambda p=p: write(p, b"x")) for p in ("/etc/resolv.conf", "/etc/hosts")]

    @attack.inside([])
    def test_T_NET_TAKE_finds_the_gateway():
        """Its process, to signal or trace it, or to open its descriptors: none of the host's processes is there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if "gateway" in read("/proc/%s/cmdline" % pid) + read("/proc/%s/comm" % pid):
                    found.append(pid)
            except OSError:
                pass
        for pid in range(2, 70000, 1):
            try:
                os.kill(pid, 0)
                if not os.path.exists("/proc/%d" % pid):
                    found.append(pid)
            except OSError:
                pass
        return found

    @attack.inside([])
    def test_T_NET_TAKE_inherits_a_socket():
        """No descriptor of a program is a socket of the gateway: one that listens, or is bound to port 53."""
        found = []
        for fd in range(3, 1024):
            try:
                s = socket.socket(fileno=os.dup(fd))
                if s.family in (2, 10) and s.getsockname()[1] in (53, 80, 443, 6000):
                    found.append([fd, s.getsockname()])
            except OSError:
                pass
        return found

    @attack.inside([])
    def test_T_NET_TAKE_forges_an_answer():
        """Answer another program's question from the resolver's address: it cannot be had, raw sockets neither."""
        got = []
        for kind, protocol in ((2, 0), (3, 17), (3, 255)):
            try:
                s = socket.socket(2, kind, protocol)
                s.bind(("198.18.0.1", 53))
                got.append([kind, protocol])
            except OSError:
                pass
        return got

    @attack.inside([])
    def test_T_NET_TAKE_opens_other_sockets():
        """ICMP, raw, SCTP, DCCP, MPTCP, UDP-Lite, packet, vsock, TIPC, kernel crypto: a network by rules opens none of them."""
        opened = []
        for family, kind, protocol in ((2, 2, 1), (2, 3, 1), (2, 3, 6), (2, 1, 132), (2, 5, 132), (2, 6, 33), (2, 1, 262), (2, 2, 136),
                                       (10, 2, 58), (10, 3, 58), (17, 3, 0x300), (17, 2, 0x300), (40, 1, 0), (40, 2, 0), (30, 5, 0),
                                       (38, 5, 0), (15, 3, 2), (44, 3, 0), (31, 3, 1), (29, 3, 1), (16, 3, 12), (16, 3, 16)):
            try:
                socket.socket(family, kind, protocol).close()
                opened.append([family, kind, protocol])
            except OSError:
                pass
        return opened

    @attack.inside(["lo"])
    def test_T_NET_TAKE_finds_an_interface():
        """There is none but the loopback."""
        return sorted(line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:])


class TakenFirst(harness.Case):
    def test_T_NET_TAKE_has_the_port_first(self):
        """A program that listens at the port of a name before the name is asked for gets nothing of what others send there:
        the name is not found, and the record says why."""
        with netbox.Server() as server:
            r = attack.record(netbox.PRELUDE + "s = socket.create_server(('0.0.0.0', 6000))\n"
                "print(address('db.test'), say('db.test', 6000))\ns.setblocking(False)\n"
                "try: print(s.accept())\nexcept BlockingIOError: print('nobody')\ns.close()\n",
                "--net", f"db.test:6000=127.0.0.1:{server.port}")
        self.assertEqual(r["stdout"], "None no name\nnobody\n", r)
        self.assertEqual(server.n, 0)
        row, = netbox.rows(r, port=6000)
        self.assertEqual((row["verdict"], row["reason"]), ("failed", "its port is taken by a program of the box"))

    def test_T_NET_TAKE_has_the_loopback_port(self):
        """One that listens at the loopback alone has that alone."""
        with netbox.Server() as server:
            r = attack.record(netbox.PRELUDE + "s = socket.create_server(('127.0.0.1', 6000))\nprint(say('db.test', 6000))\n",
                              "--net", f"db.test:6000=127.0.0.1:{server.port}")
        self.assertEqual(r["stdout"], "reached\n", r)


class Others(harness.Case):
    """Two boxes at once."""

    def test_T_NET_BOX_uses_an_address_of_another_box(self):
        """The address that stands for a name in one box stands for another one, or none, in the next: there are no shared
        names, nor servers reached by another's rule."""
        with netbox.Server() as one, netbox.Server() as two, service.Engine() as engine:
            a = engine.session(net=[f"one.test:6000=127.0.0.1:{one.port}"])
            b = engine.session(net=[f"two.test:6000=127.0.0.1:{two.port}", f"two.test:80=127.0.0.1:{two.port}"])
            where = a.value(netbox.PRELUDE + "address('one.test')").strip("'")
            self.assertEqual(a.value(f"say('{where}', 6000, 'a')"), "'reached'")
            said = b.value(netbox.PRELUDE + f"[say('{where}', 6000, 'b'), say('{where}', 80, 'b'), say('one.test', 6000, 'b')]")
            self.assertEqual(said, "['ECONNREFUSED', 'ECONNRESET', 'no name']")
            self.assertEqual(one.heard, [b"a"])
            self.assertEqual(two.heard, [])

    def test_T_NET_BOX_without_rules_beside_it(self):
        """A box without rules has no network, whatever the one beside it has."""
        with netbox.Server() as server, service.Engine() as engine:
            a = engine.session(net=[f"db.test:6000=127.0.0.1:{server.port}"])
            self.assertEqual(a.value(netbox.PRELUDE + "say('db.test', 6000)"), "'reached'")
            b = engine.session()
            said = b.value(netbox.PRELUDE + "[say('db.test', 6000), say('198.18.1.0', 6000), say('198.18.0.1', 53)]")
            self.assertEqual(said, "['no name', 'ENETUNREACH', 'ENETUNREACH']")
            self.assertEqual(server.n, 1)


if __name__ == "__main__":
    harness.main()
