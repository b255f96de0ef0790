# SPDX-License-Identifier: Apache-2.0
"""The network, abstract sockets and shared memory: of the host, and of another box."""

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attack  # noqa: E402
import harness  # noqa: E402


class Listeners:
    """Listeners of the host that count who comes."""

    def __init__(self, token):
        self.n_seen = 0
        self.sockets = [socket.socket(socket.AF_INET), socket.socket(socket.AF_INET6),
                        socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
        self.abstract = "\0retort-escape-" + token
        self.sockets[0].bind(("0.0.0.0", 0))
        self.sockets[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.sockets[1].bind(("::", 0))
        self.sockets[2].bind(self.abstract)
        self.sockets[3].bind(("0.0.0.0", 0))
        self.port = self.sockets[0].getsockname()[1]
        self.port6 = self.sockets[1].getsockname()[1]
        self.udp_port = self.sockets[3].getsockname()[1]
        for sock in self.sockets[:3]:
            sock.listen(16)
        for sock in self.sockets:
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        while True:
            try:
                if sock.type == socket.SOCK_DGRAM:
                    sock.recvfrom(64)
                else:
                    sock.accept()[0].close()
            except OSError:
                return
            self.n_seen += 1

    def close(self):
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


def address_of_host():
    """An address of an interface of the host that is not the loopback, or that of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
            return sock.getsockname()[0]
        except OSError:
            return "127.0.0.1"


class Network(attack.Case):
    @classmethod
    def host(cls):
        cls.listeners = Listeners(cls.secret)
        cls.addClassCleanup(cls.listeners.close)
        return {"PORT": cls.listeners.port, "PORT6": cls.listeners.port6,
                "UDP": cls.listeners.udp_port, "ABSTRACT": cls.listeners.abstract,
                "ADDRESS": address_of_host()}

    @attack.inside("ECONNREFUSED", control=True)
    def test_T_NET_connects_to_the_loopback_of_the_host():
        """Reach a service of the host on 127.0.0.1."""
        socket.create_connection(("127.0.0.1", PORT), 3).close()

    @attack.inside("ECONNREFUSED", "EADDRNOTAVAIL", "ENETUNREACH", control=True)
    def test_T_NET_connects_to_the_loopback_of_the_host_by_ipv6():
        """Reach a service of the host on ::1."""
        socket.create_connection(("::1", PORT6), 3).close()

    @attack.inside("ENETUNREACH", "ECONNREFUSED", control=True)
    def test_T_NET_connects_to_an_address_of_the_host():
        """Reach a service of the host on its own address."""
        socket.create_connection((ADDRESS, PORT), 3).close()

    @attack.inside("ECONNREFUSED")
    def test_T_NET_connects_to_address_zero():
        """0.0.0.0 is the local host, too."""
        socket.create_connection(("0.0.0.0", PORT), 3).close()

    @attack.inside("ENETUNREACH")
    def test_T_NET_connects_to_the_world():
        """Reach a host of the internet."""
        socket.create_connection(("1.1.1.1", 53), 3).close()

    @attack.inside("ENETUNREACH", "EADDRNOTAVAIL")
    def test_T_NET_connects_to_the_world_by_ipv6():
        """Reach a host of the internet by IPv6."""
        socket.create_connection(("2606:4700:4700::1111", 53), 3).close()

    @attack.inside("ENETUNREACH")
    def test_T_NET_sends_a_datagram():
        """Ask a name server by hand."""
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.sendto(b"x", ("8.8.8.8", 53))

    @attack.inside("ENETUNREACH", "EACCES", "EPERM")
    def test_T_NET_broadcasts():
        """Broadcast to the neighbours."""
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"x", ("255.255.255.255", UDP))

    @attack.inside("ENETUNREACH", "EADDRNOTAVAIL", "ENODEV")
    def test_T_NET_multicasts():
        """Join a group and send to it: mDNS."""
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.sendto(b"x", ("224.0.0.251", 5353))

    @attack.inside("gaierror")
    def test_T_NET_resolves_a_name():
        """Send data out in a name that is asked for."""
        try:
            return socket.getaddrinfo("data.example.com", 80)
        except socket.gaierror:
            return "gaierror"

    @attack.inside(["lo"])
    def test_T_NET_lists_interfaces():
        """Find an interface."""
        return sorted(line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:])

    @attack.inside([])
    def test_T_NET_sees_connections_of_the_host():
        """Read the host's connections from /proc/net."""
        return [line for name in ("tcp", "tcp6", "udp", "unix")
                for line in read("/proc/net/" + name, 1 << 20).splitlines()[1:]
                if "%04X" % PORT in line or ABSTRACT[1:] in line]

    @attack.inside("EPERM")
    def test_T_NET_adds_a_route():
        """Add a route by SIOCADDRT."""
        import fcntl
        return fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x890B, bytes(120))

    @attack.inside("EPERM")
    def test_T_NET_takes_the_loopback_down():
        """Change an interface."""
        import fcntl
        request = struct.pack("16sH14x", b"lo", 0)
        return fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, request + bytes(8))

    @attack.inside("EPERM", "ENOPROTOOPT")
    def test_T_NET_sets_firewall_rules():
        """IPT_SO_SET_REPLACE: netfilter's tables (CVE-2021-22555)."""
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        return s.setsockopt(socket.IPPROTO_IP, 64, bytes(128))

    @attack.inside("ENETUNREACH")
    def test_T_METADATA_of_most_clouds():
        """169.254.169.254: credentials of the machine."""
        socket.create_connection(("169.254.169.254", 80), 3).close()

    @attack.inside("ENETUNREACH")
    def test_T_METADATA_of_containers():
        """169.254.170.2: credentials of the task."""
        socket.create_connection(("169.254.170.2", 80), 3).close()

    @attack.inside("ENETUNREACH")
    def test_T_METADATA_of_alibaba():
        """100.100.100.200."""
        socket.create_connection(("100.100.100.200", 80), 3).close()

    @attack.inside("ENETUNREACH", "EADDRNOTAVAIL")
    def test_T_METADATA_by_ipv6():
        """fd00:ec2::254."""
        socket.create_connection(("fd00:ec2::254", 80), 3).close()

    @attack.inside("gaierror")
    def test_T_METADATA_by_name():
        """metadata.google.internal."""
        try:
            return socket.getaddrinfo("metadata.google.internal", 80)
        except socket.gaierror:
            return "gaierror"

    @attack.inside("EPERM", "EACCES", control="root")
    def test_T_RAW_opens_a_raw_socket():
        """Forge packets."""
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()

    @attack.inside("EPROTONOSUPPORT", "EACCES", "EPERM")
    def test_T_RAW_opens_a_ping_socket():
        """ICMP without a privilege."""
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).close()

    @attack.inside("EAFNOSUPPORT", control="root")
    def test_T_RAW_opens_a_packet_socket():
        """Listen to the wire."""
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()

    @attack.inside([0])
    def test_T_RAW_opens_any_other_netlink():
        """Netfilter (CVE-2022-32250 and many more), IPsec, audit, udev: all but what lists interfaces."""
        found = []
        for protocol in list(range(64)) + [1 << 32]:
            try:
                socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
                found.append(protocol)
            except (OSError, OverflowError) as e:
                if getattr(e, "errno", 95) != 95:
                    found.append(e.errno)
        return found

    @attack.inside([-1, -1, -1])
    def test_T_RAW_configures_by_netlink():
        """Add an interface, an address, a queueing discipline: the kernel code of many holes asks for a capability."""
        answers = []
        for kind, body in ((16, bytes(16)), (20, struct.pack("BBBBi", 2, 8, 0, 0, 1)), (36, bytes(20))):
            s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            s.send(struct.pack("=IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
            answers.append(struct.unpack_from("=i", s.recv(4096), 16)[0])
            s.close()
        return answers

    @attack.inside(["lo"])
    def test_T_NET_lists_interfaces():
        """See an interface of the host."""
        return [name for _, name in socket.if_nameindex()]

    @attack.inside("EAFNOSUPPORT")
    def test_T_RAW_opens_kernel_crypto():
        """AF_ALG."""
        socket.socket(38, socket.SOCK_SEQPACKET, 0).close()

    @attack.inside("EAFNOSUPPORT")
    def test_T_RAW_opens_vsock():
        """AF_VSOCK: the hypervisor, past the network namespace."""
        socket.socket(40, socket.SOCK_STREAM, 0).close()

    @attack.inside([])
    def test_T_RAW_opens_any_other_family():
        """Every family but unix and the two of IP, and netlink as far as it lists interfaces."""
        opened = []
        for family in range(64):
            for kind in (1, 2, 3, 5):
                try:
                    fd = call("socket", family, kind, 0)
                    os.close(fd)
                    if family not in (1, 2, 10) + ((16,) if kind in (2, 3) else ()) or (kind == 3 and family != 16):
                        opened.append([family, kind])
                except OSError:
                    pass
        return opened

    @attack.inside("EPROTONOSUPPORT")
    def test_T_RAW_opens_sctp():
        """A protocol that loads a kernel module."""
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close()

    @attack.inside("EAFNOSUPPORT")
    def test_T_RAW_hides_the_family_in_the_upper_half():
        """A family with bits above 32, which the kernel ignores."""
        return call("socket", 17 | 1 << 32, 3, 0)

    @attack.inside("ECONNREFUSED", control=True)
    def test_T_ABSTRACT_connects_to_a_socket_of_the_host():
        """Abstract unix sockets have no permission: dbus, X11, containerd (CVE-2020-15257)."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(ABSTRACT)

    @attack.inside("done")
    def test_T_ABSTRACT_takes_a_name_of_the_host():
        """The name is free in the box: binding it must not disturb the host's."""
        s = socket.socket(socket.AF_UNIX)
        s.bind(ABSTRACT)

    @attack.inside([])
    def test_T_ABSTRACT_finds_sockets_of_the_host():
        """Find the socket of a daemon by its path."""
        return [p for p in ("/run/dbus/system_bus_socket", "/var/run/docker.sock", "/tmp/.X11-unix",
                            "/run/containerd/containerd.sock", "/run/user", "/dev/log")
                if os.path.exists(p)]

    def test_T_NET_nobody_came(self):
        """No listener of the host was reached by the box; each one was by the control."""
        listeners = Listeners(secrets.token_hex(8))
        self.addCleanup(listeners.close)
        code = ("import socket\n"
                f"for a in ('127.0.0.1', {address_of_host()!r}, '0.0.0.0'):\n"
                "    try: socket.create_connection((a, %d), 2)\n"
                "    except OSError as e: print(e)\n"
                "    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', (a, %d))\n"
                "    except OSError as e: print(e)\n"
                "try: socket.socket(socket.AF_UNIX).connect(%r)\n"
                "except OSError as e: print(e)\n"
                % (listeners.port, listeners.udp_port, listeners.abstract))
        attack.record(code)
        time.sleep(0.1)
        self.assertEqual(listeners.n_seen, 0)
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        for _ in range(100):
            if listeners.n_seen >= 5:
                break
            time.sleep(0.02)
        self.assertGreaterEqual(listeners.n_seen, 5)


SHARE = r"""
import ctypes, json, mmap, os, socket, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.mq_open.restype = ctypes.c_int
KEY = %(key)d
def make():
    n = libc.shmget(KEY, 4096, 0o1666)
    if n >= 0: ctypes.memmove(libc.shmat(n, None, 0), SECRET, len(SECRET))
    libc.semget(KEY, 1, 0o1666)
    libc.msgget(KEY, 0o1666)
    class Attr(ctypes.Structure):
        _fields_ = [('n', ctypes.c_long * 8)]
    attr = Attr((ctypes.c_long * 8)(0, 2, 64, 0))
    q = libc.mq_open(b'/retort%(key)d', os.O_CREAT | os.O_RDWR, 0o666, ctypes.byref(attr))
    if q >= 0: libc.mq_send(q, SECRET, len(SECRET), 0)
    for d in ('/dev/shm', '/tmp'):
        with open(d + '/retort-escape-%(key)d', 'wb') as f: f.write(SECRET)
        os.chmod(d + '/retort-escape-%(key)d', 0o666)
    a = socket.socket(socket.AF_UNIX); a.bind('\0retort-escape-%(key)d'); a.listen(4)
    t = socket.socket(); t.bind(('127.0.0.1', %(port)d)); t.listen(4)
    return n, a, t
def remove():
    libc.shmctl(libc.shmget(KEY, 0, 0), 0, None)
    libc.semctl(libc.semget(KEY, 0, 0), 0, 0)
    libc.msgctl(libc.msgget(KEY, 0), 0, None)
    libc.mq_unlink(b'/retort%(key)d')
    for d in ('/dev/shm', '/tmp'): os.unlink(d + '/retort-escape-%(key)d')
def look():
    found = {}
    n = libc.shmget(KEY, 0, 0)
    found['shm'] = n >= 0 and ctypes.string_at(libc.shmat(n, None, 0o10000), 32).decode()
    found['sem'] = libc.semget(KEY, 0, 0) >= 0
    found['msg'] = libc.msgget(KEY, 0) >= 0
    found['ids'] = any(libc.shmctl(i, 13, ctypes.create_string_buffer(512)) >= 0 for i in range(64))
    found['mq'] = libc.mq_open(b'/retort%(key)d', os.O_RDONLY) >= 0
    for d in ('/dev/shm', '/tmp'):
        found[d] = os.path.exists(d + '/retort-escape-%(key)d')
    for name, s, a in (('abstract', socket.socket(socket.AF_UNIX), '\0retort-escape-%(key)d'),
                       ('tcp', socket.socket(), ('127.0.0.1', %(port)d))):
        try: s.connect(a); found[name] = True
        except OSError: found[name] = False
    found['pids'] = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
    return found
"""


class Shared(harness.Case):
    """One set of shared things on the host, one in a first box; a second box looks for both."""

    @classmethod
    def setUpClass(cls):
        cls.secret = secrets.token_hex(16)
        key = 0x10000000 + secrets.randbelow(1 << 28)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        share = (SHARE % {"key": key, "port": port})
        head = f"SECRET = {cls.secret.encode()!r}\n" + share
        look = share + "print(json.dumps(look()))\n"
        done = subprocess.Popen(
            [sys.executable, "-c", head + "x = make()\nprint(json.dumps(look()), flush=True)\n"
             "input()\nremove()\n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            cls.host_self = json.loads(done.stdout.readline())
            cls.from_host = json.loads(attack.record(look)["stdout"])
        finally:
            done.communicate(b"\n")
        directory = harness.make_dir()
        first = attack.popen(
            head + "x = make()\nopen('up', 'w').write(json.dumps(look()))\n"
            "while not os.path.exists('down'): time.sleep(0.01)\n", "-w", directory)
        try:
            for _ in range(2000):
                try:
                    with open(os.path.join(directory, "up"), encoding="ascii") as f:
                        cls.first_self = json.loads(f.read())
                    break
                except (OSError, ValueError):
                    time.sleep(0.01)
            cls.from_first = json.loads(attack.record(look)["stdout"])
        finally:
            with open(os.path.join(directory, "down"), "w", encoding="ascii"):
                pass
            cls.first = attack.finish(first)

    def check(self, *names):
        for name in names:
            self.assertFalse(self.from_host[name], f"{name} of the host")
            self.assertFalse(self.from_first[name], f"{name} of another box")
            self.assertTrue(self.host_self[name], f"the control on the host: {name}")
            # Where no cgroup counts their memory, a box has none of System V's.
            if name in ("shm", "ids", "sem", "msg") and self.first["limits"]["memory_bytes"]["by"] == "engine":
                continue
            self.assertTrue(self.first_self[name], f"the control in the first box: {name}")

    def test_T_SHM_file_in_dev_shm(self):
        """Read a file in another's /dev/shm."""
        self.check("/dev/shm")

    def test_T_SHM_file_in_tmp(self):
        """Read a file in another's /tmp."""
        self.check("/tmp")

    def test_T_SYSV_shared_memory(self):
        """Attach another's System V segment by its key."""
        self.check("shm")

    def test_T_SYSV_any_shared_memory(self):
        """Find a segment by trying every index."""
        self.check("ids")

    def test_T_SYSV_semaphores(self):
        """Open another's semaphores."""
        self.check("sem")

    def test_T_SYSV_message_queue(self):
        """Open another's message queue."""
        self.check("msg")

    def test_T_SYSV_posix_message_queue(self):
        """Open another's POSIX message queue."""
        self.check("mq")

    def test_T_SIBLING_abstract_socket(self):
        """Connect to another box's abstract socket."""
        self.check("abstract")

    def test_T_SIBLING_tcp_port(self):
        """Connect to another box's port."""
        self.check("tcp")

    def test_T_SIBLING_processes(self):
        """See the processes of another box."""
        self.assertEqual(len(self.from_first["pids"]), 2)
        self.assertEqual(len(self.first_self["pids"]), 2)

    def test_T_SIBLING_secret(self):
        """The secret of neither is anywhere in what the second box saw."""
        self.assertNotIn(self.secret, json.dumps([self.from_host, self.from_first]))
        self.assertIn(self.secret, json.dumps(self.host_self))
        self.assertEqual(self.first["status"], "ok", self.first)

    def test_T_SIBLING_files(self):
        """Find a file that an earlier box left in its workspace or /tmp."""
        attack.record("for d in ('.', '/tmp', '/dev/shm'):\n"
                      f"    open(d + '/{self.secret}', 'w').write('x')")
        done = attack.record("import os\n[os.listdir(d) for d in ('.', '/tmp', '/dev/shm')]")
        self.assertNotIn(self.secret, str(done))

    def test_T_SIBLING_kernel_names(self):
        """Set what a namespace holds: the host and the next box must not see it."""
        attack.record("import socket\n"
                      "try: socket.sethostname('pwned')\n"
                      "except OSError: pass")
        self.assertNotEqual(os.uname().nodename, "pwned")
        done = attack.record("import socket\nsocket.gethostname()")
        self.assertEqual(done["value"]["text/plain"], "'retort'")


if __name__ == "__main__":
    harness.main()
