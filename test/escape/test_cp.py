# SPDX-License-Identifier: Apache-2.0
"""`retort cp` out of a session whose tar is the attacker's: nothing is written outside of the copy, no link leads out of
it, and no archive holds us up or fills the disk."""

import base64
import io
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402


def entry(name, kind=tarfile.REGTYPE, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode = kind, len(data), more.pop("mode", 0o755)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def link(name, target):
    return entry(name, tarfile.SYMTYPE, linkname=target)


def archive(*entries, form=tarfile.GNU_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


TOP = entry("d/", tarfile.DIRTYPE)


class Hostile(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = rpc.Engine()
        cls.env = {"RETORT_SOCKET": cls.engine.path}
        cls.client = cls.engine.client()
        cls.client("session.create", name="evil", env={"PATH": "/home/user/bin:/usr/bin:/bin"})

    @classmethod
    def tearDownClass(cls):
        cls.engine.stop()

    def setUp(self):
        self.top = harness.make_dir()
        self.here = os.path.join(self.top, "here")
        os.mkdir(self.here)
        with open(os.path.join(self.top, "secret"), "w", encoding="utf-8") as f:
            f.write("untouched")

    def put(self, path, data):
        self.client("file.write", session="evil", path=path, content=base64.b64encode(data).decode(), encoding="base64")

    def copy(self, data, *args, script="cat /home/user/evil.tar", source="d", to="copy", **more):
        """`retort cp` from a box whose tar runs @script. Returns: its result; what is outside is as before."""
        if not more.get("onto"):
            shutil.rmtree(os.path.join(self.here, to), ignore_errors=True)
        self.put("evil.tar", data)
        self.put("bin/tar", b"#!/bin/sh\n" + script.encode() + b"\n")
        harness.retort("exec", "evil", "chmod", "+x", "bin/tar", env=self.env)
        done = harness.retort("cp", *args, f"evil:{source}", to, env=self.env, cwd=self.here)
        with open(os.path.join(self.top, "secret"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "untouched")
        self.assertEqual(sorted(os.listdir(self.top)), ["here", "secret"])
        return done

    def found(self, top="copy"):
        """{path: "dir", the target of a link, or the content}"""
        out = {}
        for where, dirs, names in os.walk(os.path.join(self.here, top)):
            for name in dirs + names:
                path = os.path.join(where, name)
                key = os.path.relpath(path, os.path.join(self.here, top))
                if os.path.islink(path):
                    out[key] = "-> " + os.readlink(path)
                elif os.path.isdir(path):
                    out[key] = "dir"
                else:
                    with open(path, encoding="utf-8") as f:
                        out[key] = f.read()
        return out

    def test_T_COPY_NAME_below(self):
        """Names that lead out, or that nobody asked for, end the copy."""
        for name in ("../secret", "d/../../secret", "d/x/../../../secret", "/" + self.top.strip("/") + "/secret", "/etc/motd",
                     "secret", "d2/x", "e/x", "..", "dd", "d/.."):
            with self.subTest(name=name):
                done = self.copy(archive(TOP, entry(name, data=b"evil")))
                self.assertEqual(done.status, 125)
                self.assertTrue(done.err.startswith("retort: cp: a name leads out of the copy: "), done)
                self.assertNotIn("secret", self.found())
                self.assertNotIn("secret", os.listdir(self.here))

    def test_T_COPY_NAME_of_content(self):
        """In the destination itself there is no first component to check."""
        for name in ("../secret", "./../secret", "x/../../secret", self.top + "/secret"):
            with self.subTest(name=name):
                done = self.copy(archive(entry(name, data=b"evil")), source="d/.", to=".", onto=True)
                self.assertNotEqual(done.status, 0)
                self.assertEqual(os.listdir(self.here), [])

    def test_T_COPY_NAME_forms(self):
        """Long names, and names that are no text, in each format of archive."""
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            done = self.copy(archive(TOP, entry("d/" + "../" * 200 + "secret", data=b"evil"), form=form))
            self.assertNotEqual(done.status, 0)
            done = self.copy(archive(TOP, entry("d/" + "x/" * 3000, data=b"evil"), form=form))
            self.assertNotEqual(done.status, 0)
            done = self.copy(archive(TOP, entry("d/\x1b[2Jx", data=b"ok"), entry("d/\x1b]0;", tarfile.FIFOTYPE), form=form))
            self.assertEqual((done.status, done.err), (
                1, "retort: cp: copy/\\x1b]0; was left out: neither a file nor a directory\n"))

    def test_T_COPY_LINK_symbolic(self):
        """No symbolic link leads out of the copy, also not through another one."""
        entries = [TOP, entry("d/a/b/", tarfile.DIRTYPE)]
        bad = [link("d/abs", "/etc/passwd"), link("d/up", ".."), link("d/a/up", "../.."), link("d/a/b/far", "../../../x"),
               link("d/a/b/through", "../back/.."), link("d/dot", "./../x"), link("d/a/twice", "..//../x"),
               link("d/late", "a/../.."), link("d/empty", "")]
        good = {"a/b/back": "../..", "a/in": "../f", "self": ".", "down": "a/b", "a/b/stay": "./../x"}
        entries += [link("d/" + name, target) for name, target in good.items()] + bad + [entry("d/f", data=b"file")]
        done = self.copy(archive(*entries))
        self.assertEqual(done.status, 1, done)
        left = {line.split()[2] for line in done.err.splitlines()}
        self.assertEqual(left, {"copy/" + info.name[2:] for info, _ in bad})
        found = self.found()
        self.assertEqual({k: v[3:] for k, v in found.items() if v.startswith("->")}, good)
        for path, what in found.items():
            if what.startswith("->"):
                real = os.path.realpath(os.path.join(self.here, "copy", path))
                self.assertTrue(real.startswith(os.path.join(self.here, "copy")), (path, what, real))

    def test_T_COPY_LINK_is_not_followed(self):
        """Nothing is written through a link: neither one of the archive nor one that was there before."""
        os.makedirs(os.path.join(self.here, "copy"))
        os.symlink(self.top, os.path.join(self.here, "copy/old"))
        os.symlink(os.path.join(self.top, "secret"), os.path.join(self.here, "copy/file"))
        done = self.copy(archive(entry("old/secret", data=b"evil"), entry("file", data=b"new"), entry("in/", tarfile.DIRTYPE),
                                 link("l", "in"), entry("l/x", data=b"evil")), source="d/.", onto=True)
        self.assertEqual((done.status, len(done.err.splitlines())), (1, 2), done)
        self.assertEqual(os.readlink(os.path.join(self.here, "copy/old")), self.top)
        self.assertEqual(self.found()["file"], "new")
        self.assertFalse(os.path.islink(os.path.join(self.here, "copy/file")))
        self.assertNotIn("in/x", self.found())

    def test_T_COPY_LINK_hard(self):
        """A second name is only made for a file of the copy, and not for a link, which would lead elsewhere there."""
        os.makedirs(os.path.join(self.here, "copy"))
        with open(os.path.join(self.here, "copy/mine"), "w", encoding="utf-8") as f:
            f.write("mine")
        hard = tarfile.LNKTYPE
        done = self.copy(archive(
            entry("d/", tarfile.DIRTYPE), entry("d/a/b/", tarfile.DIRTYPE), link("d/a/b/back", "../.."),
            entry("d/moved", hard, linkname="d/a/b/back"), entry("d/out", hard, linkname="../secret"),
            entry("d/abs", hard, linkname=os.path.join(self.top, "secret")), entry("d/pw", hard, linkname="/etc/passwd"),
            entry("d/none", hard, linkname="d/nothing"), entry("d/f", data=b"file"), entry("d/g", hard, linkname="d/f")),
            to="copy2")
        self.assertEqual((done.status, len(done.err.splitlines())), (1, 5), done)
        self.assertEqual(self.found("copy2"), {"a": "dir", "a/b": "dir", "a/b/back": "-> ../..", "f": "file", "g": "file"})
        # A second name with data does not write into what is there.
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            done = self.copy(archive(entry("g", hard, linkname="mine"), entry("g", data=b"evil"),
                                     entry("h", hard, linkname="mine", data=b"evil", pax_headers={"comment": "x"}), form=form), source="d/.", onto=True)
            self.assertEqual(self.found()["mine"], "mine", done)

    def test_T_COPY_SPECIAL_files(self):
        """No device, no fifo, no set-id bit, no foreign owner."""
        done = self.copy(archive(
            TOP, entry("d/null", tarfile.CHRTYPE, devmajor=1, devminor=3), entry("d/disk", tarfile.BLKTYPE, devmajor=8),
            entry("d/fifo", tarfile.FIFOTYPE), entry("d/odd", b"Z"),
            entry("d/suid", data=b"x", mode=0o6755, uid=12345, gid=12345), entry("d/sticky/", tarfile.DIRTYPE, mode=0o7777)))
        self.assertEqual(done.status, 1, done)
        for name in ("suid", "sticky"):
            st = os.stat(os.path.join(self.here, "copy", name))
            self.assertEqual((st.st_mode & 0o7000, st.st_uid), (0, os.geteuid()))
        self.assertLessEqual(set(self.found()), {"suid", "sticky", "odd"})

    def test_T_COPY_SIZE_announced(self):
        """What is larger than allowed ends the copy before it is written, however it is announced."""
        huge, data = entry("d/huge", data=b"")
        huge.size = 1 << 50
        sparse = tarfile.TarInfo("d/sparse")
        sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "d/sparse",
                              "GNU.sparse.realsize": str(1 << 60)}
        sparse.size = 512
        head = TOP[0].tobuf(tarfile.GNU_FORMAT)
        for what in (head + huge.tobuf(tarfile.GNU_FORMAT),
                     archive(TOP, (sparse, b"1\n0\n0\n".ljust(512, b"\0")), form=tarfile.PAX_FORMAT)):
            done = self.copy(what)
            self.assertEqual((done.status, done.err), (2, "retort: cp: more than 4 GiB: allow more with --max-size\n"))
            self.assertEqual(self.found(), {})
        one = entry("d/x", data=b"x" * 10000)
        done = self.copy(archive(TOP, *[entry(f"d/{i}", data=one[1]) for i in range(20)]), "--max-size", "100k")
        self.assertEqual((done.status, done.err), (2, "retort: cp: more than 100 KiB: allow more with --max-size\n"))
        self.assertLess(len(self.found()), 12)

    def test_T_COPY_SIZE_without_end(self):
        """A tar that does not stop, that does not end, that sends nothing, or rubbish."""
        good = archive(TOP, entry("d/a", data=b"a"))
        for script, status in (("cat evil.tar; exec yes", 1), ("cat evil.tar; exec sleep 1000", 1), ("exec yes", 125),
                               ("exec head -c 100000 /dev/urandom", 125), ("head -c 700 evil.tar", 125), ("exit 0", 125),
                               ("yes >&2", None), ("cat evil.tar; echo oops >&2; exit 3", 1)):
            with self.subTest(script=script):
                if script == "yes >&2":
                    script = "yes | head -c 5000000 >&2; exit 1"
                done = self.copy(good, script="cd; " + script)
                self.assertEqual(done.out, "")
                self.assertRegex(done.err, r"^retort: cp: [^\n]+\n$")
                if status:
                    self.assertEqual(done.status, status, done)


if __name__ == "__main__":
    harness.main()
