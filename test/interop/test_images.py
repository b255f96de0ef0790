# SPDX-License-Identifier: Apache-2.0
"""Images, as other people's tools see them: what umoci unpacks, what skopeo and Debian's docker-registry serve.

Twenty images that this test makes are pulled or imported, each with layers that add, change, remove and hide what the
layers below have. What retort has made of them is looked at through the kernel's overlay file system, and has to be what
umoci makes of the same image.
"""

import base64
import crypt
import hashlib
import json
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

import interop
from interop import harness

sys.path.insert(0, os.path.join(interop.ROOT, "test", "system"))
import registry_fake  # noqa: E402
import web  # noqa: E402
from registry_fake import Image, archive, digest, entry  # noqa: E402

IDENTITY = "user"
N_IMAGES = 300 if harness.IS_LONG else 20
NAMES = ("a", "b", "c.txt", "\u017e", "x y", "-n", "lib", "n" * 120, "d", "e")
# To see a tree as a box would: a mount namespace of one's own, and lines with what is there.
LOOK = r"""
import hashlib, json, os, stat, sys
def look(top):
    rows, inodes = {}, {}
    for at, dirs, files in os.walk(os.fsencode(top)):
        for name in dirs + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            kind = stat.S_IFMT(st.st_mode)
            row = {"kind": kind, "mode": stat.S_IMODE(st.st_mode)}
            if kind == stat.S_IFREG:
                with open(path, "rb") as f:
                    row["data"] = hashlib.sha256(f.read()).hexdigest()
                row["time"] = int(st.st_mtime)
                inodes.setdefault(st.st_ino, []).append(os.fsdecode(os.path.relpath(path, os.fsencode(top))))
            elif kind == stat.S_IFLNK:
                row["link"] = os.fsdecode(os.readlink(path))
                row["mode"] = 0
            rows[os.fsdecode(os.path.relpath(path, os.fsencode(top)))] = row
    return {"rows": rows, "same": sorted(sorted(names) for names in inodes.values() if len(names) > 1)}
print(json.dumps(look(sys.argv[1])))
"""


def tool(*argv, **more):
    done = subprocess.run(argv, capture_output=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{argv}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def needed(*names):
    for name in names:
        if not shutil.which(name):
            raise unittest.SkipTest(f"this host has no {name}")


class Maker:
    """Layers of an image at random: what is in them is valid for the layers below."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.there = {"": "dir"}  # path: kind, of the whole image so far
        self.modes = {}           # of directories

    def dirs(self):
        return [path for path, kind in self.there.items() if kind == "dir"]

    def join(self, at, name):
        return f"{at}/{name}" if at else name

    def forget(self, path):
        for other in [p for p in self.there if p == path or p.startswith(path + "/")]:
            del self.there[other]

    def enter(self, rows, at):
        """Layers have the directories that their files are in."""
        parts = at.split("/") if at else []
        for i in range(1, len(parts) + 1):
            path = "/".join(parts[:i])
            if path not in {info.name for info, _ in rows if info.type == tarfile.DIRTYPE}:
                rows.append((entry(path, tarfile.DIRTYPE, self.modes[path]), None))

    def add(self, rows):
        r = self.random
        at = r.choice(self.dirs())
        path = self.join(at, r.choice(NAMES))
        if path.count("/") > 6:
            return
        self.enter(rows, at)
        kind = r.choice(("dir", "file", "file", "file", "link", "hard", "fifo"))
        if kind == "dir":
            if self.there.get(path) != "dir":
                self.forget(path)
            self.modes[path] = r.choice((0o755, 0o700, 0o1777, 0o555))
            rows.append((entry(path, tarfile.DIRTYPE, self.modes[path]), None))
        elif kind == "file":
            self.forget(path)
            data = r.randbytes(r.choice((0, 1, 511, 512, 70000)))
            rows.append((entry(path, mode=r.choice((0o644, 0o755, 0o600, 0o400, 0o4755)), mtime=r.randrange(10**9)), data))
        elif kind == "link":
            self.forget(path)
            rows.append((entry(path, tarfile.SYMTYPE, 0o777, r.choice(("/etc", "a", "../b", "no where"))), None))
        elif kind == "fifo":
            self.forget(path)
            rows.append((entry(path, tarfile.FIFOTYPE, 0o644), None))
        else:
            mine = [info.name for info, _ in rows if info.type == tarfile.REGTYPE and self.there.get(info.name) == "file"]
            mine = [name for name in mine if name != path and not name.startswith(path + "/")]
            if not mine:
                return
            self.forget(path)
            rows.append((entry(path, tarfile.LNKTYPE, link=r.choice(mine)), None))
        self.there[path] = kind

    def remove(self, rows, below):
        """Mark something of the layers below as removed, which this layer does not have."""
        r = self.random
        mine = {info.name for info, _ in rows}
        left = [p for p in below if p and p in self.there and not any(m == p or m.startswith(p + "/") for m in mine)]
        if not left:
            return
        path = r.choice(left)
        at, _, name = path.rpartition("/")
        self.forget(path)
        self.enter(rows, at)
        rows.append((entry(self.join(at, ".wh." + name)), b""))

    def hide(self, rows, below):
        r = self.random
        mine = {info.name for info, _ in rows}
        left = [p for p in below if p and self.there.get(p) == "dir" and not any(m.startswith(p + "/") for m in mine)]
        if not left:
            return
        path = r.choice(left)
        self.forget(path)
        self.there[path] = "dir"
        self.enter(rows, path)
        rows.append((entry(path + "/.wh..wh..opq"), b""))

    def layer(self):
        rows, below = [], list(self.there)
        if self.random.random() < 0.3:
            self.hide(rows, below)
        for _ in range(self.random.randrange(1, 25)):
            self.add(rows)
        for _ in range(self.random.randrange(4)):
            self.remove(rows, below)
        return archive(rows, form=self.random.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)))


def busybox_layer():
    """busybox with its links, as its image has them."""
    path = shutil.which("busybox")
    with open(path, "rb") as f:
        rows = [(entry("bin/busybox", mode=0o755), f.read())]
    names = tool(path, "--list").decode().split()
    rows += [(entry(f"bin/{name}", tarfile.LNKTYPE, link="bin/busybox"), None) for name in names if name != "busybox"]
    return archive(rows)


def write_layout(image, where, ref):
    """Write an image as an OCI layout."""
    blobs = os.path.join(where, "blobs", "sha256")
    os.makedirs(blobs, exist_ok=True)
    text = json.dumps(image.manifest).encode()
    for data in (*image.blobs.values(), text):
        with open(os.path.join(blobs, hashlib.sha256(data).hexdigest()), "wb") as f:
            f.write(data)
    with open(os.path.join(where, "oci-layout"), "w", encoding="ascii") as f:
        f.write('{"imageLayoutVersion": "1.0.0"}')
    row = {"mediaType": registry_fake.MANIFEST, "digest": digest(text), "size": len(text),
           "annotations": {"org.opencontainers.image.ref.name": ref}}
    with open(os.path.join(where, "index.json"), "w", encoding="ascii") as f:
        json.dump({"schemaVersion": 2, "mediaType": registry_fake.INDEX, "manifests": [row]}, f)


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp(prefix="images", dir=harness.TMP)
        self.state = os.path.join(self.dir, "state")

    def image(self, *args):
        done = harness.retort("image", *args, "--state", self.state)
        self.assertEqual(done.status, 0, done)
        return done

    def seen(self, name):
        """What a box would see of an image: the layers, one over the other, by the kernel."""
        rows = self.image("inspect", name).json()["layers"]
        empty, place = os.path.join(self.dir, "empty"), os.path.join(self.dir, "place")
        for path in (empty, place):
            os.makedirs(path, exist_ok=True)
        trees = [os.path.join(self.state, "layers", row["digest"], "tree") for row in reversed(rows)]
        lower = ":".join([*dict.fromkeys(trees), empty])
        script = f'mount -t overlay -o userxattr,lowerdir="$1" none "$2" && python3 -c "$3" "$2"'
        out = tool("unshare", "-rm", "/bin/sh", "-c", script, "sh", lower, place, LOOK)
        return json.loads(out)

    def unpacked(self, layout, ref):
        """What umoci makes of the image."""
        bundle = tempfile.mkdtemp(dir=self.dir)
        tool("umoci", "unpack", "--rootless", "--image", f"{layout}:{ref}", os.path.join(bundle, "b"))
        out = tool("unshare", "-r", "python3", "-c", LOOK, os.path.join(bundle, "b", "rootfs"))
        return json.loads(out)

    def same(self, ours, theirs):
        """The same, but for what a box must not have."""
        for row in theirs["rows"].values():
            if row["kind"] == stat.S_IFREG:
                row["mode"] = (row["mode"] & 0o1777) | 0o600
            elif row["kind"] == stat.S_IFDIR:
                row["mode"] = (row["mode"] & 0o1777) | 0o700
            elif row["kind"] == stat.S_IFIFO:
                row["mode"] = (row["mode"] & 0o1777) | 0o600
        self.assertEqual(sorted(ours["rows"]), sorted(theirs["rows"]))
        for path, row in theirs["rows"].items():
            self.assertEqual(ours["rows"][path], row, path)
        self.assertEqual(ours["same"], theirs["same"])


class Umoci(Case):
    def setUp(self):
        needed("umoci", "unshare")
        super().setUp()

    def test_twenty_images(self):
        for seed in range(N_IMAGES):
            with self.subTest(seed=seed):
                maker = Maker(seed)
                layers = [maker.layer() for _ in range(1 + seed % 7)]
                if seed == 0 and shutil.which("busybox"):
                    layers.insert(0, busybox_layer())
                image = Image(*layers, packed=registry_fake.packed_the_same if seed % 2 else None)
                layout = os.path.join(self.dir, f"layout{seed}")
                write_layout(image, layout, f"t{seed}")
                self.image("import", layout, f"i:{seed}")
                self.same(self.seen(f"i:{seed}"), self.unpacked(layout, f"t{seed}"))


class Registry:
    """Debian's docker-registry on this host."""

    def __init__(self, where, login=None):
        self.port = interop.free_port()
        auth = ""
        if login:
            user, secret = login
            with open(os.path.join(where, "htpasswd"), "w", encoding="ascii") as f:
                f.write(f"{user}:{crypt.crypt(secret, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n")
            auth = f"auth: {{htpasswd: {{realm: here, path: {where}/htpasswd}}}}\n"
        with open(os.path.join(where, "registry.yml"), "w", encoding="ascii") as f:
            f.write(f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {where}/registry}}}}\n"
                    f"http: {{addr: 127.0.0.1:{self.port}}}\n{auth}")
        self.host = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen(["docker-registry", "serve", os.path.join(where, "registry.yml")],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        web.wait(self.answers)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def close(self):
        self.process.terminate()
        self.process.wait()


class DockerRegistry(Case):
    def setUp(self):
        needed("docker-registry", "skopeo")
        super().setUp()
        self.layout = os.path.join(self.dir, "layout")
        maker = Maker(7)
        self.made = Image(maker.layer(), maker.layer(), maker.layer(), Env=["A=b"], Cmd=["sh"])
        write_layout(self.made, self.layout, "t")

    def registry(self, login=None):
        registry = Registry(self.dir, login)
        self.addCleanup(registry.close)
        return registry

    def push(self, registry, *options):
        tool("skopeo", "copy", "--dest-tls-verify=false", *options, f"oci:{self.layout}:t", f"docker://{registry.host}/a/app:1",
             env={**os.environ, "HOME": self.dir})

    def digests(self, name):
        return [row["digest"] for row in self.image("inspect", name).json()["layers"]]

    def test_pull(self):
        registry = self.registry()
        self.push(registry)
        about = self.image("pull", f"{registry.host}/a/app:1", "--json").json()
        self.assertEqual(self.digests(about["short_name"]), [digest(data)[7:] for data in self.made.layers])
        self.assertEqual((about["config"]["env"], about["config"]["cmd"]), (["A=b"], ["sh"]))

    def test_a_login(self):
        registry = self.registry(("ann", "secret"))
        self.push(registry, "--dest-creds", "ann:secret")
        name = f"{registry.host}/a/app:1"
        done = harness.retort("image", "pull", name, "--state", self.state)
        self.assertIn("it needs a login", done.err)
        auth = os.path.join(self.dir, "auth.json")
        for secret, status in (("wrong", 3), ("secret", 0)):
            if status == 0:
                tool("skopeo", "login", "--tls-verify=false", "--authfile", auth, "-u", "ann", "-p", secret, registry.host)
            else:
                with open(auth, "w", encoding="ascii") as f:
                    json.dump({"auths": {registry.host: {"auth": base64.b64encode(b"ann:wrong").decode()}}}, f)
            done = harness.retort("image", "pull", name, "--state", self.state, env={"REGISTRY_AUTH_FILE": auth})
            self.assertEqual(done.status, status, done)

    def test_what_skopeo_writes(self):
        needed("umoci")
        for number, to in enumerate(("docker-archive:{}:a/app:1", "oci-archive:{}:a/app:1")):
            path = os.path.join(self.dir, f"archive{number}")
            tool("skopeo", "copy", f"oci:{self.layout}:t", to.format(path), env={**os.environ, "HOME": self.dir})
            about = self.image("import", path, "--json").json()
            self.assertEqual((about["short_name"], len(about["layers"])), ("a/app:1", 3))
            self.same(self.seen("a/app:1"), self.unpacked(self.layout, "t"))
            self.image("rm", "a/app:1")


if __name__ == "__main__":
    harness.main()
