# SPDX-License-Identifier: Apache-2.0
"""T-SYSTEM-…: boxes with an image: a hostile image, and hostile programs that are root in a system that they can write to."""

import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
sys.path.insert(0, HERE)
import attack  # noqa: E402
import harness  # noqa: E402
import image_system  # noqa: E402
import rpc  # noqa: E402
import test_kernel  # noqa: E402
from registry_fake import layer  # noqa: E402

PLACE = None
IMAGE = ABOUT = None


def host_files():
    """Programs that attempts copy: those of busybox know their names."""
    with open(os.path.realpath("/bin/cat"), "rb") as f:
        return {"bin/cat": f.read()}


def setUpModule():
    global PLACE, IMAGE, ABOUT
    PLACE = image_system.Place()
    IMAGE, ABOUT = PLACE.pull("python", python=True, files=host_files() | {
        "etc/motd": b"welcome", "opt/app/data": b"data", "srv/dir/file": b"file"})


def tearDownModule():
    PLACE.close()


class InImage:
    """Attempts of another class, made in a box with an image."""

    image = None  # a function that gives its name
    expected = {}  # what comes out there instead

    @classmethod
    def setUpClass(cls):
        cls.options = ("--image", cls.image() if cls.image else IMAGE, "--pull", "never")
        cls.env = PLACE.env
        super().setUpClass()

    def check_attempt(self, name, expected, control):
        super().check_attempt(name, self.expected.get(name, expected), control)


class RootNamespaces(InImage, test_kernel.Namespaces):
    pass


class RootCalls(InImage, test_kernel.Calls):
    pass


class RootIdentity(InImage, test_kernel.Identity):
    # Whoever is root can become root; and there is no other id and no group.
    expected = {
        "test_T_CAPABILITY_becomes_root": ("done",),
        "test_T_CAPABILITY_becomes_root_of_the_group": ("done",),
        "test_T_CAPABILITY_joins_a_group": ("done",),
        "test_T_SETUID_gives_a_file_to_root": ("done",),
        "test_T_SETUID_a_setuid_program_keeps_the_id": (["0", "0", "0", "0"],),
        "test_T_SETUID_su_gains_nothing": (True, "/bin/su", "/bin/mount"),
    }


class OtherIdentity(InImage, test_kernel.Identity):
    """The user of the image has the number 33."""

    expected = {"test_T_SETUID_a_setuid_program_keeps_the_id": (["33", "33", "33", "33"],),
                "test_T_SETUID_su_gains_nothing": (True, "/bin/su", "/bin/mount")}

    @staticmethod
    def image():
        return PLACE.pull("other", python=True, files=host_files(), User="33:33")[0]


class Root(InImage, attack.Case):
    @attack.inside([])
    def test_T_SYSTEM_ROOT_sets_nothing_of_the_kernel():
        """Write to every setting below /proc/sys, as the root to whom the kernel gives some of them."""
        written = []
        for folder, _, names in os.walk("/proc/sys"):
            for name in names:
                try:
                    os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                    written.append(os.path.join(folder, name))
                except OSError:
                    pass
        return written

    @attack.inside("EPERM")
    def test_T_SYSTEM_ROOT_makes_a_device():
        """Make the disk's device file in the system, which can be written."""
        os.mknod("/opt/disk", 0o60666, os.makedev(8, 0))

    @attack.inside([["0", "0", "0", "0"], [0, 0, 0]])
    def test_T_SYSTEM_ROOT_has_one_id_only():
        """Become somebody else, for whom the kernel may have other files: nothing is done."""
        os.setresuid(1000, 1000, 1000)
        os.setresgid(5, 5, 5)
        with open("/proc/self/status") as f:
            return [next(line.split()[1:] for line in f if line.startswith("Uid:")), list(os.getresuid())]

    @attack.inside("EPERM")
    def test_T_SYSTEM_OVERLAY_makes_a_mark():
        """Make the device file by which an overlay knows that a file is deleted."""
        os.mknod("/opt/mark", 0o20666, os.makedev(0, 0))

    @attack.inside(["motd"])
    def test_T_SYSTEM_OVERLAY_sets_its_attributes():
        """Hide what the image has in a directory, or lead it to another, by the attributes of an overlay."""
        for name, value in (("opaque", b"y"), ("redirect", b"/etc"), ("metacopy", b""), ("origin", b"x"), ("whiteouts", b"y")):
            for place in ("/etc", "/srv", "/srv/dir"):
                try:
                    os.setxattr(place, "user.overlay." + name, value)
                except OSError:
                    pass
        if os.listdir("/srv") != ["dir"] or os.listdir("/srv/dir") != ["file"]:
            return os.listdir("/srv") + os.listdir("/srv/dir")
        return [n for n in os.listdir("/etc") if n == "motd"]

    @attack.inside("EROFS")
    def test_T_SYSTEM_OVERLAY_writes_behind_it():
        """Write into the directory that the overlay keeps the changes in."""
        write("/opt/app/data", b"changed")
        write("/retort/system/opt/app/data", b"behind")

    @attack.inside("EROFS")
    def test_T_SYSTEM_ROOT_changes_the_parts_of_the_box():
        """Put a file into /dev, where programs look for devices."""
        write("/dev/null2", b"")

    @attack.inside("ENOSPC")
    def test_T_SYSTEM_FLOOD_writes_without_an_end():
        """Fill the host's memory or disk by a file of the system."""
        try:
            for i in range(64):
                with open("/big%d" % i, "wb", buffering=0) as f:
                    for _ in range(64):
                        if f.write(bytes(1 << 20)) < 1 << 20:
                            f.write(b"more")
        finally:
            for name in os.listdir("/"):
                if name.startswith("big"):
                    os.remove("/" + name)

    @attack.inside("ENOSPC")
    def test_T_SYSTEM_FLOOD_makes_files_without_an_end():
        """Fill the kernel's memory by files without content."""
        os.mkdir("/many")
        try:
            for i in range(1 << 20):
                os.close(os.open("/many/%d" % i, os.O_CREAT | os.O_WRONLY))
        finally:
            for name in os.listdir("/many"):
                os.remove("/many/" + name)

    @attack.inside(["EBUSY"], ["EBUSY", "EXDEV"])
    def test_T_SYSTEM_MOVE_moves_what_init_knows():
        """Move the directories that init and the engine work in, so that they work in others."""
        results = set()
        for path in ("/home", "/home/user", "/tmp", "/proc", "/dev", "/retort", "/sys"):
            for f in (lambda: os.rename(path, "/elsewhere"), lambda: os.rmdir(path)):
                try:
                    f()
                    results.add(path)
                except OSError as e:
                    results.add(errno.errorcode[e.errno])
        return sorted(results)


class Places(harness.Case):
    """An image that has other things where a box has its own."""

    def setUp(self):
        super().setUp()
        self.canary = tempfile.mkdtemp(dir=harness.TMP)
        os.chmod(self.canary, 0o777)
        with open(self.canary + "/file", "w", encoding="ascii") as f:
            f.write("canary")
        self.before = attack.snapshot(self.canary)

    def check(self, name, *layers, python=False, **more):
        whole, about = PLACE.pull(name, *layers, python=python)
        trees = [attack.snapshot(PLACE.tree(about, i)) for i in range(len(about["layers"]))]
        code = "for p in /dev/null /proc/self/exe /home/user /tmp /etc/hosts /retort/files; do [ -e $p ] || echo lacks $p; done; " \
               "echo x > /home/user/x; echo x > /tmp/x; cat /etc/hosts; echo evil > /etc/new"
        done = PLACE.run("--image", whole, "--pull", "never", "--", "/bin/busybox", "sh", "-c", code, **more)
        self.assertEqual(done.status, 0, done)
        self.assertNotIn("lacks", done.out)
        self.assertIn("127.0.0.1 localhost retort", done.out)
        self.assertEqual(attack.snapshot(self.canary), self.before)
        self.assertEqual([attack.snapshot(PLACE.tree(about, i)) for i in range(len(about["layers"]))], trees)
        return whole

    def test_T_SYSTEM_PLACE_links_to_the_host(self):
        """A link to a directory of the host in each place."""
        names = ("dev", "proc", "sys", "retort", "home", "tmp", "etc", "mnt", ".store", ".root", ".layers")
        self.check("links", layer({}, links={n: self.canary for n in names}))

    def test_T_SYSTEM_PLACE_links_up(self):
        """A link that leads up in each place, and one to itself."""
        links = {n: "../../../../../.." + self.canary for n in ("dev", "home", "tmp", "etc", "mnt")}
        self.check("up", layer({}, links=links | {n: n for n in ("proc", "sys", "retort")}))

    def test_T_SYSTEM_PLACE_links_below(self):
        """A link one level below, where a directory of the box or a file that it writes belongs."""
        links = {"home/user": self.canary, "mnt/data": self.canary, "etc/hosts": self.canary + "/file",
                 "etc/resolv.conf": self.canary + "/file", "etc/hostname": self.canary + "/file", "etc/passwd": self.canary + "/new",
                 "etc/apt": self.canary, "retort/system": self.canary, "proc/sys": self.canary, "dev/null": self.canary + "/file",
                 "dev/shm": self.canary}
        self.check("below", layer({}, links=links))

    def test_T_SYSTEM_PLACE_files(self):
        """A file in each place."""
        names = ("dev", "proc", "sys", "retort", "home", "tmp", "mnt", ".store", ".root", ".layers")
        self.check("files", layer({n: b"evil" for n in names} | {"etc/apt/apt.conf.d": b"file", "etc/dpkg": b"file"}))

    def test_T_SYSTEM_PLACE_a_volume_follows_no_link(self):
        """A link of the image on the way to a volume."""
        whole = PLACE.add("volume", links={"data": self.canary})
        self.assertEqual(harness.retort("image", "pull", whole, env=PLACE.env).status, 0)
        done = PLACE.run("--image", whole, "-v", f"{self.canary}/file:/data/inner", "--", "/bin/busybox", "true")
        self.assertNotEqual(done.status, 0)
        self.assertIn("volume destination /data/inner", done.err)
        self.assertEqual(attack.snapshot(self.canary), self.before)

    def test_T_SYSTEM_NAMES_lead_nowhere(self):
        """The users of the image are in a link to a file of the host, a FIFO, a file without an end, or behind a link."""
        with open(self.canary + "/passwd", "w", encoding="ascii") as f:
            f.write("app:x:7:7::/:/bin/sh\n")
        layers = {"link": layer({}, links={"etc/passwd": self.canary + "/passwd"}),
                  "up": layer({}, links={"etc/passwd": "../" * 12 + self.canary[1:] + "/passwd"}),
                  "etc": layer({}, links={"etc": self.canary}),
                  "long": layer({"etc/passwd": b"x:x:1:1::/:\n" * 200000 + b"app:x:7:7::/:\n"})}
        for name, evil in layers.items():
            with self.subTest(name):
                whole, _ = PLACE.pull("names-" + name, evil, User="app")
                done = PLACE.run("--image", whole, "--", "/bin/busybox", "id", timeout=20)
                self.assertEqual(done.status, 2, done)
                self.assertIn("app", done.err)
                self.assertEqual(done.out, "")


class Shared(harness.Case):
    def test_T_SYSTEM_LAYER_is_not_changed(self):
        """Delete and overwrite the whole system; the next box has it all."""
        trees = [PLACE.tree(ABOUT, i) for i in range(len(ABOUT["layers"]))]
        before = [attack.snapshot(t) for t in trees]
        code = "import os, shutil\nfor d in ('/opt', '/srv', '/etc', '/usr/lib', '/lib', '/bin'):\n" \
               "    for f, _, names in os.walk(d):\n        for n in names:\n" \
               "            p = os.path.join(f, n)\n            try:\n" \
               "                os.chmod(p, 0o777, follow_symlinks=False) if 0 else open(p, 'a').write('evil')\n" \
               "            except OSError: pass\n    shutil.rmtree(d, ignore_errors=True)\nprint(os.path.exists('/opt/app'))"
        done = PLACE.run("--image", IMAGE, "--disk", "1g", "-c", code)
        self.assertEqual((done.status, done.out), (0, "False\n"), done)
        self.assertEqual([attack.snapshot(t) for t in trees], before)
        done = PLACE.run("--image", IMAGE, "-c", "print(open('/opt/app/data').read())")
        self.assertEqual((done.status, done.out), (0, "data\n"), done)

    def test_T_SYSTEM_LAYER_is_not_shared_while_both_run(self):
        """Two sessions of one image, one of them made from the prepared box of the other."""
        with rpc.Engine(state=PLACE.state) as engine:
            client = engine.client()
            one, two = (client("session.create", image=IMAGE)["session"] for _ in range(2))
            client.run(one, "open('/opt/app/data', 'w').write('secret'); open('/opt/mine', 'w')")
            said = client.run(two, "import os; print(open('/opt/app/data').read(), os.listdir('/opt'), os.listdir('/retort/system/opt') "
                                   "if os.path.exists('/retort/system/opt') else None)")
            self.assertEqual(said["stdout"], "data ['app'] None\n", said)


class SetId(harness.Case):
    CODE = "import os\nfor p in ('f', '/opt/f'):\n    open(p, 'w').close()\n    try:\n        os.chmod(p, 0o6755)\n" \
           "    except OSError as e: print(e.errno)\n    print(oct(os.stat(p).st_mode & 0o7777))"

    def test_T_SYSTEM_SETID_not_in_a_workspace_of_the_host(self):
        """A program that is root leaves a set-id file in the directory of -w, or in a volume."""
        for option in ("-w", "-v"):
            where = tempfile.mkdtemp(dir=harness.TMP)
            given = where if option == "-w" else where + ":/data:rw"
            code = self.CODE.replace("'f'", "'/data/f'") if option == "-v" else self.CODE
            done = PLACE.run("--image", IMAGE, option, given, "-c", code)
            self.assertEqual((done.status, done.out.split()), (0, ["1", "0o644", "1", "0o644"]), done)
            self.assertEqual(os.stat(where + "/f").st_mode & 0o7777, 0o644)

    def test_T_SYSTEM_SETID_not_in_what_is_copied_out(self):
        """Set-id files are let through in a box of its own, so they come with -o, file.read and an archive."""
        out = tempfile.mkdtemp(dir=harness.TMP)
        done = PLACE.run("--image", IMAGE, "-o", out, "-c", self.CODE)
        self.assertEqual((done.status, done.out.split()), (0, ["0o6755", "0o6755"]), done)
        self.assertEqual(os.stat(out + "/f").st_mode & 0o6000, 0)

    def test_T_SYSTEM_SETID_not_in_a_branch(self):
        """A branch has files of its parent, and is below the same filter."""
        where = tempfile.mkdtemp(dir=harness.TMP)
        with rpc.Engine(state=PLACE.state) as engine:
            client = engine.client()
            session = client("session.create", image=IMAGE, volumes=[{"src": where, "dst": "/data", "mode": "rw"}])["session"]
            branch = client("session.branch", session=session)["session"]
            for s in (session, branch):
                said = client.run(s, self.CODE.replace("'f'", "'/data/f'"))
                self.assertEqual(said["stdout"].split(), ["1", "0o644", "1", "0o644"], said)


class Branches(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine(state=PLACE.state).__enter__()
        cls.addClassCleanup(cls.engine.__exit__, None, None, None)
        cls.client = cls.engine.client()

    def pair(self, code):
        session = self.client("session.create", image=IMAGE)["session"]
        said = self.client.run(session, code)
        self.assertEqual(said["status"], "ok", said)
        return session, self.client("session.branch", session=session)["session"]

    def test_T_SYSTEM_BRANCH_by_open_files(self):
        """Descriptors of the parent's root, of a directory and of a file, and a path through /proc."""
        session, branch = self.pair(
            "import os\nf = open('/opt/app/data', 'r+'); root = os.open('/', os.O_RDONLY); opt = os.open('/opt', os.O_PATH)\n"
            "new = open('/opt/new', 'w+'); new.write('1234'); new.flush(); os.chdir('/opt/app')")
        said = self.client.run(
            branch, "def t(f):\n    try: f()\n    except Exception as e: print(repr(e))\n"
            "t(lambda: (f.seek(0), f.write('EVIL'), f.flush()))\nt(lambda: (new.seek(0), new.write('EVIL'), new.flush()))\n"
            "t(lambda: os.open('opt/by_root', os.O_CREAT, dir_fd=root))\nt(lambda: os.open('by_opt', os.O_CREAT, dir_fd=opt))\n"
            "t(lambda: open(f'/proc/self/fd/{opt}/by_path', 'w'))\nt(lambda: open('by_cwd', 'w'))\n"
            "t(lambda: open('/proc/1/root/opt/by_init', 'w'))\nt(lambda: open('/proc/self/cwd/by_proc', 'w'))")
        self.assertEqual(said["status"], "ok", said)
        said = self.client.run(session, "print(open('/opt/app/data').read(), open('/opt/new').read(), sorted(os.listdir('/opt')), "
                                        "os.listdir('/opt/app'))")
        self.assertEqual(said["stdout"], "data 1234 ['app', 'new'] ['data']\n", said)

    def test_T_SYSTEM_BRANCH_by_a_mapping(self):
        """Memory that the parent shares with a file of the system."""
        session, branch = self.pair("import mmap, os\nopen('/opt/m', 'wb').write(b'1234' * 2000); f = open('/opt/m', 'r+b')\n"
                                    "m = mmap.mmap(f.fileno(), 0)")
        said = self.client.run(branch, "m[:4] = b'EVIL'; print(open('/opt/m').read(8))")
        self.assertEqual(said["stdout"], "EVIL1234\n", said)
        said = self.client.run(session, "print(bytes(m[:4]), open('/opt/m').read(8))")
        self.assertEqual(said["stdout"], "b'1234' 12341234\n", said)

    def test_T_SYSTEM_BRANCH_by_what_the_parent_left_for_it(self):
        """Links and files in the place of the box's parts, in the system that is copied: /home is a mount, but not what is below."""
        session, branch = self.pair(
            "import os, shutil\nfor p in ('/etc/hosts', '/mnt/data'):\n    os.remove(p); os.symlink('/home/user/x', p)\n"
            "shutil.rmtree('/mnt'); os.symlink('/proc', '/mnt'); shutil.rmtree('/etc'); os.symlink('/proc', '/etc')\n"
            "os.symlink('/', '/.store'); os.symlink('/', '/.root'); os.symlink('/', '/.layers')")
        said = self.client.run(branch, "print(os.listdir('/dev/pts'), os.getpid() > 1, sorted(os.listdir('/retort')), os.path.islink('/etc'), "
                                       "os.getcwd(), os.listdir('/opt'))")
        self.assertEqual(said["stdout"],
                         "['ptmx'] True ['files', 'node', 'python.importlib._bootstrap', 'shell', 'sql', 'system'] False /home/user ['app']\n",
                         said)

    def test_T_SYSTEM_BRANCH_sets_nothing_of_the_kernel(self):
        """The settings below /proc/sys of the branch's own namespaces."""
        _, branch = self.pair("import os")
        said = self.client.run(branch, "print([n for f, _, ns in os.walk('/proc/sys') for n in ns if os.access(os.path.join(f, n), os.W_OK)], "
                                       "os.getuid(), open('/proc/self/status').read().count('Cap'), "
                                       "[l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapBnd'))])")
        zero = "0000000000000000"
        self.assertEqual(said["stdout"],
                         f"[] 0 5 ['CapPrm:\\t{zero}\\n', 'CapEff:\\t{zero}\\n', 'CapBnd:\\t{zero}\\n']\n", said)

    def test_T_SYSTEM_BRANCH_has_the_limits_of_others(self):
        """The limits that are settings of the kernel: buffers of TCP, instances and watches of inotify."""
        code = "print([open('/proc/sys/' + p).read() for p in ('net/ipv4/tcp_rmem', 'net/ipv4/tcp_wmem', 'user/max_inotify_instances', " \
               "'user/max_inotify_watches')])"
        plain, session = (self.client("session.create", **more)["session"] for more in ({}, {"image": IMAGE}))
        branch = self.client("session.branch", session=session)["session"]
        said = [self.client.run(s, code)["stdout"] for s in (plain, session, branch)]
        self.assertEqual(said, [said[0]] * 3)

    def test_T_SYSTEM_MOVE_from_another_box(self):
        """A branch gets the root of its parent by a socket, and takes away what is mounted there: the kernel lets it, since these are no
        mounts of its own. Then a step of the parent fails. What is said of it must not be less than what it did."""
        where = tempfile.mkdtemp(dir=harness.TMP)
        os.chmod(where, 0o777)
        session = self.client("session.create", image=IMAGE, limits={"timeout_ms": 2000},
                              volumes=[{"src": where, "dst": "/vol", "mode": "rw"}])["session"]
        self.client.run(session, "open('kept', 'w').write('before')")
        give = "import os, socket\ns = socket.socket(socket.AF_UNIX); s.bind('/vol/s'); s.listen()\n" \
               "c = s.accept()[0]; socket.send_fds(c, [b'x'], [os.open('/', os.O_RDONLY)]); c.recv(1)"
        self.client("process.start", session=session, argv=["python3", "-S", "-c", give])
        branch = self.client("session.branch", session=session, keep_processes=True)["session"]
        said = self.client.run(
            branch, "import os, socket, time\nwhile not os.path.exists('/vol/s'): time.sleep(0.01)\n"
            "s = socket.socket(socket.AF_UNIX); s.connect('/vol/s'); root = socket.recv_fds(s, 1, 1)[1][0]\nr = []\n"
            "for p in ('home/user', 'retort'):\n    try: os.rmdir(p, dir_fd=root); r.append(p)\n    except OSError as e: r.append(e.errno)\nprint(r)")
        self.assertEqual(said["stdout"], "['home/user', 'retort']\n", said)
        said = self.client.run(session, "import os\nos.makedirs('/home/user', exist_ok=True); os.makedirs('/retort/system', exist_ok=True)\n"
                                        "open('/etc/evil', 'w'); open('kept', 'w').write('evil')\nwhile True: pass")
        self.assertEqual(said["state"]["outcome"], "rolled_back", said)
        self.assertLessEqual({".", "/"}, set(said["files_lost"]), said)

    def test_T_SYSTEM_MOVE_a_rollback_finds_the_workspace(self):
        """A step moves what can be moved, changes the workspace, and is rolled back."""
        session = self.client("session.create", image=IMAGE, limits={"timeout_ms": 1500})["session"]
        self.client.run(session, "open('kept', 'w').write('before'); import os")
        said = self.client.run(session, "for p in ('/home', '/home/user'):\n    try: os.rename(p, '/h')\n    except OSError: pass\n"
                                        "open('kept', 'w').write('evil'); open('/home/new', 'w')\nwhile True: pass")
        self.assertEqual(said["state"]["outcome"], "rolled_back", said)
        self.assertIn("/home/new", said["files_lost"])
        said = self.client.run(session, "print(open('kept').read(), os.getcwd())")
        self.assertEqual(said["stdout"], "before /home/user\n", said)


if __name__ == "__main__":
    unittest.main()
