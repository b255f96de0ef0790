# SPDX-License-Identifier: Apache-2.0
"""What docs/reference/fidelity.md says a program notices of its box, row by row."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

PROGRAM = r"""
import ctypes, errno, fcntl, json, os, resource, socket

def answer(call):
    try:
        return call()
    except OSError as e:
        return errno.errorcode[e.errno]

def linger(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\5\0\0\0")
    return s.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER)

open("f", "w").close()
print(json.dumps({
    "remove": answer(lambda: os.unlink("/usr/is-not-there")),
    "create": answer(lambda: open("/usr/new", "w")),
    "chown": answer(lambda: os.chown("f", 1234, 1234)),
    "setuid": answer(lambda: os.setuid(1234)),
    "setgid": answer(lambda: os.chmod("f", 0o2755)),
    "mkdir": answer(lambda: os.mkdir("d", 0o2755)) or oct(os.stat("d").st_mode & 0o7777),
    "shadow": answer(lambda: open("/etc/shadow")),
    "core": answer(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))),
    "linger": answer(lambda: linger(socket.socket())),
    "lease": answer(lambda: fcntl.fcntl(os.open("f", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)),
    "interfaces": answer(lambda: [name for _, name in socket.if_nameindex()]),
    "netlink": answer(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)),
    "udplite": answer(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)),
    "sctp": answer(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)),
    "raw": answer(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
    "packet": answer(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 1)),
    "vsock": answer(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)),
    "cpus": os.cpu_count(),
    "memory": open("/proc/meminfo").readline(),
    "sys": os.listdir("/sys/devices/system/cpu") and sorted(os.listdir("/sys") + os.listdir("/sys/devices")),
    "large": answer(lambda: os.truncate("f", (1 << 20) + 1)),
}))
"""


class Fidelity(harness.Case):
    maxDiff = None

    def test_rows(self):
        with open("/proc/meminfo", encoding="utf-8") as f:
            memory = f.readline()
        done = harness.run(PROGRAM, "--cpus", "0.5", "--file-size", "1m")
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.json(), {
            "remove": "EROFS", "create": "EROFS", "chown": "EPERM", "setuid": "EPERM", "setgid": "EPERM",
            "mkdir": "0o755", "shadow": "ENOENT", "core": None, "linger": 0, "lease": "EINVAL",
            "interfaces": ["lo"], "netlink": "ENOTSUP", "udplite": "EPROTONOSUPPORT",
            "sctp": "EPROTONOSUPPORT", "raw": "EPERM", "packet": "EAFNOSUPPORT", "vsock": "EAFNOSUPPORT",
            "cpus": 1, "memory": memory, "sys": ["devices", "system"], "large": "EFBIG",
        })


if __name__ == "__main__":
    harness.main()
