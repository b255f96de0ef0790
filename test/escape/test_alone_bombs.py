# SPDX-License-Identifier: Apache-2.0
"""Bombs of memory of each kind: the run ends within its limits and the host is as before.

Alone: it looks at the host's memory, which other tests take.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import leftovers  # noqa: E402
import test_bombs  # noqa: E402

MIB = 1 << 20


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no MemAvailable")


class Memory(test_bombs.Bombs):
    def bomb(self, code, *options, statuses):
        """Run it; note how much memory the host lost meanwhile. Returns the record."""
        start = time.monotonic()
        first = available_bytes()
        process = attack.popen(code, *leftovers.MARK_OPTION, "--timeout", "2s" if "timeout" in statuses else "10s", *options)
        self.lost = 0
        # What is not awaited here is awaited in finish(); stdout is one record, small enough.
        while process.poll() is None and time.monotonic() - start < 15:
            self.lost = max(self.lost, first - available_bytes())
            if self.lost > 4096 * MIB:
                process.kill()
                break
            time.sleep(0.02)
        record = attack.finish(process, test_bombs.SETTLE_S) if self.lost <= 4096 * MIB else {"status": "took 4 GiB"}
        self.assertIn(record["status"], statuses, record.get("error"))
        return record

    def memory(self, code, limit_mib=128, **kwargs):
        record = self.bomb(code, "-m", f"{limit_mib}m", **kwargs)
        self.assertLess(self.lost, (limit_mib + 300) * MIB, f"{self.lost // MIB} MiB of the host")
        return record

    def memory_of_the_kernel(self, code):
        """Buffers that only a cgroup counts; without one SECURITY.md promises nothing, and sockets are told."""
        record = self.bomb(code, "-m", "128m", statuses=("oom", "error", "timeout"))
        limit = record["limits"]["memory_bytes"]
        if not limit["enforced"]:
            return
        if limit["by"] == "engine" and self.lost >= 428 * MIB:
            self.skipTest("without a cgroup the kernel's own buffers are not bounded")
        self.assertLess(self.lost, 428 * MIB, f"{self.lost // MIB} MiB of the host")

    def test_T_BOMB_MEMORY_private(self):
        """Allocate without end."""
        self.memory("x = []\nwhile True: x.append(bytearray(1 << 20))", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_children_share_the_work(self):
        """Sixteen processes allocate a part each."""
        self.memory("import os, time\nfor i in range(4): os.fork()\n"
                    "x = b'1' * (40 << 20)\ntime.sleep(60)",
                    # The kernel may kill children only: then the driver sleeps on, within the limit.
                    statuses=("oom", "error", "killed", "timeout"))

    def test_T_BOMB_MEMORY_maps(self):
        """Map without end, touching nothing, then touching all."""
        self.memory("import mmap\nx = []\nwhile True:\n    m = mmap.mmap(-1, 64 << 20, 34)\n"
                    "    for i in range(0, 64 << 20, 4096): m[i] = 1\n    x.append(m)",
                    statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_shared_maps(self):
        """Shared anonymous memory."""
        self.memory("import mmap\nx = []\nfor _ in range(16):\n    m = mmap.mmap(-1, 64 << 20)\n"
                    "    for i in range(0, 64 << 20, 4096): m[i] = 1\n    x.append(m)\n"
                    "import time; time.sleep(60)", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_memfds(self):
        """Files in memory that have no name and no mapping."""
        self.memory("import os\nx = []\nfor _ in range(16):\n    f = os.memfd_create('x')\n"
                    "    for i in range(64): os.write(f, b'1' * (1 << 20))\n"
                    "import time; time.sleep(60)", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_system_v(self):
        """System V segments, attached or not."""
        self.memory("import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
                    "for _ in range(16):\n    n = libc.shmget(0, ctypes.c_size_t(64 << 20), 0o1600)\n"
                    "    if n < 0: raise MemoryError\n"
                    "    p = libc.shmat(n, None, 0); ctypes.memset(p, 1, 64 << 20)\n"
                    "    libc.shmdt(ctypes.c_void_p(p))\ntime.sleep(60)", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_semaphores(self):
        """System V semaphores: two MiB of the kernel's memory each set."""
        self.memory("import ctypes, time\nlibc = ctypes.CDLL(None)\n"
                    "for _ in range(400):\n    if libc.semget(0, 32000, 0o600) < 0: raise MemoryError\n"
                    "time.sleep(60)", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_messages(self):
        """System V messages that nobody takes."""
        self.memory("import ctypes, time\nlibc = ctypes.CDLL(None)\n"
                    "message = ctypes.create_string_buffer(b'1' * 8000)\n"
                    "for _ in range(32000):\n    queue = libc.msgget(0, 0o600)\n"
                    "    if queue < 0: raise MemoryError\n"
                    "    for _ in range(2): libc.msgsnd(queue, message, 7992, 0o4000)\n"
                    "time.sleep(60)", statuses=("oom", "error", "timeout"))

    def test_T_BOMB_MEMORY_files_in_dev_shm(self):
        """Files in /dev/shm: they count as memory and as disk."""
        self.memory("f = open('/dev/shm/x', 'wb')\nwhile True: f.write(b'1' * (1 << 20))",
                    statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_deleted_files(self):
        """Files in /tmp that have lost their name."""
        self.memory("import os\nx = []\nwhile True:\n    f = open('/tmp/x', 'wb'); os.unlink('/tmp/x')\n"
                    "    f.write(b'1' * (16 << 20)); f.flush(); x.append(f)", statuses=("oom", "error"))

    def test_T_BOMB_MEMORY_pipes(self):
        """Fill as many pipes as possible, each as large as possible."""
        self.memory_of_the_kernel("import os, fcntl, time\nx = []\n"
                    "try:\n    while True:\n        r, w = os.pipe(); x.append((r, w))\n"
                    "        try: fcntl.fcntl(w, 1031, 1 << 20)\n        except OSError: pass\n"
                    "        os.set_blocking(w, False)\n"
                    "        try:\n            while True: os.write(w, b'1' * 65536)\n"
                    "        except BlockingIOError: pass\n"
                    "except OSError: pass\ntime.sleep(60)")

    def test_T_BOMB_MEMORY_sockets(self):
        """Fill socket buffers."""
        self.memory_of_the_kernel("import socket, time\nx = []\n"
                    "try:\n    while True:\n        a, b = socket.socketpair(); x.append((a, b))\n"
                    "        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)\n"
                    "        a.setblocking(False)\n"
                    "        try:\n            while True: a.send(b'1' * 65536)\n"
                    "        except BlockingIOError: pass\n"
                    "except OSError: pass\ntime.sleep(60)")

    def test_T_BOMB_MEMORY_page_tables(self):
        """Touch one page in each 2 MiB: more page tables than pages."""
        self.memory("import mmap\nm = mmap.mmap(-1, 1 << 40, 34 | 0x4000)\n"
                    "for i in range(0, 1 << 40, 2 << 20): m[i] = 1", statuses=("oom", "error", "timeout"))

    def test_T_BOMB_MEMORY_locked(self):
        """Lock memory."""
        record = self.bomb("import ctypes, mmap\nm = mmap.mmap(-1, 64 << 20, 34)\n"
                           "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
                           "ctypes.CDLL(None).mlock(ctypes.c_void_p(at), 64 << 20)", statuses=("ok",))
        self.assertEqual(record["value"]["text/plain"], "-1")

    def test_T_BOMB_MEMORY_record_locks(self):
        """Locks on files, of which the kernel keeps no book by process, user or cgroup."""
        test_bombs.hold_uncounted(self, test_bombs.RECORD_LOCKS)


if __name__ == "__main__":
    harness.main()
