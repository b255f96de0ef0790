# SPDX-License-Identifier: Apache-2.0
"""What a hostile image, registry or archive cannot do, nor whoever takes over the process that unpacks layers."""

import base64
import gzip
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import web  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import Image, Registry, archive, digest, entry, layer  # noqa: E402

IDENTITY = "user"
SECRET = "of the host"


class Outside(Case):
    """With a directory beside the store that has to stay as it is."""

    def setUp(self):
        super().setUp()
        self.outside = tempfile.mkdtemp(prefix="outside", dir=harness.TMP)
        with open(os.path.join(self.outside, "secret"), "w", encoding="ascii") as f:
            f.write(SECRET)
        self.addCleanup(self.untouched)

    def untouched(self):
        self.assertEqual(os.listdir(self.outside), ["secret"])
        path = os.path.join(self.outside, "secret")
        with open(path, encoding="ascii") as f:
            self.assertEqual(f.read(), SECRET)
        self.assertEqual((os.stat(path).st_nlink, stat.S_IMODE(os.stat(path).st_mode) & 0o7000), (1, 0))

    def attempt(self, *rows, **more):
        """Pull an image with this layer. Returns: the directory of its layer, or None."""
        self.image("rm", self.name("evil"))
        self.registry.add("evil", Image(archive(rows, **more)))
        done = self.image("pull", self.name("evil"), "--json")
        self.assertNotIn(SECRET, done.out + done.err)
        if done.status != 0:
            self.assertEqual(self.layers(), [], done)
            return None
        return self.tree(done.json())


class Layers(Outside):
    def test_T_IMAGE_LAYER_leads_out_by_links(self):
        """Write through symbolic links: relative, absolute, in the place of a directory, at the last name."""
        up, to = "../" * 40 + self.outside.lstrip("/"), self.outside
        link = lambda name, target: (entry(name, tarfile.SYMTYPE, link=target), None)  # noqa: E731
        for target in (up, to):
            self.attempt(link("l", target), (entry("l/new"), b"x"))
            self.attempt((entry("d", tarfile.DIRTYPE), None), link("d", target), (entry("d/new"), b"x"))
            self.attempt(link("a", "b"), link("b", target), (entry("a/new/deeper"), b"x"))
            self.attempt(link("l", target + "/secret"), (entry("l"), b"x"))
            self.attempt(link("l", target), (entry("l", tarfile.DIRTYPE, 0o777), None), (entry("l/secret"), b"x"))
            self.attempt(link("l", target), (entry("l/.wh.secret"), b""))
            self.attempt(link("l", target), (entry("l/.wh..wh..opq"), b""))
            self.attempt(link("l", target), (entry("l/x", tarfile.SYMTYPE, link="y"), None))
            self.attempt(link("l", target), (entry("l/x", tarfile.FIFOTYPE), None))
            self.attempt(link("l", target + "/secret"), (entry("h", tarfile.LNKTYPE, link="l"), None), (entry("h"), b"x"))
            self.attempt(link("l", target), (entry("h", tarfile.LNKTYPE, link="l/secret"), None), (entry("h"), b"x"))

    def test_T_IMAGE_LAYER_leads_out_by_names(self):
        """Names with "..", absolute ones, and hard links to files of the host."""
        up, to = "../" * 40 + self.outside.lstrip("/"), self.outside
        for name in (up + "/new", "a/" + up + "/new", to + "/new", "//" + to + "/new", "./.././" + up + "/new"):
            self.attempt((entry(name), b"x"))
            self.attempt((entry(name, tarfile.DIRTYPE, 0o777), None))
            self.attempt((entry(os.path.dirname(name) + "/.wh.secret"), b""))
        for name in (up + "/secret", to + "/secret"):
            self.assertIsNone(self.attempt((entry("h", tarfile.LNKTYPE, link=name), None), (entry("h"), b"x")))

    def test_T_IMAGE_LAYER_marks_of_removal(self):
        """Marks of removed files that name the directory itself, its parent, or nothing."""
        for name in (".wh.", ".wh..", ".wh...", "a/.wh...", ".wh./etc"):
            tree = self.attempt((entry("a/b"), b"1"), (entry(name), b""))
            if tree:
                self.assertEqual(os.listdir(os.path.join(tree, "a")), ["b"])

    def test_T_IMAGE_LAYER_brings_no_rights(self):
        """Set-id bits, devices, capabilities and attributes that an overlay would obey."""
        rows = [(entry("su", mode=0o6755), b"x"), (entry("d", tarfile.DIRTYPE, 0o7777), None),
                (entry("mem", tarfile.CHRTYPE, devmajor=1, devminor=1), None), (entry("disk", tarfile.BLKTYPE, devmajor=8), None),
                (entry("zero", tarfile.CHRTYPE, devmajor=0, devminor=0), None)]
        names = ("security.capability", "trusted.overlay.opaque", "user.overlay.redirect", "user.overlay.metacopy", "user.x")
        for kind in ("SCHILY.xattr.", "LIBARCHIVE.xattr."):
            info = entry(kind.split(".", maxsplit=1)[0])
            info.pax_headers = {kind + name: "eQ" for name in names}
            rows.append((info, b"x"))
        tree = self.attempt(*rows)
        for at, dirs, files in os.walk(tree):
            for name in dirs + files:
                path = os.path.join(at, name)
                self.assertEqual(os.lstat(path).st_mode & 0o6000, 0, path)
                self.assertEqual(os.lstat(path).st_rdev, 0, path)  # a mark is 0:0
                self.assertFalse(stat.S_ISBLK(os.lstat(path).st_mode), path)
                self.assertEqual(os.listxattr(path), [])
        self.assertEqual(set(os.listdir(tree)), {"su", "d", "mem", "disk", "zero", "SCHILY", "LIBARCHIVE"})

    def test_T_IMAGE_LAYER_uncovers_what_is_below(self):
        """Bring back a file that an image has replaced or removed, by a device in its place that is left out."""
        device = lambda name: (entry(name, tarfile.CHRTYPE, devmajor=1, devminor=3), None)  # noqa: E731
        self.registry.add("evil", Image(layer({"old": b"below", "gone": b"below", "d/e/f": b"below"}),
                                        archive([(entry(".wh.gone"), b""), (entry("d/e/f"), b"above"), (entry("d/new/x"), b"above"),
                                                 device("gone"), device("old"), device("d/e/f"), device("d/new/y")])))
        about = self.pull("evil")
        trees = [self.tree(about, number) for number in (1, 0)]
        for name in ("gone", "old", "d/e/f", "d/new/y"):
            st = os.lstat(os.path.join(trees[0], name))
            self.assertEqual((stat.S_IFMT(st.st_mode), st.st_rdev), (stat.S_IFCHR, 0), name)
        script = 'mount -t overlay -o "userxattr,lowerdir=$1:$2" none "$3" && cd "$3" && find .'
        place = tempfile.mkdtemp(dir=self.state)
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0:
            seen = subprocess.run(["unshare", "-rm", "/bin/sh", "-c", script, "sh", *trees, place], capture_output=True, check=True)
            self.assertEqual(sorted(seen.stdout.decode().split()), [".", "./d", "./d/e", "./d/new", "./d/new/x"])
            self.assertEqual(seen.stderr, b"")

    def test_T_IMAGE_BOMB_in_sizes(self):
        """A file that says it has a petabyte, and one with a hole of that size."""
        self.registry.add("evil", Image(entry("huge", size=1 << 50).tobuf(), packed=None))
        self.refuses(2, "MiB of files", "evil")
        hole = entry("hole")
        hole.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x",
                            "GNU.sparse.realsize": str(1 << 50)}
        self.registry.add("evil", Image(archive([(hole, b"0\n" + b"\0" * 510)])))
        self.refuses(2, "MiB of files", "evil")

    def test_T_IMAGE_BOMB_in_packing(self):
        """Little that becomes much: behind the archive, and with a window of zstd of 2 GiB."""
        data = archive([(entry("a"), b"x")])
        behind = gzip.compress(data) + b"".join([gzip.compress(b"\0" * (64 << 20))] * 3)
        before = self.free()
        self.registry.add("evil", Image(data + b"\0" * (192 << 20), packed=lambda _: behind))
        self.pull("evil")
        self.image("rm", self.name("evil"))
        zstd = subprocess.run(["zstd", "-q", "--ultra", "-22", "--long=31"], input=data, capture_output=True, check=True).stdout
        self.registry.add("evil", Image(data, packed=lambda _: zstd))
        done = self.image("pull", self.name("evil"))
        self.assertIn(done.status, (0, 2), done)
        self.assertLess(before - self.free(), 64 << 20)

    def test_T_IMAGE_BOMB_in_links(self):
        """Few bytes whose links lead through links, up and down, for each of many entries."""
        rows = [(entry("d", tarfile.DIRTYPE), None)]
        for i in range(39):
            rows.append((entry(f"l{i}", tarfile.SYMTYPE, link="d/../" * 700 + (f"l{i + 1}" if i < 38 else "d")), None))
        rows += [(entry(f"l0/x{i}" if i % 2 else f"x{i}", tarfile.SYMTYPE, link="x"), None) for i in range(20000)]
        self.registry.add("evil", Image(archive(rows, form=tarfile.GNU_FORMAT), packed=gzip.compress))
        self.refuses(2, "too many long paths and links", "evil")

    def free(self):
        fs = os.statvfs(self.state)
        return fs.f_bavail * fs.f_frsize

    def test_T_IMAGE_TERMINAL_of_the_user(self):
        """Steer the terminal by names in a layer, and by what a registry or an archive says."""
        evil = "\x1b]0;evil\x07\x1b[2J"
        self.registry.add("evil", Image(archive([(entry("../" + evil), b"x")])))
        said = [self.image("pull", self.name("evil"))]
        self.registry.add("evil", {"schemaVersion": 2, "config": {"digest": evil, "size": 1}, "layers": []})
        said.append(self.image("pull", self.name("evil")))
        self.registry.says = json.dumps({"errors": [{"message": evil}]}).encode()
        said.append(self.image("pull", self.name("evil")))
        said.append(self.image("import", "/dev/null", evil))
        for done in said:
            self.assertNotEqual(done.status, 0, done)
            self.assertFalse({b"\x1b", b"\x07"} & {bytes([b]) for b in done.stderr + done.stdout}, done)


class Archives(Outside):
    def tar(self, *rows):
        path = os.path.join(self.state, "evil.tar")
        with open(path, "wb") as f:
            f.write(archive(rows))
        return path

    def test_T_IMAGE_ARCHIVE_reads_files_of_the_host(self):
        """An archive whose documents and layers are links to files of the host, or paths out of it."""
        secret, up = os.path.join(self.outside, "secret"), "../" * 40
        image = Image(layer({"a": b"1"}))
        for target in (secret, up + secret.lstrip("/"), "/proc/self/environ", "/etc/passwd"):
            saved = json.dumps([{"Config": "c", "RepoTags": ["evil:1"], "Layers": ["l"]}]).encode()
            link = (entry("c", tarfile.SYMTYPE, link=target), None)
            outcomes = [
                self.image("import", self.tar((entry("manifest.json"), saved), link)),
                self.image("import", self.tar((entry("manifest.json"), saved), (entry("c"), image.config),
                                              (entry("l", tarfile.SYMTYPE, link=target), None))),
                self.image("import", self.tar((entry("manifest.json"), json.dumps([
                    {"Config": target, "RepoTags": ["evil:1"], "Layers": [target]}]).encode()))),
                self.image("import", self.tar((entry("oci-layout"), b"{}"), (entry("index.json", tarfile.SYMTYPE, link=target), None)),
                           "evil:1"),
            ]
            for done in outcomes:
                self.assertNotEqual(done.status, 0, done)
                self.assertNotIn(SECRET, done.out + done.err)
                self.assertNotIn("root:", done.out + done.err)
                self.assertEqual(self.layers(), [])

    def test_T_IMAGE_ARCHIVE_calls_itself_by_a_digest(self):
        """The name of an image that is known, which nobody has compared."""
        image = Image(layer({"a": b"evil"}))
        text = json.dumps([{"Config": "c.json", "RepoTags": ["debian@sha256:" + "1" * 64], "Layers": ["l"]}]).encode()
        path = self.tar((entry("manifest.json"), text), (entry("c.json"), image.config), (entry("l"), layer({"a": b"evil"})))
        done = self.image("import", path)
        self.assertEqual(done.status, 2, done)
        self.assertEqual(self.names(), [])

    def test_T_IMAGE_ARCHIVE_has_no_end(self):
        """A FIFO or a device in the place of a document, in a layout that somebody has given to the user."""
        where = tempfile.mkdtemp(dir=self.state)
        with open(os.path.join(where, "oci-layout"), "w", encoding="ascii") as f:
            f.write("{}")
        os.mkfifo(os.path.join(where, "index.json"))
        done = self.image("import", where, "evil:1")
        self.assertIn("index.json of the image is no file", done.err)
        os.remove(os.path.join(where, "index.json"))
        with open(os.path.join(where, "index.json"), "wb") as f:
            f.truncate(1 << 33)
        done = self.image("import", where, "evil:1")
        self.assertNotEqual(done.status, 0, done)


class Registries(Case):
    def test_T_IMAGE_DIGEST_is_another(self):
        """Other bytes than those that the image names: of its manifest, its configuration and its layer."""
        image, evil = Image(layer({"a": b"good"}), packed=None), Image(layer({"a": b"evil"}), packed=None)
        whole = self.registry.add("app", image)
        self.registry.add("app", evil)
        self.registry.documents["app", whole] = json.dumps(evil.manifest).encode()
        self.assertIn("should have", self.image("pull", self.name(f"app@{whole}")).err)
        for part in (image.config, image.layers[0]):
            self.registry.add("app", image)
            self.registry.blobs[digest(part)] = evil.layers[0] if part is image.layers[0] else evil.config
            self.refuses(1, "digest")
            self.assertEqual((self.layers(), self.downloads()), ([], []))

    def test_T_IMAGE_LOGIN_goes_elsewhere(self):
        """Send the login on: by a redirection, by a server of tokens without TLS, to a mirror."""
        auth = os.path.join(self.state, "auth.json")
        with Registry("me", "secret") as registry, Registry() as thief:
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:secret").decode()}}}, f)
            image = Image(layer({"a": b"1"}))
            registry.add("app", image)
            thief.blobs.update(image.blobs)
            registry.redirect = thief
            self.pull(registry=registry, env={"REGISTRY_AUTH_FILE": auth})
            self.image("rm", self.name("app", registry))
            self.pull("app", "--mirror", f"{registry.host}={thief.host}", registry=registry, env={"REGISTRY_AUTH_FILE": auth})
            self.assertGreater(len(thief.asked), 2)
            for _, path, headers in thief.asked:
                self.assertNotIn("Authorization", headers, path)
                self.assertNotIn("secret", path)

    def test_T_IMAGE_LOGIN_goes_to_a_proxy(self):
        """What goes to a registry of this host without TLS, a proxy would read."""
        auth = os.path.join(self.state, "auth.json")
        with Registry("me", "secret") as registry, Registry() as proxy:
            registry.add("app", Image(layer({"a": b"1"})))
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:secret").decode()}}}, f)
            env = dict.fromkeys(("http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"), "http://" + proxy.host)
            self.pull("app", registry=registry, env={"REGISTRY_AUTH_FILE": auth, **env})
            self.assertEqual(proxy.asked, [])

    def test_T_IMAGE_LOGIN_goes_out_without_TLS(self):
        """A registry of this host sends on to a server of tokens, or of layers, that is not on this host."""
        auth = os.path.join(self.state, "auth.json")
        with Registry("me", "secret") as registry:
            registry.add("app", Image(layer({"a": b"1"})))
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:secret").decode()}}}, f)
            for host in ("192.0.2.1", "127.0.0.1@192.0.2.1", "[2001:db8::1]", "127.1.example", "localhost.example:80"):
                registry.realm = f"http://{host}/token"
                done = self.image("pull", self.name("app", registry), env={"REGISTRY_AUTH_FILE": auth})
                self.assertEqual(done.status, 4, done)
                self.assertIn("which is no https URL", done.err)
        for host in ("192.0.2.1", "127.0.0.1@192.0.2.1"):
            self.registry.sends_on = f"http://{host}/x"
            done = self.image("pull", self.name("app"))
            self.assertIn("which is not followed", done.err)

    def test_T_IMAGE_LOGIN_is_kept(self):
        """Find the login in what is kept of an image, or in what is printed."""
        with Registry("me", "sesame-1234") as registry:
            registry.add("app", Image(layer({"a": b"1"})))
            auth = os.path.join(self.state, "auth.json")
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:sesame-1234").decode()}}}, f)
            env = {"REGISTRY_AUTH_FILE": auth}
            said = [self.image("pull", self.name("app", registry), env=env), self.image("inspect", self.name("app", registry))]
            registry.secret = "another"
            said.append(self.image("pull", self.name("app", registry), env=env))
            os.remove(auth)
        for done in said:
            self.assertNotIn("sesame", done.out + done.err)
        self.assertNotEqual(said[2].status, 0)
        done = subprocess.run(["grep", "-rl", "-e", "sesame-1234", "-e", base64.b64encode(b"me:sesame-1234").decode()[:12], self.state],
                              capture_output=True, check=False)
        self.assertEqual(done.stdout, b"")

    def test_T_IMAGE_REGISTRY_sends_on(self):
        """Redirections to files, to other schemes, and in a circle."""
        for to in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x", "javascript:x", "//127.0.0.1/x", "",
                   f"http://{self.registry.host}/v2/app/manifests/latest"):
            self.registry.sends_on = to
            done = self.image("pull", self.name("app"))
            self.assertEqual(done.status, 4, (to, done))
            self.assertNotIn("root:", done.out + done.err)

    def test_T_IMAGE_REGISTRY_has_no_end(self):
        """Documents, layers and tokens that do not end, and questions for a login again and again."""
        image = Image(layer({"a": b"1"}))
        self.registry.add("app", image)
        self.registry.documents["app", "latest"] = b" " * (5 << 20)
        self.refuses(2, "over 4 MiB")
        self.registry.add("app", image)
        self.registry.endless = True
        self.refuses(1, "longer than")
        self.registry.endless = False
        # Headers without an end, a switch of protocols that nobody asked for.
        for text in (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (2 << 20), b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100000,
                     b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"):
            self.registry.raw = text
            self.refuses(4, self.registry.host + ": ")
        self.registry.raw = None
        # Parts of what was asked for as a whole.
        self.registry.is_partial = True
        self.registry.asked.clear()
        self.refuses(4, "status 206")
        self.assertEqual(len(self.registry.asked), 1)
        self.registry.is_partial = False
        # A byte each time; and the same bytes each time.
        image = Image(layer({"b": random.Random(1).randbytes(5 << 20)}))
        self.registry.add("app", image)
        self.registry.retry_after = "1"
        for ignores, n in ((False, 1), (True, 2 << 20)):
            self.registry.ignores_range = ignores
            self.registry.cut_after = [len(image.config)] + [n] * 1000
            self.refuses(4, "transfer closed")
            self.assertGreater(len(self.registry.cut_after), 980)
        self.registry.cut_after = []
        with Registry("me", "secret") as registry:
            registry.add("app", image)
            registry.accepts = False
            auth = os.path.join(self.state, "auth.json")
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"me:secret").decode()}}}, f)
            done = self.image("pull", self.name("app", registry), env={"REGISTRY_AUTH_FILE": auth})
            self.assertIn("refuses the login", done.err)
            self.assertLess(len(registry.asked), 6)


HOSTILE = """#!/usr/bin/python3
import os, socket, struct, time
channel = socket.socket(fileno=3)
message, fds, _, _ = socket.recv_fds(channel, 4096, 4)

def reply(kind=2, status=0, counts=(1, 1, 0, 1), digest=b"0" * 64, code=0, text=b"", hint=b""):
    return struct.pack("<Ii4Q65s7xiii4xQ256s256s", kind, status, *counts, digest, code, 0, 0, 0x4141414141414141, text, hint)

say = channel.send
%s
"""


class Process(Outside):
    def installation(self, code):
        """An installation whose retort-unpack is this program."""
        root, here = tempfile.mkdtemp(dir=harness.TMP), os.path.dirname(harness.RETORT)
        layouts = [("../libexec/retort", "../share/retort"), ("src", "drivers")]
        libexec, share = next(pair for pair in layouts if os.access(os.path.join(here, pair[0], "retort-init"), os.X_OK))
        for where in ("bin", "libexec/retort", "share"):
            os.makedirs(os.path.join(root, where))
        shutil.copy(harness.RETORT, os.path.join(root, "bin/retort"))
        for name in ("retort-warden", "retort-init"):
            shutil.copy(os.path.join(here, libexec, name), os.path.join(root, "libexec/retort"))
        os.symlink(os.path.abspath(os.path.join(here, share)), os.path.join(root, "share/retort"))
        path = os.path.join(root, "libexec/retort/retort-unpack")
        with open(path, "w", encoding="utf-8") as f:
            f.write(HOSTILE % code)
        os.chmod(path, 0o755)
        return os.path.join(root, "bin/retort")

    def test_T_IMAGE_PROCESS_is_not_believed(self):
        """Whoever took it over writes whatever it likes to the engine, and would like to spoil other layers."""
        image = Image(layer({"a": b"1"}))
        self.registry.add("app", image)
        rows = ("os._exit(7)", "os.kill(os.getpid(), 11)", "channel.close(); time.sleep(600)", "say(b'x')", "say(b'\\xff' * 648)",
                "say(reply() + b'x')", "say(reply(kind=7)); os._exit(0)", "say(reply(digest=b'../../../../etc/passwd'))",
                "say(reply(digest=b'\\xff' * 65))", "say(reply(status=-5))", "say(reply(status=5))", "say(reply(code=99, text=b'x' * 256))",
                "say(reply(code=-1))", "say(reply(status=-2, code=3, text=b'\\x1b[2Jevil'))", "say(reply(digest=b'1' * 64))",
                "socket.send_fds(channel, [reply()], [0, 1, 2])",
                "[say(reply(kind=1, counts=(2**64 - 1,) * 4)) for _ in range(1000)]; os._exit(0)")
        for code in rows:
            with unittest.mock.patch.object(harness, "RETORT", self.installation(code)):
                done = self.image("pull", self.name("app"))
            self.assertNotEqual(done.status, 0, (code, done))
            self.assertNotIn("\x1b", done.err, code)
            self.assertEqual((self.names(), self.layers()), ([], []), code)
        # It knows what to say, and spoils what it was given: the layer of that digest, and no other.
        diff = json.loads(image.config)["rootfs"]["diff_ids"][0][7:]
        code = f"os.symlink('/etc', 'evil', dir_fd=fds[1]); say(reply(counts=(2**63,) * 4, digest=b'{diff}'))"
        with unittest.mock.patch.object(harness, "RETORT", self.installation(code)):
            self.image("pull", self.name("app"))
        self.assertLessEqual(set(self.layers()), {digest(image.layers[0])[7:]})
        self.image("prune")
        for counts in ((2**63, 1, 0, 1), (1, 2**63, 0, 1), (1, 1, 2**63, 1), (1000001, 1, 0, 1)):
            code = f"say(reply(counts={counts}, digest=b'{diff}'))"
            with unittest.mock.patch.object(harness, "RETORT", self.installation(code)):
                self.refuses(125, "the process has sent no result")

    def test_T_IMAGE_ARCHIVE_is_changed_while_it_is_read(self):
        """By others who may write to it: what is unpacked would get the name, a digest, of what is there then. The process
        stands for the moment at which they do."""
        evil, good = archive([(entry("a"), b"evil")]), archive([(entry("a"), b"good")])
        path = os.path.join(self.state, "system.tar")
        with open(path, "wb") as f:
            f.write(evil)
        os.chmod(path, 0o666)
        swap = "data = {!r}; open({!r}, 'r+b').write(data); "
        done = self.say_after(swap.format(good, path), "import", path, "evil", "--json")
        self.assertEqual(done.json()["layers"][0]["digest"], digest(evil)[7:])
        # A layer in a directory, which was compared with its digest before.
        image = Image(good, packed=None)
        where = os.path.join(self.state, "layout")
        os.makedirs(os.path.join(where, "blobs/sha256"))
        text = json.dumps(image.manifest).encode()
        for data in (*image.blobs.values(), text):
            with open(os.path.join(where, "blobs/sha256", digest(data)[7:]), "wb") as f:
                f.write(data)
        path = os.path.join(where, "blobs/sha256", digest(good)[7:])
        os.chmod(path, 0o666)
        for name, document in (("oci-layout", {}), ("index.json", {"manifests": [{"digest": digest(text), "size": len(text)}]})):
            with open(os.path.join(where, name), "w", encoding="ascii") as f:
                json.dump(document, f)
        code = swap.format(evil, path) + f"os.pread(fds[0], 99999, 0) == {good!r} or os._exit(1); "
        done = self.say_after(code, "import", where, "good", "--json", diff=digest(good)[7:])
        self.assertEqual(done.json()["layers"][0]["digest"], digest(good)[7:])

    def say_after(self, code, *args, diff="1" * 64):
        """Run `image`, with a process that does @code and then says that all is well."""
        code += f"say(reply(digest=b'{diff}'))"
        with unittest.mock.patch.object(harness, "RETORT", self.installation(code)):
            done = self.image(*args)
        self.assertEqual(done.status, 0, done)
        return done

    def test_T_IMAGE_PROCESS_is_locked(self):
        """Look at the process while it unpacks: what it could do if its parser were taken over."""
        big = layer({f"f{i}": b"\0" * (1 << 20) for i in range(600)})
        self.registry.add("app", Image(big, packed=lambda data: gzip.compress(data, 1)))
        found = []
        over = threading.Event()

        def watch():
            while not over.is_set() and not found:
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                            if f.read() != "retort-unpack\n":
                                continue
                        with open(f"/proc/{pid}/status", encoding="ascii") as f:
                            rows = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
                        with open(f"/proc/{pid}/limits", encoding="ascii") as f:
                            rows.update((line[:26].rstrip(), line[26:].split()[0]) for line in f)
                    except OSError:
                        continue
                    if rows.get("Seccomp") == "2":
                        found.append(rows)
                time.sleep(0.002)

        thread = threading.Thread(target=watch)
        thread.start()
        self.pull()
        over.set()
        thread.join()
        self.assertTrue(found, "nobody has seen the process")
        rows = found[0]
        self.assertEqual((rows["NoNewPrivs"], rows["Threads"], rows["CapEff"], rows["CapPrm"], rows["CapBnd"]),
                         ("1", "1", "0" * 16, "0" * 16, "0" * 16))
        self.assertEqual((rows["Max cpu time"], rows["Max processes"], rows["Max open files"]), ("14400", "0", "256"))


class Callers(Case):
    def test_T_IMAGE_CALLER_changes_images(self):
        """As a caller with a token: get an image, read a file of the host as one, remove those of the operator."""
        self.registry.add("app", Image(layer({"a": b"1"})))
        self.pull()
        with web.Server("--state", self.state, tokens="ann " + "a" * 32 + "\n") as server:
            ann = {"Authorization": "Bearer " + "a" * 32}
            for method, params in (("image.pull", {"name": self.name("app")}), ("image.import", {"path": "/etc/passwd", "name": "x"}),
                                   ("image.remove", {"name": self.name("app")}), ("image.prune", {})):
                with self.assertRaises(web.Failed, msg=method) as caught:
                    server.rpc(method, ann, **params)
                self.assertEqual(caught.exception.code, "denied")
            self.assertEqual(len(server.rpc("image.list", ann)["images"]), 1)


if __name__ == "__main__":
    harness.main()
