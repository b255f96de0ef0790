# SPDX-License-Identifier: Apache-2.0
"""`retort run --image` and `--rootfs`: programs in a box that has the system of an image."""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import image_system  # noqa: E402
import upstream  # noqa: E402
from registry_fake import archive, entry, layer  # noqa: E402

PASSWD = b"root:x:0:0::/root:/bin/sh\napp:x:1001:1002::/srv:/bin/sh"
GROUP = b"root:x:0:\nstaff:x:50:app"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

place = None


def setUpModule():
    global place
    place = image_system.Place()


def tearDownModule():
    place.close()


def look(tree):
    """What is in a directory: {path: (kind and mode, owner, bytes, time)}."""
    found = {}
    for top, dirs, files in os.walk(tree):
        for path in (os.path.join(top, name) for name in dirs + files):
            st = os.lstat(path)
            found[path] = st.st_mode, st.st_uid, st.st_nlink, st.st_size, st.st_mtime_ns
    return found


class Case(harness.Case):
    def says(self, *args, status=0, **more):
        """What a run prints; nothing is said besides."""
        done = place.run(*args, **more)
        self.assertEqual((done.status, done.err), (status, ""), done)
        return done.out

    def shell(self, image, script, *options):
        return self.says("--image", image, *options, "--", "sh", "-c", script)

    def rootfs(self, where, script, *options):
        return self.says("--rootfs", where, *options, "--", "sh", "-c", script)

    def refuses(self, text, *args, status=2):
        done = place.run(*args)
        self.assertEqual((done.status, done.out, done.err.count("\n")), (status, "", 1), done)
        self.assertIn(text, done.err)
        return done


class Programs(Case):
    """What runs, where, as whom and with which variables."""

    @classmethod
    def setUpClass(cls):
        cls.plain, _ = place.pull("plain")
        cls.full, _ = place.pull(
            "full", files={"etc/passwd": PASSWD, "etc/group": GROUP, "opt/bin/hello": b"#!/bin/sh\necho hello $*\n"},
            User="app:staff", Env=["A=image", "PATH=/opt/bin:/bin", "EMPTY=", "=x", "none"], WorkingDir="/opt",
            Entrypoint=["hello", "dear"], Cmd=["world", "and all"])

    def test_the_entrypoint_with_cmd_or_with_arguments(self):
        self.assertEqual(self.says("--image", self.full), "hello dear world and all\n")
        self.assertEqual(self.says("--image", self.full, "--", "x", "--y"), "hello dear x --y\n")

    def test_cmd_alone_gives_way_to_arguments(self):
        name, _ = place.pull("cmd", Cmd=["echo", "cmd"])
        self.assertEqual(self.says("--image", name), "cmd\n")
        self.assertEqual(self.says("--image", name, "--", "echo", "other"), "other\n")

    def test_no_program(self):
        self.refuses(f"image {self.plain} names no program", "--image", self.plain)
        self.refuses("is missing", "--rootfs", place.base_dir, "--")

    def test_the_exit_status_is_that_of_the_program(self):
        self.assertEqual(self.says("--image", self.plain, "--", "sh", "-c", "echo out; exit 7", status=7), "out\n")
        done = place.run("--image", self.plain, "--", "nosuch")
        self.assertEqual((done.status, done.out, done.err.count("\n")), (127, "", 1), done)

    def environment(self, *args):
        return dict(line.split("=", 1) for line in self.says(*args).splitlines())

    def test_variables_of_the_image_are_below_those_of_the_caller(self):
        name, _ = place.pull("env", Env=["A=image", "B=image", "PATH=/opt/bin:/bin", "EMPTY=", "=x", "none"])
        env = self.environment("--image", name, "-e", "A=caller", "--", "env")
        self.assertEqual((env["A"], env["B"], env["EMPTY"], env["PATH"]), ("caller", "image", "", "/opt/bin:/bin"))
        self.assertNotIn("none", env)
        self.assertNotIn("", env)

    def test_variables_that_every_image_gets(self):
        env = self.environment("--image", self.plain, "--", "env")
        for key, value in {"HOME": "/home/user", "USER": "root", "PATH": PATH, "RETORT": "1",
                           "DEBIAN_FRONTEND": "noninteractive", "PIP_ROOT_USER_ACTION": "ignore",
                           "XDG_CACHE_HOME": "/tmp/.cache", "TMPDIR": "/tmp"}.items():
            self.assertEqual(env.get(key), value, key)
        for name in ("NPM_CONFIG_PREFIX", "CARGO_INSTALL_ROOT", "GOBIN"):
            self.assertNotIn(name, env)
        name, _ = place.pull("home", Env=["HOME=/srv", "USER=me", "LANG=C"], User="1001")
        env = self.environment("--image", name, "--", "env")
        self.assertEqual((env["HOME"], env["USER"], env["LANG"]), ("/srv", "me", "C"))
        name, _ = place.pull("other", User="1001")
        env = self.environment("--image", name, "--", "env")
        self.assertEqual((env["HOME"], env["USER"]), ("/home/user", "user"))

    def test_the_user_is_that_of_the_image(self):
        for user, ids in (("", "0 0"), ("root", "0 0"), ("0", "0 0"), ("0:0", "0 0"), ("1001", "1001 1002"),
                          ("app", "1001 1002"), ("app:staff", "1001 50"), ("app:7", "1001 7"), ("33:33", "33 33"),
                          ("33", "33 0"), ("1000", "1000 0")):
            with self.subTest(user):
                name, _ = place.pull("user", files={"etc/passwd": PASSWD, "etc/group": GROUP}, User=user)
                script = "echo $(id -u) $(id -g); touch /new /home/user/new /tmp/new && stat -c '%u %g' /new /bin"
                self.assertEqual(self.shell(name, script), f"{ids}\n{ids}\n{ids}\n")

    def test_a_user_that_is_not_there(self):
        for user, text in (("nobody", "the image has no user nobody"), ("app:wheel", "the image has no group wheel"),
                           ("4294967296", "4294967296, is no id that a box can have")):
            name, _ = place.pull("user", files={"etc/passwd": PASSWD, "etc/group": GROUP}, User=user)
            self.refuses(text, "--image", name, "--", "id")
        name, _ = place.pull("user", User="app")
        self.refuses("the image has no /etc/passwd, so no app", "--image", name, "--", "id")
        done = place.run("--image", name, "--json", "--", "id")
        self.assertEqual((done.status, done.json()["error"]["code"]), (2, "not_found"), done)

    def test_names_of_users_are_there_in_an_image_without_them(self):
        self.assertEqual(self.shell(self.plain, "id -un; id -gn; grep -c . /etc/passwd"), "root\nroot\n3\n")

    def test_the_working_directory(self):
        name, _ = place.pull("dir", WorkingDir="/opt/w", files={"opt/w/f": b""})
        self.assertEqual(self.shell(name, "pwd; ls; echo x >f; cat f"), "/opt/w\nf\nx\n")
        self.assertEqual(self.says("--image", name, "-r", "shell", "-c", "pwd"), "/home/user\n")
        for path in ("", "/", "//"):
            name, _ = place.pull("dir", WorkingDir=path)
            self.assertEqual(self.shell(name, "pwd"), "/home/user\n")

    def test_a_working_directory_that_is_not_there(self):
        name, _ = place.pull("dir", WorkingDir="/no/such")
        self.assertEqual(self.shell(name, "pwd"), "/no/such\n")
        name, _ = place.pull("dir", WorkingDir="/bin/sh")
        self.refuses("working directory /bin/sh: Not a directory", "--image", name, "--", "pwd")

    def test_code_without_its_interpreter(self):
        for options, program in (((), "python3"), (("-r", "javascript"), "node")):
            done = place.run("--image", self.plain, *options, "-c", "1")
            self.assertEqual((done.status, done.out, done.err.count("\n")), (127, "", 1), done)
            self.assertIn(f"no {program} in the image", done.err)
            done = place.run("--image", self.plain, "--json", *options, "-c", "1")
            self.assertEqual((done.status, done.json()["error"]["message"]), (127, f"no {program} in the image"), done)

    def test_code_with_the_interpreter_of_the_image(self):
        name, about = place.pull("python", python=True, WorkingDir="/opt", files={"opt/x": b""},
                                 User="1001", Env=["A=b"])
        code = ("import os; print(os.getcwd(), os.getuid(), os.environ['A']); open('/opt/y', 'w')\n"
                "sorted(os.listdir('/opt'))")
        self.assertEqual(self.says("--image", name, "-c", code), "/home/user 1001 b\n['x', 'y']\n")
        record = place.run("--image", name, "--json", "-c", "1").json()
        self.assertEqual(record["image"], {"name": about["name"], "digest": about["digest"]})
        self.assertNotIn("image", place.run("--json", "-c", "1").json())


class Words(Case):
    """Options that do not go together, and images that are not here."""

    def test_a_box_has_one_system(self):
        name, _ = place.pull("plain")
        base = place.base_dir
        for options in (("--image", name, "--rootfs", base), ("--image", name, "--template", "t"),
                        ("--rootfs", base, "--template", "t")):
            for program in (("--", "id"), ("-c", "1")):
                self.refuses("", *options, *program)
        done = place.run("--image", name, "--rootfs", base, "--", "id")
        self.assertIn("image and rootfs: a box has one system", done.err)

    def test_the_root_of_the_host_is_no_rootfs(self):
        for path in ("/", "//", "/usr/..", "/proc/self/root"):
            self.refuses("would show the whole host", "--rootfs", path, "--", "id")
        self.refuses("/no/such", "--rootfs", "/no/such", "--", "id")
        self.refuses("is not a directory", "--rootfs", "/bin/busybox", "--", "id")

    def test_pull_is_for_an_image(self):
        self.refuses("--pull is for an image", "--pull", "always", "-c", "1")
        self.refuses("\"-h\" is no name of an image", "--pull", "always", "--image", "-h", "-c", "1")
        self.refuses("--pull is for an image", "--pull", "never", "--rootfs", place.base_dir, "--", "id")

    def test_a_missing_image_is_pulled(self):
        name = place.add("missing", files={"etc/motd": b"1"})
        self.refuses(f"no image {name}:latest on this host", "--image", name, "--pull", "never", "--", "id")
        done = place.run("--image", name, "--", "cat", "/etc/motd")
        self.assertEqual((done.status, done.out), (0, "1"), done)
        self.assertIn(f"{name}:latest: ", done.err)
        place.add("missing", files={"etc/motd": b"2"})
        for policy, text in (("never", "1"), ("missing", "1"), ("always", "2"), ("never", "2")):
            asked = len(place.registry.asked)
            done = place.run("--image", name, "--pull", policy, "--", "cat", "/etc/motd")
            self.assertEqual((done.status, done.out), (0, text), done)
            self.assertEqual(len(place.registry.asked) > asked, policy == "always")

    def test_code_waits_for_the_image_too(self):
        name = place.add("for-code", python=True)
        done = place.run("--image", name, "-c", "print(6 * 7)")
        self.assertEqual((done.status, done.out), (0, "42\n"), done)
        self.assertIn(f"{name}:latest: ", done.err)

    def test_a_failed_pull_has_its_own_status(self):
        for name in (f"{place.registry.host}/nosuch", "127.0.0.1:1/nosuch", "UPPER/:x"):
            pulled = harness.retort("image", "pull", "--", name, env=place.env)
            for program in (("--", "id"), ("-c", "1")):
                done = place.run("--image", name, *program)
                self.assertEqual((done.status, done.out), (pulled.status, ""), done)
                self.assertNotEqual(done.status, 0)
                self.assertIn(name.split("/")[-1].strip(":"), done.err)


class Systems(Case):
    """The files of a box: those of the image, those of the box, and what becomes of changes."""

    @classmethod
    def setUpClass(cls):
        files = {"etc/motd": b"hello\n", "etc/hosts": b"1.2.3.4 image\n", "etc/hostname": b"image\n",
                 "etc/resolv.conf": b"nameserver 9.9.9.9\n", "opt/a/f": b"f", "opt/a/g": b"g", "opt/b": b"b"}
        cls.name, cls.about = place.pull("system", files=files)

    def test_everything_of_the_system_can_be_written(self):
        script = """set -e; echo new >>/etc/motd; cat /etc/motd; rm /opt/a/f; ls /opt/a; rm -r /opt/a
            mkdir /opt/a; ls /opt/a; rm /opt/b; mkdir /opt/b; mkdir -p /usr/x /var/y
            printf '#!/bin/sh\necho hi' >/bin/hi; chmod +x /bin/hi; hi; ln -s /x /y; rm /bin/vi; ls /opt"""
        self.assertEqual(self.shell(self.name, script), "hello\nnew\ng\nhi\na\nb\n")

    def test_boxes_do_not_see_each_other_and_layers_stay(self):
        trees = [place.tree(self.about, i) for i in range(2)]
        before = [look(tree) for tree in trees]
        for i in range(2):
            script = f"cat /etc/motd; echo {i} >/etc/motd; rm -r /opt/a; chmod 700 /opt; touch /etc/x{i} /bin/sh"
            script += "; ls /etc/x*"
            self.assertEqual(self.shell(self.name, script), f"hello\n/etc/x{i}\n")
        self.assertEqual([look(tree) for tree in trees], before)

    def test_the_directory_of_rootfs_stays(self):
        before = look(place.base_dir)
        script = "rm /bin/vi; touch /x /bin/sh; mkdir /opt; ls -d /bin/vi /x /opt 2>&1 || :"
        self.assertEqual(self.rootfs(place.base_dir, script), "ls: /bin/vi: No such file or directory\n/opt\n/x\n")
        self.assertEqual(look(place.base_dir), before)

    def test_some_files_are_the_boxs(self):
        self.assertEqual(self.shell(self.name, "cat /etc/hosts /etc/hostname /etc/resolv.conf"),
                         "127.0.0.1 localhost retort\n::1 localhost\nretort\n"
                         "nameserver 198.18.0.1\noptions timeout:1 attempts:2\n")
        self.assertEqual(self.shell(self.name, "echo 192.0.2.1 x >>/etc/hosts; tail -n1 /etc/hosts"), "192.0.2.1 x\n")

    def test_what_is_read_only(self):
        for path in ("/dev/x", "/sys/x", "/retort/x", "/retort/system/x", "/sys/devices/system/cpu/online"):
            out = self.shell(self.name, f"touch {path} 2>&1; (echo 1 >{path}) 2>&1 | grep -c Read-only")
            self.assertEqual(out.splitlines()[-1], "1", path)
        script = ("for p in dev sys retort proc tmp home/user; do rmdir /$p 2>&- && echo $p; mv /$p /q 2>&- && echo $p;"
                  " done; echo x >/dev/null; echo $$ >/dev/shm/x; ls /dev/shm")
        self.assertEqual(self.shell(self.name, script), "x\n")

    def test_proc_is_the_boxs(self):
        names = self.shell(self.name, "cat /proc/[0-9]*/comm; ls -d /proc/1")
        self.assertIn("retort-init\n", names)
        self.assertNotIn("ninja", names)
        self.assertLess(len(names.splitlines()), 10)

    def test_retort_system_shows_what_was_changed(self):
        script = ("echo x >/opt/new; rm /opt/b; cd /retort/system; cat opt/new; stat -c %F opt/b; ls opt;"
                  " rm opt/new 2>&1; :")
        out = self.shell(self.name, script)
        self.assertTrue(out.startswith("x\ncharacter special file\nb\nnew\n"), out)
        self.assertIn("Read-only", out)

    def test_whiteouts_and_opaque_directories_of_layers(self):
        upper = layer({"c/new": b"", "etc/x": b""}, removed=["a/f", "b"])
        opaque = archive([(entry("c/.wh..wh..opq"), b"")])
        replaced = archive([(entry("d"), b"file")])
        lower = layer({"a/f": b"f", "a/g": b"g", "b/x": b"", "c/old": b"", "d/x": b""})
        name, _ = place.pull("stack", lower, upper, opaque, replaced)
        self.assertEqual(self.shell(name, "ls /a; ls -d /b 2>&1; ls /c; cat /d"),
                         "g\nls: /b: No such file or directory\nfile")
        name, _ = place.pull("stack2", lower, archive([(entry("c/.wh..wh..opq"), b""), (entry("c/new"), b"")]))
        self.assertEqual(self.shell(name, "ls /c; mkdir /c/d; touch /c/d/x; ls /c /a"),
                         "new\n/a:\nf\ng\n\n/c:\nd\nnew\n")

    def test_files_and_links_where_the_box_has_its_parts(self):
        parts = ("dev", "proc", "sys", "retort", "tmp", "etc", "home", "mnt")
        files = {"opt/e/passwd": PASSWD, "opt/keep": b"k"}
        name, _ = place.pull("links", files=files, links={p: "/opt" for p in parts})
        check = ("ls /opt; cat /opt/keep; ls -d /home/user /dev/null /etc/hosts /proc/1 /retort/system;"
                 " touch /home/user/x /tmp/x; ls /opt")
        want = "e\nkeep\nk/dev/null\n/etc/hosts\n/home/user\n/proc/1\n/retort/system\ne\nkeep\n"
        out = self.shell(name, check)
        self.assertEqual(out, want)
        name, _ = place.pull("files", layer({p: b"file" for p in parts}))
        self.assertEqual(self.shell(name, "ls -d /home/user /dev/null /etc/hosts /proc/1; cat /mnt"),
                         "/dev/null\n/etc/hosts\n/home/user\n/proc/1\nfile")
        more = {"home/user": b"file", "mnt/data": b"file", "retort/system": b"file", "dev/null": b"file",
                "home/other": b"other"}
        name, _ = place.pull("below", layer(more))
        self.assertEqual(self.shell(name, "pwd; cat /mnt/data; ls -d /retort/system; cat /dev/null; cat /home/other"),
                         "/home/user\nfile/retort/system\nother")

    def test_links_lead_nowhere_outside(self):
        outside = harness.make_dir()
        with open(outside + "/passwd", "w", encoding="ascii") as f:
            f.write("precious")
        before = look(outside)
        where = harness.make_dir()
        for name in ("bin", "lib", "lib64", "usr"):
            if os.path.isdir(f"{place.base_dir}/{name}"):
                shutil.copytree(f"{place.base_dir}/{name}", f"{where}/{name}", symlinks=True)
        for name in ("dev", "proc", "sys", "retort", "tmp", "home", "mnt", "data"):
            os.symlink(outside, f"{where}/{name}")
        os.mkdir(where + "/etc")
        for name in ("passwd", "group", "hosts", "hostname", "resolv.conf", "apt", "dpkg"):
            os.symlink(outside + "/" + name, f"{where}/etc/{name}")
        self.assertEqual(self.rootfs(where, "cat /etc/hostname; ls /home; touch /tmp/x /home/user/x"), "retort\nuser\n")
        volume = harness.make_dir()
        done = place.run("--rootfs", where, "-v", f"{volume}:/data", "--", "ls", "/data/")
        self.assertIn(done.status, (0, 2), done)
        self.assertEqual(look(outside), before)

    def test_the_workspace_is_found_at_mnt_data(self):
        self.assertEqual(self.shell(self.name, "touch /home/user/x; ls /mnt/data"), "x\n")
        name, _ = place.pull("mnt", files={"mnt/data/own": b""})
        self.assertEqual(self.shell(name, "ls /mnt/data"), "own\n")


class Together(Case):
    """Other options of a box, in a box with an image."""

    @classmethod
    def setUpClass(cls):
        cls.name, _ = place.pull("plain")
        cls.python, _ = place.pull("python", python=True)
        cls.other, _ = place.pull("other", User="1001")

    def test_the_disk_limit_holds_for_the_system(self):
        for path in ("/big", "/home/user/big", "/lib64/big"):
            dd = ("dd", "if=/dev/zero", f"of={path}", "bs=64k", "count=64")
            out = place.run("--image", self.name, "--disk", "1m", "--", *dd)
            self.assertEqual(out.status, 1, out)
            self.assertIn("No space left on device", out.err)
        done = place.run("--image", self.python, "--disk", "1m", "-c", "open('/big', 'wb').write(bytes(2 << 20))")
        self.assertEqual(done.status, 1)
        self.assertIn("No space left on device", done.err)

    def test_the_limit_of_inodes_holds_for_the_system(self):
        script = "i=0; while touch /opt$i; do i=$((i+1)); done; echo $i"
        done = place.run("--image", self.name, "--inodes", "100", "--", "sh", "-c", script)
        self.assertIn("No space left on device", done.err)
        self.assertIn(int(done.out), range(90, 141), done)  # there is room for what is the box's own

    def test_the_disk_limit_is_the_whole_size(self):
        out = self.shell(self.name, "dd if=/dev/zero of=/big bs=64k count=50 2>/dev/null && echo fits", "--disk", "4m")
        self.assertEqual(out, "fits\n")

    def test_volumes(self):
        where = harness.make_dir()
        with open(where + "/f", "w", encoding="ascii") as f:
            f.write("f")
        os.chmod(where, 0o777)
        script = ("cat /data/f /opt/deep/d/f /bin/v; (echo x >/data/g) 2>&1 | grep -c Read-only;"
                  " echo made >/opt/deep/d/m")
        options = ("-v", f"{where}:/data", "-v", f"{where}:/opt/deep/d:rw", "-v", f"{where}/f:/bin/v")
        out = self.shell(self.name, script, *options)
        self.assertEqual(out, "fff1\n")
        with open(where + "/m", encoding="ascii") as f:
            self.assertEqual((f.read(), os.stat(where + "/m").st_uid), ("made\n", os.geteuid()))

    def test_a_workspace_of_the_host_and_files_out(self):
        for image in (self.name, self.other):
            where, out = harness.make_dir(), os.path.join(harness.make_dir(), "out")
            ids = self.shell(image, "echo 1 >/home/user/made; stat -c %u made; id -u", "-w", where).split()
            self.assertEqual(ids, ids[:1] * 2)
            self.assertEqual(os.stat(where + "/made").st_uid, os.geteuid())
            done = place.run("--image", image, "-o", out, "--", "sh", "-c", "echo 2 >/home/user/two; echo 3 >/three")
            self.assertEqual((done.status, os.listdir(out)), (0, ["two"]), done)

    def test_ids_change_without_effect_for_root(self):
        script = ("cp /bin/busybox /b; chown 33:33 /b && stat -c '%u %g' /b; chown -h 1:1 /bin/sh && echo link;"
                  " chgrp 5 /b && echo group; chmod 4755 /b && stat -c %a /b; id -u")
        self.assertEqual(self.shell(self.name, script), "0 0\nlink\ngroup\n4755\n0\n")
        code = ("import os\nos.setgroups([1, 2]); os.setgid(33); os.setresuid(33, 33, 33)\n"
                "os.chown('/bin/sh', 5, 6); os.getuid()")
        self.assertEqual(self.says("--image", self.python, "-c", code), "0\n")

    def test_ids_of_another_user_do_not_change(self):
        script = "touch /x; chown 33 /x || echo no; chmod 4755 /x || echo no; stat -c '%u %a' /x"
        done = place.run("--image", self.other, "--", "sh", "-c", script)
        self.assertEqual(done.out.splitlines()[-1].split()[0], "1001", done)
        self.assertIn("no\n", done.out)

    def test_set_id_bits_only_where_no_file_of_the_host_can_get_them(self):
        where = harness.make_dir()
        os.chmod(where, 0o777)
        for options in (("-w", where), ("-v", f"{where}:/data:rw")):
            script = "touch /x; chmod 4755 /x; chmod 2755 /x; stat -c %a /x"
            done = place.run("--image", self.name, *options, "--", "sh", "-c", script)
            self.assertEqual((done.out, done.err.count("not permitted")), ("644\n", 2), done)
            self.assertEqual([p for p, about in look(where).items() if about[0] & (stat.S_ISUID | stat.S_ISGID)], [])
        out = self.shell(self.name, "touch /x; chmod 6755 /x; stat -c %a /x", "-v", f"{where}:/data")
        self.assertEqual(out, "6755\n")

    def test_the_network(self):
        with upstream.Tcp(upstream.echo) as echo:
            code = ("import socket\nc = socket.create_connection(('db.test', 5432), 20)\n"
                    "c.sendall(b'hi'); print(c.recv(9))\n"
                    "try: socket.create_connection(('192.0.2.1', 9), 9)\nexcept OSError as e: print(type(e).__name__)")
            done = place.run("--image", self.python, "--net", f"db.test:5432=127.0.0.1:{echo.port}", "-c", code)
        self.assertEqual((done.status, done.out.splitlines()[0]), (0, "b'hi'"), done)
        self.assertEqual(len(done.out.splitlines()), 2)
        done = place.run("--image", self.python, "-c", "import socket; socket.create_connection(('192.0.2.1', 9), 9)")
        self.assertIn("unreachable", done.err)


    def test_a_port(self):
        code = ("import socket\nwith socket.create_server(('127.0.0.1', 8000)) as s:\n"
                "    c, _ = s.accept(); c.sendall(b'hi'); c.close()")
        with subprocess.Popen([harness.RETORT, "run", "--image", self.python, "-p", "0:8000", "-c", code],
                              stderr=subprocess.PIPE, text=True, env=harness.environment(place.env)) as run:
            self.addCleanup(run.kill)
            port = int(re.search(r"127\.0\.0\.1:(\d+)", run.stderr.readline())[1])

            def answer():
                with socket.create_connection(("127.0.0.1", port), 20) as c:
                    return c.recv(9)
            self.assertEqual(self.until(answer), b"hi")
            self.assertEqual(run.wait(20), 0)


class Details(Case):
    """What is less usual."""

    @classmethod
    def setUpClass(cls):
        cls.name, _ = place.pull("plain")

    def test_pull_has_three_words(self):
        done = place.run("--pull", "sometimes", "--image", self.name, "--", "id")
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn("--pull", done.err)

    def test_limits_are_for_what_the_program_makes(self):
        """A limit with which a box of the host's system starts, or a message that says what is too small."""
        for limit in (("--inodes", "1"), ("--inodes", "12"), ("--disk", "4096")):
            self.assertEqual(self.says(*limit, "--", "true"), "")
            done = place.run("--image", self.name, *limit, "--", "true")
            self.assertNotIn("Linux 5.11", done.err)
            self.assertTrue(done.status == 0 or limit[0][2:] in done.err, done)

    def test_a_missing_program_is_no_matter_of_the_host(self):
        done = place.run("--image", self.name, "--", "/no/such")
        self.assertEqual(done.status, 127, done)
        self.assertNotIn("host", done.err)

    def test_a_user_whom_an_opaque_directory_hides(self):
        """The box has another /etc/passwd, in which there is nobody of this name."""
        lower = layer({"etc/passwd": PASSWD})
        for upper in (archive([(entry("etc/.wh..wh..opq"), b"")]), layer({}, removed=["etc"]), layer({"etc": b"file"})):
            name, _ = place.pull("hidden", lower, upper, User="app")
            self.refuses("the image has no /etc/passwd, so no app", "--image", name, "--", "id")


if __name__ == "__main__":
    harness.main()
