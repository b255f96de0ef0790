# SPDX-License-Identifier: Apache-2.0
"""T-LAYER-…: what a package leaves in the layer of a template. Its code runs when it is installed, and can write to the layer."""

import hashlib
import json
import os
import secrets
import stat
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402
import harness  # noqa: E402
import registry  # noqa: E402

# Runs in the box of the build; the layer is /build/layer.
BEGIN = r"""
import os, subprocess, time
os.chdir("/build/layer")
def attempt(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except OSError:
        return None
def put(path, text="evil", mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
"""

# Directories in which a box has nothing of a layer.
OWN = ("proc", "dev", "dev/shm", "sys", "tmp", "run", "retort", "retort/python.importlib._bootstrap", "home/user", "var/tmp",
       ".layer", ".store", ".rootfs", "data", "data/sub", "skills", "usr/share/doc")
FILES = ("etc/passwd", "etc/group", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/nsswitch.conf", "dev/null",
         "usr/share/doc/evil")

PLACES = BEGIN + f"""
for place in {OWN!r}:
    put(place + "/evil")
for place in {FILES!r}:
    put(place)
put("etc/evil.conf")
put("opt/evil")
"""

LINKS = BEGIN + r"""
for name in "usr etc bin sbin lib lib64 proc dev sys home tmp var opt data skills retort srv".split():
    subprocess.run(["rm", "-rf", name], check=True)
    os.symlink({"opt": "home/user", "data": "/home/user", "srv": "/proc/1/root"}.get(name, "/tmp"), name)
"""

OVERLAY = BEGIN + r"""
for path in ("usr/bin/setid", "opt/setid"):
    put(path, "#!/bin/sh\n", 0o755)
    attempt(os.chmod, path, 0o6755)
put("usr/bin/x"), put("usr/lib/x"), put("usr/local/bin/x")
attempt(os.mkfifo, "opt/fifo"), attempt(os.mkfifo, "usr/bin/env")
for name in ("usr/bin/sh", "usr/bin/cat"):
    attempt(os.mknod, name, 0o20666, os.makedev(0, 0))
attempt(os.mknod, "opt/disk", 0o60666, os.makedev(8, 0))
put("usr/bin/ls", "")
os.setxattr("usr/bin/ls", "user.overlay.whiteout", b"y")
n = 0
for place in (".", "usr", "usr/bin", "usr/lib", "usr/local", "usr/local/bin"):
    for name, value in (("opaque", b"y"), ("redirect", b"/"), ("origin", b"x"), ("impure", b"y"), ("metacopy", b"")):
        os.setxattr(place, "user.overlay." + name, value)
        n += 1
os.setxattr("usr", "user.overlay.opaque", b"x")
"""


def links_to(canary):
    return BEGIN + f"""
outside = {canary!r}
os.makedirs("opt/d"), os.makedirs("usr", exist_ok=True), os.makedirs("etc")
for name in ("opt/file", "usr/file", "etc/file", "file"):
    os.symlink(outside, name)
    os.symlink(os.path.dirname(outside), name + "-dir")
attempt(os.link, outside, "opt/hard")
os.symlink("/", "opt/root"), os.symlink("../../../../../../../..", "opt/d/dots"), os.symlink("loop", "opt/loop")
os.mkfifo("opt/fifo")
for name in ("opt/x\\n\\x1b[31m", "opt/-rf", "opt/..."):
    put(name)
put("opt/locked/file"), os.chmod("opt/locked/file", 0), os.chmod("opt/locked", 0)
os.chmod("opt/d", 0o555), os.chmod(".", 0o700)
time.sleep(1.5)  # meanwhile the files are counted
"""


class Case(harness.Case):
    """A template "evil" with a hostile package."""

    attack = ""
    status = 0
    options = ()

    @classmethod
    def setUpClass(cls):
        if not registry.NPM:
            raise unittest.SkipTest("no npm")
        there = registry.Registry()
        cls.addClassCleanup(there.stop)
        cls.state = harness.make_dir()
        cls.outside = harness.make_dir()
        cls.secret = secrets.token_hex(16)
        cls.canary = os.path.join(cls.outside, "canary")
        with open(cls.canary, "w", encoding="ascii") as f:
            f.write(cls.secret)
        os.chmod(cls.canary, 0o600)
        cls.env = {**there.env, "XDG_STATE_HOME": cls.state}
        code = cls.attack if isinstance(cls.attack, str) else cls.attack(cls.canary)
        package = {"name": "evil", "version": "1.0.0", "scripts": {"postinstall": "/usr/bin/python3 evil.py >&2 || kill -9 $PPID"}}
        there.tarball("evil", "1.0.0", {"package.json": json.dumps(package), "evil.py": code}, hasInstallScript=True)
        cls.done = harness.retort("template", "build", "evil", "--npm", "evil", *cls.options, env=cls.env)
        cls.layers = os.path.join(cls.state, "retort", "layers")
        cls.addClassCleanup(cls.check_outside)

    @classmethod
    def check_outside(cls):
        assert attack.snapshot(cls.outside) == {"canary": (0o100600, hashlib.sha256(cls.secret.encode()).hexdigest())}

    def setUp(self):
        super().setUp()
        self.assertEqual(self.done.status, self.status, self.done)
        self.assertNotIn(self.secret, self.done.err)

    def tree(self):
        (digest,) = os.listdir(self.layers)
        return os.path.join(self.layers, digest, "tree")

    def box(self, code, *options):
        """The value of @code in a box of the template."""
        record = harness.record("import os\n" + code, "--template", "evil", *options, env=self.env)
        self.assertEqual(record["status"], "ok", record)
        self.assertNotIn(self.secret, json.dumps(record))
        return json.loads(record["stdout"])


class Places(Case):
    attack = PLACES

    def test_T_LAYER_PLACE_over_what_the_box_is_made_of(self):
        """Files in /proc, /dev, /sys, the workspace, the driver's directory; and in place of /etc/passwd and others."""
        self.assertTrue(os.path.exists(os.path.join(self.tree(), "proc", "evil")), "the layer has none")
        volume = harness.make_dir()
        with open(os.path.join(volume, "mine"), "w", encoding="ascii") as f:
            f.write("mine")
        os.mkdir(os.path.join(volume, "sub"))
        code = f"""
import json
seen = [p for p in {OWN!r} if os.path.lexists("/" + p + "/evil")]
for p in {FILES!r}:
    try:
        seen += [p] if "evil" in open("/" + p).read() else []
    except OSError:
        pass
print(json.dumps([seen, open("/data/mine").read(), os.path.exists("/etc/evil.conf"), os.path.exists("/opt/evil")]))"""
        options = ("-v", f"{volume}:/data", "-v", f"{volume}:/usr/share/doc", "--skills", volume)
        self.assertEqual(self.box(code, *options), [[], "mine", True, True])

    def test_T_LAYER_PLACE_in_a_workspace_of_the_host(self):
        """Files for the workspace must not appear in the user's directory."""
        workspace = harness.make_dir()
        self.assertEqual(self.box("print(os.listdir('.'))", "-w", workspace), [])
        self.assertEqual(os.listdir(workspace), [])

    def test_T_LAYER_WRITE_from_a_box(self):
        """A program of one box changes what the next one runs."""
        before = attack.snapshot(self.layers)
        code = r"""
import json
done, tried = [], 0
def attempt(f, *args, **more):
    global tried
    tried += 1
    try:
        f(*args, **more)
        done.append([f.__name__, *map(str, args)])
    except OSError:
        pass
def write(path):
    open(path, "r+b").close()
for top in ("/opt", "/etc", "/node_modules", "/usr/share/doc"):
    path = top + ("/evil.conf" if top == "/etc" else "/evil/evil.py" if top == "/node_modules" else "/evil")
    fd = os.open(path, os.O_RDONLY)
    for name in (path, "/proc/self/fd/%d" % fd, "/proc/1/root" + path, "/proc/self/root" + path):
        attempt(write, name), attempt(os.truncate, name, 0), attempt(os.chmod, name, 0o777), attempt(os.utime, name, (0, 0))
        attempt(os.setxattr, name, "user.x", b"y")
    attempt(os.fchmod, fd, 0o777), attempt(os.unlink, path), attempt(os.rename, path, top + "/new"), attempt(os.link, path, top + "/new")
    attempt(os.mkdir, top + "/new"), attempt(os.mkfifo, top + "/new"), attempt(os.symlink, "x", top + "/new"), attempt(os.chmod, top, 0o777)
    attempt(os.link, path, "/home/user/hard")
print(json.dumps([done, tried]))"""
        done, tried = self.box(code)
        self.assertEqual(done, [])
        self.assertGreater(tried, 100)
        self.assertEqual(attack.snapshot(self.layers), before)

    def test_T_LAYER_WRITE_mounts(self):
        """All that the box has of the layer is read-only, without set-id bits and devices."""
        code = r"""
import json
rows = [line.split() for line in open("/proc/self/mountinfo")]
print(json.dumps([r[4:6] for r in rows if "/layers/" in r[3] or "overlay" in r[r.index("-"):]]))"""
        rows = self.box(code)
        self.assertIn("/usr", [at for at, _ in rows])
        self.assertIn("/opt", [at for at, _ in rows])
        for at, options in rows:
            self.assertLessEqual({"ro", "nosuid", "nodev"}, set(options.split(",")), at)


class Links(Case):
    attack = LINKS

    def test_T_LAYER_PLACE_links_in_place_of_directories(self):
        """/usr, /etc, /opt … of the layer are links: nothing of the box, and no volume, may follow them."""
        self.assertTrue(os.path.islink(os.path.join(self.tree(), "usr")), "the layer has none")
        volume = harness.make_dir()
        with open(os.path.join(volume, "mine"), "w", encoding="ascii") as f:
            f.write("mine")
        code = r"""
import json
print(json.dumps([[p for p in ("/usr", "/etc", "/proc", "/dev", "/sys", "/home", "/tmp", "/var", "/opt", "/data", "/skills", "/retort")
                   if os.path.islink(p)], open("/opt/x/mine").read(), open("/data/x/mine").read(), os.listdir("/home/user")]))"""
        options = ("-v", f"{volume}:/opt/x", "-v", f"{volume}:/data/x", "--skills", volume)
        self.assertEqual(self.box(code, *options), [[], "mine", "mine", []])


class Overlay(Case):
    attack = OVERLAY

    def test_T_LAYER_OVERLAY_steered(self):
        """Whiteouts, opaque directories, redirections: programs and libraries of the host must not disappear."""
        names = [n for n in ("env", "sh", "cat", "ls") if os.path.exists("/usr/bin/" + n)]
        self.assertEqual(len(names), 4)
        code = f"""
import json
print(json.dumps([[n for n in {names!r} if os.path.exists("/usr/bin/" + n)], len(os.listdir("/usr/bin")), len(os.listdir("/usr/lib")),
                  os.path.exists("/usr/bin/x"), os.path.exists("/usr/local/bin/x")]))"""
        seen, n_bin, n_lib, *is_there = self.box(code)
        self.assertEqual((seen, is_there), (names, [True, True]))
        self.assertGreaterEqual(n_bin, len(os.listdir("/usr/bin")))
        self.assertGreaterEqual(n_lib, len(os.listdir("/usr/lib")))

    def test_T_LAYER_OVERLAY_attributes_and_devices(self):
        """Nothing that an overlay, or another kernel, would obey is in a sealed layer."""
        top = self.tree()
        paths = [top, *(os.path.join(top, name) for name in attack.snapshot(top))]
        for path in paths:
            st = os.lstat(path)
            self.assertTrue(stat.S_ISDIR(st.st_mode) or stat.S_ISREG(st.st_mode) or stat.S_ISLNK(st.st_mode), path)
            self.assertEqual([n for n in os.listxattr(path, follow_symlinks=False) if n.startswith(("user.", "trusted."))], [], path)
            if not stat.S_ISLNK(st.st_mode):
                self.assertIn(stat.S_IMODE(st.st_mode), (0o755, 0o644), path)
        self.assertIn(os.path.join(top, "opt", "setid"), paths)


class Host(Case):
    attack = staticmethod(links_to)

    def test_T_LAYER_HOST_links(self):
        """Links to a file of the host: sealing, showing and removing a layer neither reads nor changes it."""
        self.assertEqual(os.readlink(os.path.join(self.tree(), "opt", "file")), self.canary)
        code = f"""
import json
seen = []
for path in ("/opt/file", "/usr/file", "/etc/file", "/file", "/opt/hard", "/opt/root" + {self.canary!r}, "/opt/d/dots" + {self.canary!r}):
    try:
        seen.append(open(path).read())
    except OSError:
        pass
print(json.dumps([seen, open("/opt/locked/file").read(), open("/opt/...").read()]))"""
        self.assertEqual(self.box(code), [[], "evil", "evil"])
        again = harness.retort("template", "build", "evil", "--npm", "evil", "--upgrade", env=self.env)
        self.assertEqual(again.status, 0, again)
        self.check_outside()
        gone = harness.retort("template", "rm", "evil", env=self.env)
        self.assertEqual((gone.status, os.listdir(self.layers)), (0, []), gone)
        self.check_outside()


class Many(Case):
    attack = BEGIN + """
for i in range(5000):
    put(f"etc/{i}.conf"), os.symlink("x", f"opt-{i}")
"""

    def test_T_LAYER_FLOOD_places(self):
        """A mount, or a link, in the box's root for each of thousands of files."""
        done = harness.run("1", "--template", "evil", env=self.env)
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn("the template has files in more than 128 places", done.err)


class Refused(Case):
    """A layer that is refused leaves nothing, whatever the modes of its directories are."""

    status = 2
    words = ()

    def check_refused(self):
        for word in self.words:
            self.assertIn(word, self.done.err)
        self.assertEqual(os.listdir(self.layers), [])
        self.assertEqual(harness.retort("template", "ls", "-q", env=self.env).out, "")


class Deep(Refused):
    attack = BEGIN + """
for _ in range(3000):
    os.mkdir("d"), os.chdir("d")
for _ in range(50):
    os.mkdir("d"), os.chdir("d"), os.chmod(".", 0o300)
"""
    words = ("directories deep",)

    def test_T_LAYER_FLOOD_depth(self):
        """Directories deeper than there are descriptors."""
        self.check_refused()


class Large(Refused):
    attack = BEGIN + """
put("opt/d/e/hole", "x")
for i in range(100):
    os.truncate("opt/d/e/hole", 1 << 20), os.link("opt/d/e/hole", f"opt/d/e/{i}")
os.chmod("opt/d", 0o500), os.chmod("opt/d/e", 0)
"""
    options = ("--disk", "20m")
    words = ("larger than 20 MiB", "--disk")

    def test_T_LAYER_FLOOD_size(self):
        """Holes and links that are files of any size when they are copied."""
        self.check_refused()


del Case, Refused


if __name__ == "__main__":
    harness.main()
