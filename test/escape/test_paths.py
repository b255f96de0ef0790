# SPDX-License-Identifier: Apache-2.0
"""Operations on paths of a box (path.*) whose files and programs are the attacker's: the engine follows no path of
the box, and takes nothing for true that the program in the box says."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import programs  # noqa: E402

SECRET = "what only the host has"

# Finds each retort-files as it begins, and writes @text into its output or its errors.
FORGE = """
import os, sys, time
text, fd, seconds = sys.argv[1].encode(), sys.argv[2], float(sys.argv[3])
end, own, n = time.monotonic() + seconds, os.getpid(), 0
print('ready', flush=True)
while time.monotonic() < end:
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or int(pid) <= own:
            continue
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                if not f.read().startswith(b'/retort/files/'):
                    continue
            out = os.open(f'/proc/{pid}/fd/{fd}', os.O_WRONLY | os.O_NONBLOCK)
            n += os.write(out, text) > 0
            os.close(out)
        except OSError:
            pass
print(n, flush=True)
"""

# The directory d, which has a file, and a link of that name take turns. path.write may make the directory as well.
SWAP = """
import os, shutil, sys
def attempt(do, *args):
    try:
        do(*args)
    except OSError:
        pass
while True:
    attempt(os.mkdir, 'x')
    attempt(open, 'x/secret', 'w')
    attempt(os.rename, 'x', 'd')
    attempt(shutil.rmtree, 'd')
    attempt(os.symlink, sys.argv[1], 'n')
    attempt(os.rename, 'n', 'd')
    attempt(os.unlink, 'd')
"""


class Case(programs.Case):
    def setUp(self):
        super().setUp()
        self.top = harness.make_dir()
        self.secret = os.path.join(self.top, "secret")
        with open(self.secret, "w", encoding="utf-8") as f:
            f.write(SECRET)
        os.chmod(self.top, 0o755)

    def try_all(self, path):
        """Each operation with the path, and what it answered or said, as text."""
        said = []
        for method, params in (("path.stat", {}), ("path.list", {}), ("path.read", {"stream": True}),
                               ("path.write", {"content": "mine"}), ("path.make", {}), ("path.remove", {})):
            client = programs.Client(self.engine.path)
            try:
                number = client.send(method, session=self.s, path=path, **params)
                try:
                    said.append(client.receive(number))
                except programs.service.Refused as refused:
                    said.append([refused.code, str(refused)])
                for event in client.events.get(number, []):
                    said.append(programs.decoded(event).decode(errors="replace") if event["event"] == "content" else event)
            finally:
                client.close()
        return json.dumps(said)

    def check_host(self, said):
        self.assertNotIn(SECRET, said)
        with open(self.secret, encoding="utf-8") as f:
            self.assertEqual(f.read(), SECRET)
        self.assertEqual(os.listdir(self.top), ["secret"])


class Links(Case):
    def test_T_PATH_LINK_leads_to_the_host(self):
        """A link of the box to a file of the host, by its path, through /proc, and through `..`."""
        for target in (self.secret, f"/proc/1/root{self.secret}", f"/proc/self/root{self.secret}",
                       f"/proc/{self.engine.process.pid}/root{self.secret}", "../" * 30 + self.secret[1:],
                       f"/proc/{os.getpid()}/cwd"):
            self.out_of("/bin/sh", "-c", 'rm -f l d; ln -s "$0" l; ln -s "$(dirname "$0")" d', target)
            self.check_host(self.try_all("l"))
            self.check_host(self.try_all("d/secret"))
            self.check_host(self.try_all(target))

    def test_T_PATH_LINK_is_swapped_for_a_file(self):
        """A path that is a file at one moment and a link to the host at the next."""
        swap = self.start("/usr/bin/python3", "-c", SWAP, self.top)
        for _ in range(harness.sample(40, 1000)):
            client = programs.Client(self.engine.path)
            numbers = [client.send(method, session=self.s, path="d/secret", **params) for method, params in (
                ("path.stat", {}), ("path.read", {"stream": True}), ("path.write", {"content": "mine"}))]
            said = []
            for number in numbers:
                try:
                    said.append(client.receive(number))
                except programs.service.Refused as refused:
                    said.append(str(refused))
            said.append(str(client.events))
            client.close()
            self.check_host(str(said))
        self.call("process.signal", process=swap, signal="KILL")


class Forged(Case):
    def forge(self, text, fd="1", seconds=3):
        program = self.start("/usr/bin/python3", "-c", FORGE, text, fd, str(seconds))
        self.until(lambda: self.output(program)[0].startswith(b"ready"))
        return program

    def answers(self, program, method="path.list", path="/usr/bin", **params):
        """What calls were answered while the forger ran; it must have written into some of them."""
        got = []
        while self.call("process.get", process=program)["state"] == "running":
            try:
                got.append(self.call(method, path=path, **params))
            except programs.service.Refused as refused:
                got.append(refused)
        self.assertGreater(int(self.output(program)[0].split()[1]), 0, "nothing was forged")
        return got

    def test_T_PATH_FORGE_answers_with_nonsense(self):
        """A program writes bytes that are no JSON into the answer."""
        got = self.answers(self.forge("nonsense\n" * 100))
        errors = {one.code for one in got if isinstance(one, programs.service.Refused)}
        self.assertEqual(errors, {"protocol"})
        self.assertEqual(self.call("path.stat", path="/tmp")["type"], "directory")

    def test_T_PATH_FORGE_has_members_of_its_own(self):
        """A program writes an entry with members that no entry has, or of another type."""
        good = {"name": "f", "path": "/f", "type": "file", "size": 1, "mode": 0o644, "owner": "u", "group": "g", "uid": 1,
                "gid": 1, "modified_ms": 1, "modified_ns": 1}
        for changed in ({"session": "s-other", "result": {}, "jsonrpc": "1"}, {"size": -1}, {"size": "1"}, {"mode": 1 << 40},
                        {"name": "x" * 5000}, {"type": "secret"}, {"attributes": {"a": []}}):
            program = self.forge(json.dumps({**good, **changed}) + "\n", seconds=1)
            for got in self.answers(program):
                if isinstance(got, programs.service.Refused):
                    self.assertEqual(got.code, "protocol")
                    continue
                self.assertLessEqual(set(got), {"entries", "truncated"})
                for entry in got["entries"]:
                    self.assertLessEqual(set(entry), set(good) | {"link", "link_mode", "inexact", "attributes"})
                    self.assertIn(entry["type"], ("file", "directory", "link", "other"))
                    self.assertGreaterEqual(entry["size"], 0)

    def test_T_PATH_FORGE_says_an_error(self):
        """A program writes an error with control characters, and one of a code that is the engine's own."""
        for said in ({"code": "not_found", "message": "\x1b[2J" + "x" * 3000, "hint": "\x07"},
                     {"code": "internal", "message": "boom", "hint": ""}):
            program = self.forge(json.dumps(said) + "\n", fd="2", seconds=1)
            for got in self.answers(program, "path.list", "/none"):
                self.assertIsInstance(got, programs.service.Refused)
                self.assertIn(got.code, ("not_found", "io"))
                self.assertLess(len(str(got)), 300)
                self.assertTrue(str(got).isprintable(), ascii(str(got)))

    def watch(self):
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        number = client.send("path.watch", session=self.s, path=".", stream=True)
        while number not in client.events:
            client.next()
        return client, number

    def test_T_PATH_FORGE_writes_a_line_without_end(self):
        """A program writes an event that does not end: the engine keeps 256 KiB of it, and ends the watch."""
        client, number = self.watch()
        program = self.forge("x" * 65536)
        with self.assertRaises(programs.service.Refused) as caught:
            client.receive(number)
        self.assertEqual(caught.exception.code, "protocol")
        self.wait(program)

    def test_T_PATH_FORGE_floods_a_slow_reader(self):
        """A program writes events without end, and the client does not read: the engine does not keep them."""
        client, number = self.watch()
        before = self.engine_kib("VmRSS")
        self.wait(self.forge('{"event": "missed"}\n' * 3000))
        self.assertLess(self.engine_kib() - before, 100 << 10)
        client.cancel(number)
        self.assertEqual(client.receive(number), {})

    def test_T_PATH_FORGE_stops_the_program(self):
        """A program stops retort-files for ever: the call can be cancelled, and others go on."""
        self.start("/usr/bin/python3", "-c", "import os\\nwhile True:\\n"
                   " for pid in os.listdir('/proc'):\\n"
                   "  try:\\n"
                   "   if b'/retort/files/' in open(f'/proc/{pid}/cmdline', 'rb').read()[:16]: os.kill(int(pid), 19)\\n"
                   "  except (OSError, ValueError): pass".replace("\\n", "\n"))
        client = programs.Client(self.engine.path)
        self.addCleanup(client.close)
        for _ in range(10):
            number = client.send("path.list", session=self.s, path="/usr", depth=64)
            client.cancel(number)
            try:
                client.receive(number)
            except programs.service.Refused as refused:
                self.assertEqual(refused.code, "interrupted")
        other = self.new_session()
        self.assertEqual(self.call("path.stat", session=other, path="/tmp")["type"], "directory")


if __name__ == "__main__":
    harness.main()
