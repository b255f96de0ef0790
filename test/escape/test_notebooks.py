# SPDX-License-Identifier: Apache-2.0
"""What somebody cannot do who reaches the sockets of a kernel of Jupyter, or whose cell runs in it."""

import hashlib
import hmac
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import kernels  # noqa: E402
from kernels import zmq  # noqa: E402

IDENTITY = "user"
DELIMITER = b"<IDS|MSG>"


def parts(code, key=None, number="1"):
    """The frames of a cell, signed with @key; without one they are not signed."""
    header = {"msg_id": number, "msg_type": "execute_request", "session": "s", "username": "u", "date": "d", "version": "5.3"}
    frames = [json.dumps(part).encode() for part in (header, {}, {}, {"code": code, "allow_stdin": False})]
    signature = hmac.new(key, b"".join(frames), hashlib.sha256).hexdigest().encode() if key else b""
    return [DELIMITER, signature, *frames]


class Attacker:
    """Somebody who can connect to a kernel's sockets."""

    def __init__(self, test, channel="shell"):
        kernel = test.k
        self.info = kernel.manager.get_connection_info()
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        test.addCleanup(self.socket.close)
        self.socket.connect("tcp://127.0.0.1:%d" % self.info[channel + "_port"])

    def send(self, frames):
        self.socket.send_multipart(frames)


@kernels.needed
class Sockets(harness.Case):
    def setUp(self):
        self.k = kernels.Kernel()
        self.addCleanup(self.k.close)

    def files(self):
        return self.k.run("import os; sorted(os.listdir('.'))").result

    def refused(self, n):
        self.until(lambda: self.k.said().count("refused on") >= n)

    def test_T_NOTEBOOK_FORGED_runs_no_cell(self):
        """Run a cell without the key: not signed, signed with another key, or changed after it was signed."""
        key = self.k.manager.get_connection_info()["key"]
        attacker = Attacker(self)
        code = "open('forged', 'w').close()"
        changed = parts("1", key)
        changed[-1] = parts(code)[-1]
        forged = [parts(code), parts(code, b"another"), changed, parts(code, key)[:1] + [b"0" * 64] + parts(code)[2:]]
        for frames in forged:
            attacker.send(frames)
        self.refused(len(forged))
        self.assertEqual(self.files(), "[]")
        attacker.send(parts(code, key))  # with the key it would have run
        self.until(lambda: self.files() == "['forged']")

    def test_T_NOTEBOOK_REPLAY_runs_no_cell_twice(self):
        """Send a message again that its author has sent."""
        key = self.k.manager.get_connection_info()["key"]
        attacker, again = Attacker(self), Attacker(self, "control")
        frames = parts("open('log', 'a').write('x')", key)
        attacker.send(frames)
        attacker.send(frames)
        again.send(frames)
        self.refused(2)
        self.assertEqual(self.k.run("open('log').read()").result, "'x'")

    def test_T_NOTEBOOK_FLOOD_is_refused(self):
        """Hold memory, or end the kernel, with what is no message: huge, many frames, garbage, another protocol."""
        key = self.k.manager.get_connection_info()["key"]
        before = self.memory()
        for channel in ("shell", "control", "stdin", "hb"):
            attacker = Attacker(self, channel)
            for frames in ([b""], [DELIMITER], [b"x"] * 2000, [DELIMITER, b"", b"{", b"[", b"\xff", b""],
                           [DELIMITER, b"", *[b"[" * (1 << 20)] * 4]):
                attacker.send(frames)
            with socket.create_connection(("127.0.0.1", attacker.info[channel + "_port"])) as raw:
                raw.sendall(os.urandom(1 << 16))
            with socket.create_connection(("127.0.0.1", attacker.info[channel + "_port"])) as raw:
                raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        Attacker(self).send(parts("x" * (100 << 20), key))
        self.assertEqual(self.k.run("6 * 7").result, "42")
        self.assertLess(self.memory() - before, 256 << 20)
        self.assertLess(len(self.k.said()), 10_000)

    def memory(self):
        with open(f"/proc/{self.k.pid}/statm", encoding="utf-8") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def test_T_NOTEBOOK_BOX_cannot_reach_the_kernel(self):
        """From a cell, reach the kernel's sockets, its connection file or its process."""
        info = self.k.manager.get_connection_info()
        path = self.k.manager.connection_file
        self.assertTrue(os.path.exists(path))
        code = (f"import os, socket\nfound = []\nfor port in {[info[n] for n in info if n.endswith('_port')]}:\n"
                "    with socket.socket() as s:\n        found.append(s.connect_ex(('127.0.0.1', port)))\n"
                f"0 in found, os.path.exists({path!r}), os.path.exists('/proc/{self.k.pid}/mem')")
        self.assertEqual(self.k.run(code).result, "(False, False, False)")
        with socket.create_connection(("127.0.0.1", info["shell_port"])):
            pass  # from the host it can be reached

    def test_T_NOTEBOOK_COMMAND_stays_in_the_box(self):
        """By a command of a notebook, read or write files of the host."""
        place = harness.make_dir()
        secret = os.path.join(place, "secret")
        with open(secret, "w", encoding="utf-8") as f:
            f.write("x")
        for line in (f"%put {secret}", f"%get a {place}/b", f"%files {place}", f"%files ../../..{place}", "%switch ../x"):
            self.k.run(line)
        self.assertEqual((self.files(), os.listdir(place)), ("[]", ["secret"]))


class ConnectionFile(harness.Case):
    def start(self, mode):
        path = os.path.join(harness.make_dir(), "c.json")
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
            info = {"transport": "tcp", "ip": "127.0.0.1", "key": "k"}
            info.update({name + "_port": port for name in ("shell", "control", "stdin", "iopub", "hb")})
            with open(path, "w", encoding="utf-8") as f:
                json.dump(info, f)
            os.chmod(path, mode)
            return harness.retort("kernel", "-f", path)  # the port is in use: it ends

    def test_T_NOTEBOOK_KEY_is_not_chosen_by_others(self):
        """Have a kernel use a key that somebody else has written, or not notice that others can read it."""
        for mode in (0o620, 0o602):
            done = self.start(mode)
            self.assertEqual(done.status, 2, done)
            self.assertIn("others may change it", done.err)
        self.assertIn("others may read it", self.start(0o644).err)
        self.assertNotIn("others", self.start(0o600).err)

    @unittest.skipUnless(harness.IS_ROOT, "only root can give a file away")
    def test_T_NOTEBOOK_KEY_is_not_of_another_user(self):
        """Have a kernel use the connection file of another user."""
        path = os.path.join(harness.make_dir(), "c.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write("{}")
        os.chown(path, 65534, 65534)
        self.assertIn("others may change it", harness.retort("kernel", "-f", path).err)


if __name__ == "__main__":
    harness.main()
