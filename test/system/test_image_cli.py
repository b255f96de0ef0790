# SPDX-License-Identifier: Apache-2.0
"""`retort image` as people use it: several images at a time, messages, a terminal, and directories that others change."""

import base64
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import ARCHITECTURE, Image, Registry, archive, entry, layer  # noqa: E402
from terminal import Terminal  # noqa: E402

IDENTITY = "user"

BIG = os.urandom(3 << 20)


class Local(Case):
    """Images without a registry."""

    def take(self, *args, **more):
        done = self.image("import", *args, "--json", **more)
        self.assertEqual(done.status, 0, done)
        return done.json()

    def fails(self, status, *args, **more):
        done = self.image(*args, **more)
        self.assertEqual(done.status, status, done)
        return done


class Directories(Local):
    def test_names_links_and_bytes(self):
        where = self.system({"a/b": b"12345", "z": b"", os.fsdecode(b"caf\xe9"): b"x"})
        os.link(os.path.join(where, "a/b"), os.path.join(where, "c"))
        os.symlink("b", os.path.join(where, "a", "l"))
        about = self.take(where, "system")
        tree = self.tree(about)
        self.assertEqual((about["bytes"], set(os.listdir(tree))), (6, {"a", "c", "z", os.fsdecode(b"caf\xe9")}))
        self.assertEqual(os.stat(os.path.join(tree, "c")).st_ino, os.stat(os.path.join(tree, "a/b")).st_ino)
        self.assertEqual(os.readlink(os.path.join(tree, "a", "l")), "b")
        again = self.take(where, "again")
        self.assertEqual(again["digest"], about["digest"])

    def test_the_file_that_cannot_be_read_is_named(self):
        where = self.system({"etc/shadow": b"x", "etc/a": b"y"})
        os.chmod(os.path.join(where, "etc/shadow"), 0)
        if not harness.IS_ROOT:
            done = self.image("import", where, "system")
            self.assertEqual(done.status, 2, done)
            self.assertIn("/etc/shadow cannot be read: Permission denied", done.err)

    def test_what_is_too_large(self):
        where = self.system({"a": b"1"})
        os.truncate(os.path.join(where, "a"), 1 << 40)
        done = self.image("import", where, "system")
        self.assertEqual(done.status, 2, done)
        self.assertIn("has more than 64 GiB of files", done.err)

    def test_what_is_too_deep(self):
        where = self.system({"d/" * 140 + "f": b"x"})
        done = self.image("import", where, "system")
        self.assertEqual(done.status, 2, done)
        self.assertIn("more than 128 directories in each other", done.err)
        self.assertEqual((self.layers(), self.downloads()), ([], []))



    def test_fifos_and_devices(self):
        where = self.system({"a": b"1"})
        os.mkfifo(os.path.join(where, "fifo"))
        if harness.IS_ROOT:
            os.mknod(os.path.join(where, "null"), 0o20666, os.makedev(1, 3))
        about = self.take(where, "system")
        self.assertEqual(about["layers"][0]["left_out"], int(harness.IS_ROOT))
        self.assertTrue(stat.S_ISFIFO(os.lstat(os.path.join(self.tree(about), "fifo")).st_mode))


class Imports(Local):
    def test_a_relative_state(self):
        where = self.system({"a": b"1"})
        for source, stdin in ((where, b""), ("-", layer({"a": b"1"}))):
            done = harness.retort("image", "import", source, "app", "--state", "rel", cwd=self.state, stdin=stdin)
            self.assertEqual(done.status, 0, done)
        done = harness.retort("image", "ls", "-q", "--state", "rel", cwd=self.state)
        self.assertEqual(done.out, "app:latest\n", done)

    def test_messages_name_what_the_user_has_named(self):
        done = self.fails(2, "import", "-", "app", stdin=b"no archive" * 1000)
        self.assertNotIn("downloads", done.err)
        done = self.fails(2, "import", "-", stdin=layer({"a": b"1"}))
        self.assertIn("stdin has no name for the image: name it: retort image import PATH NAME", done.err)
        with open(os.path.join(self.state, "a.tar"), "wb") as f:
            f.write(layer({"a": b"1"}))
        done = self.fails(2, "import", "./a.tar", cwd=self.state)
        self.assertIn("retort: ./a.tar has no name for the image", done.err)

    def test_a_system_needs_a_name_before_it_is_read(self):
        where = self.system({"a": b"1"})
        done = self.fails(2, "import", where)
        self.assertIn("has the files of a system, and no name for the image: name the image: retort image import PATH NAME", done.err)
        self.assertEqual(self.downloads(), [])

    def test_a_directory_of_skopeo(self):
        where = self.system({"version": b"Directory Transport Version: 1.1\n", "manifest.json": b' {"schemaVersion": 2}', "0123": b"x"})
        self.assertIn("is a directory of skopeo's dir: transport: copy the image to an OCI layout", self.fails(2, "import", where, "app").err)
        os.remove(os.path.join(where, "version"))
        self.assertEqual(self.take(where, "app")["files"], 3)  # manifest.json may be anybody's

    def test_names_of_transports(self):
        for operand, hint in (("oci:x", "write the path alone, without oci:"), ("docker-archive:x.tar", "without docker-archive:"),
                              ("oci-archive:x", "without oci-archive:"), ("docker-daemon:x:1", "docker save IMAGE | retort image import -")):
            self.assertIn(hint, self.fails(2, "import", operand).err)

    def test_stdin_by_its_path_and_pipes(self):
        data = archive([(entry("a"), b"1")])
        done = self.image("import", "/dev/stdin", "words", stdin=data)
        self.assertEqual(done.status, 0, done)
        fifo = os.path.join(self.state, "fifo")
        os.mkfifo(fifo)
        self.assertIn("neither a file nor a directory: let it come on stdin", self.fails(2, "import", fifo, "words").err)

    def test_no_place(self):
        done = harness.retort("image", "ls", env={"HOME": "", "XDG_STATE_HOME": "", "RETORT_STATE": ""})
        self.assertEqual(done.status, 2, done)
        self.assertIn("no place for images: set HOME or XDG_STATE_HOME, or give --state DIR", done.err)

    def test_another_platform_of_a_file_is_named(self):
        where = self.system({"manifest.json": json.dumps([{"Config": "c", "RepoTags": ["a:1"], "Layers": []}]).encode(),
                             "c": json.dumps({"os": "linux", "architecture": "s390x", "rootfs": {"diff_ids": []}}).encode()})
        done = self.image("import", where)
        self.assertIn(f"{where}: the image is for linux/s390x", done.err)


class Lists(Local):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.state, "a.tar"), "wb") as f:
            f.write(layer({"a": b"x" * 3000}))

    def add(self, *names):
        for name in names:
            self.take("a.tar", name, cwd=self.state)

    def test_what_cannot_be_read_is_no_empty_list(self):
        self.add("a")
        images = os.path.join(self.state, "images")
        os.chmod(images, 0)
        self.addCleanup(os.chmod, images, 0o700)
        if not harness.IS_ROOT:
            self.assertIn("Permission denied", self.fails(2, "ls").err)
        os.chmod(images, 0o700)
        os.rename(images, images + "2")
        with open(images, "w", encoding="ascii"):
            pass
        self.assertIn("Not a directory", self.fails(2, "ls").err)
        os.remove(images)
        os.rename(images + "2", images)

    def test_rm_goes_on_after_a_failure(self):
        self.add("a", "b")
        done = self.fails(2, "rm", "a", "nope", "b")
        self.assertEqual((done.out, done.err.count("nope:latest on this host")), ("a\nb\n", 1))
        self.assertEqual(self.names(), [])

    def test_rm_force(self):
        self.add("a")
        done = self.image("rm", "-f", "nope", "a")
        self.assertEqual((done.status, done.out, done.err), (0, "a\n", ""))
        self.assertEqual(self.image("prune", "-f").status, 0)
        self.assertEqual(self.fails(2, "rm", "-f", "A").out, "")

    def test_json_lines(self):
        self.add("a", "b")
        done = self.fails(2, "inspect", "a", "nope", "b", "--json")
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([row.get("short_name") for row in rows], ["a:latest", None, "b:latest"])
        self.assertEqual((rows[1]["error"]["code"], done.err.count("\n")), ("not_found", 1))
        done = self.fails(2, "rm", "a", "nope", "b", "--json")
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([row.get("name") for row in rows], ["a", None, "b"])

    def test_a_name_without_its_tag(self):
        self.add("debby:1", "debby:2", "ghcr.io/debby:3")
        for command in ("inspect", "rm"):
            self.assertIn("no image debby:latest on this host: this host has debby:1, debby:2\n", self.fails(2, command, "debby").err)
        self.assertIn("retort image pull other:latest", self.fails(2, "inspect", "other").err)

    def test_digests_as_others_write_them(self):
        self.add("a")
        digest = self.image("inspect", "a").json()["digest"]
        for name in (digest, digest[:12], "sha256:" + digest, "sha256:" + digest[:12]):
            self.assertEqual(self.image("inspect", name).json()["digest"], digest)
        self.assertEqual(self.image("rm", "sha256:" + digest[:12]).status, 0)

    def test_sizes_are_the_same_everywhere(self):
        self.add("a")
        self.assertIn("2.92 KiB", self.image("ls").out)
        self.assertIn("a:latest: 2.92 KiB,", self.image("import", "a.tar", "a", cwd=self.state).out)

    def test_words_of_other_programs(self):
        for words, meant in ((("images",), "retort image ls"), (("rmi", "x"), "retort image rm"), (("pull", "x"), "retort image pull"),
                             (("image", "list"), "ls"), (("image", "delete"), "rm")):
            done = harness.retort(*words)
            self.assertEqual(done.status, 2, done)
            self.assertRegex(done.err, f"did you mean `?{meant}`?\\?")

    def test_schemes(self):
        for scheme in ("docker://", "https://", "http://"):
            done = self.fails(2, "pull", scheme + "docker.io/words")
            self.assertIn(f"no name of an image: write the name without {scheme}", done.err)


class Pulls(Case):
    def terminal(self, *args, **more):
        terminal = Terminal("image", *args, "--state", self.state, **more)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_table_with_digests_is_not_wide(self):
        whole = self.registry.add("app", Image(layer({"a": b"1"})))
        self.pull("app@" + whole)
        out = self.image("ls").out
        self.assertIn(f"{self.name('app')}@{whole[:19]}…  {whole[7:19]}  ", out)
        self.assertEqual(self.names(), [self.name("app@" + whole)])

    def test_pull_goes_on_after_a_failure(self):
        self.registry.add("a", Image(layer({"a": b"1"})))
        self.registry.add("b", Image(layer({"b": b"1"})))
        with Registry("me", "secret") as closed:
            done = self.image("pull", self.name("a"), self.name("nope"), closed.host + "/c", self.name("b"), "-q")
        self.assertEqual(done.status, 3, done)
        self.assertEqual([line.split(" ")[0] for line in done.out.splitlines()], [self.name("a:latest:"), self.name("b:latest:")])
        lines = done.err.splitlines()
        self.assertEqual(len(lines), 2, done)
        self.assertIn(self.name("nope"), lines[0])
        self.assertIn(closed.host + "/c", lines[1])

    def test_one_line_for_each_of_several(self):
        self.registry.add("a", Image(layer({"a": b"1"})))
        done = self.image("pull", self.name("a"), self.name("nope"), self.name("a"), "--json", "-q")
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([row.get("short_name") for row in rows], [self.name("a:latest"), None, self.name("a:latest")])

    def test_platforms(self):
        self.registry.add("app", Image(layer({"a": b"1"})))
        for platform in ("linux/" + ARCHITECTURE, ARCHITECTURE):
            self.pull("app", "--platform", platform)
        self.image("rm", self.name("app"))
        self.refuses(2, f"boxes on this host run images for linux/{ARCHITECTURE} only, not for linux/s390x: leave out --platform",
                     "app", "--platform", "linux/s390x")
        self.registry.add("app", Image(layer({"a": b"1"}), architecture="s390x"))
        self.refuses(2, self.name("app") + ": the image is for linux/s390x")

    def test_mirrors_that_are_written_wrong(self):
        self.registry.add("library/words", Image(layer({"a": b"1"})))
        for mirror, text in (("quay.io=", "it has no host"), ("=" + self.registry.host, "there is nothing before the ="), ("/", "it has no host"),
                             ("https://" + self.registry.host, "leave out what ends in ://")):
            done = self.image("pull", "words", "others", "--mirror", mirror)
            self.assertEqual(done.status, 2, done)
            self.assertIn(f'retort: no mirror: "{mirror}": {text}', done.err)
            self.assertEqual(done.err.count("\n"), 1)
        for mirror in (self.registry.host + "/", "index.docker.io=" + self.registry.host):
            for name in ("words", "index.docker.io/library/words"):
                self.assertEqual(self.image("pull", name, "--mirror", mirror).status, 0, mirror)
                self.image("rm", "words")

    def test_two_mirrors(self):
        done = self.image("pull", "words", "--mirror", "localhost:1", "--mirror", "index.docker.io=localhost:2")
        self.assertEqual(done.status, 2, done)
        self.assertIn("there are two mirrors for docker.io: keep one of them", done.err)

    def test_names_of_hosts_that_cannot_be(self):
        for name, text in (("localhost:99999/x", "perhaps with a port"), ("a" * 300, "it is too long"), ("h.io/" + "a" * 300, "it is too long")):
            done = self.image("pull", name)
            self.assertEqual(done.status, 2, done)
            self.assertIn(text, done.err)

    def test_a_login_that_cannot_be_read(self):
        auth = os.path.join(self.state, "auth.json")
        for text in ("%%%", base64.b64encode(b"no colon").decode()):
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {self.registry.host: {"auth": text}}}, f)
            done = self.image("pull", self.name("app"), env={"REGISTRY_AUTH_FILE": auth})
            self.assertEqual(done.status, 2, done)
            self.assertIn(f"the login for {self.registry.host} cannot be read: log in again", done.err)

    def test_a_registry_that_answers_400(self):
        """That of a server of TLS is no JSON."""
        self.registry.status, self.registry.says = 400, b'{"errors": [{"message": "no"}]}'
        self.refuses(4, "status 400: no")

    def test_waiting_for_another_pull(self):
        self.registry.add("app", Image(layer({"a": BIG})))
        self.registry.slow = threading.Event()
        first = self.terminal("pull", self.name("app"), columns=120)
        first.wait("downloading")
        self.assertTrue(web.wait(lambda: self.downloads() != []))
        second = self.terminal("pull", self.name("app"), columns=120)
        second.wait("waiting for another pull")
        self.registry.slow.set()
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_progress_in_lines(self):
        base = layer({"a": b"1"})
        self.registry.add("one", Image(base))
        self.registry.add("two", Image(base, layer({"b": b"2"})))
        self.image("pull", self.name("one"))
        lines = sorted(self.image("pull", self.name("two")).err.splitlines())
        self.assertRegex(lines[0], r"two: layer 1 of 2: [0-9a-f]{12}, here already$")
        self.assertRegex(lines[1], r"two: layer 2 of 2: [0-9a-f]{12}$")

    def test_progress_fits_the_terminal(self):
        self.registry.add("app", Image(layer({"a": BIG})))
        for columns in (20, 40, 80, 200):
            self.registry.slow = threading.Event()
            terminal = self.terminal("pull", self.name("app"), columns=columns)
            terminal.wait_until(lambda t=terminal: b"download" in t.out)
            self.registry.slow.set()
            self.assertEqual(terminal.end(), 0, terminal.out)
            self.image("rm", self.name("app"))
            drawn = re.findall("\r\033\\[K([^\r\n]*)", terminal.out.decode())
            self.assertTrue(any(drawn), terminal.out)
            for line in drawn[:-1]:
                self.assertLess(len(line), columns)
            if columns >= 80:
                self.assertRegex(" ".join(drawn), r"app \[[#.]+\] 3 MiB of 3 MiB, unpacking")

    def test_interrupted_at_a_terminal(self):
        self.registry.add("app", Image(layer({"a": BIG})))
        self.registry.slow = threading.Event()
        terminal = self.terminal("pull", self.name("app"), self.name("other"))
        terminal.wait("downloading")
        self.assertTrue(web.wait(lambda: self.downloads() != []))
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)
        said = terminal.out.decode().replace("\r\n", "\n")
        self.assertRegex(said, rf"\nretort: {self.name('app')} was interrupted: pull it again, and the download goes on where it was\n$")
        self.assertEqual(said.count("retort:"), 1)
        self.assertEqual(len(self.downloads()), 1)
        self.registry.slow.set()
        self.pull()

    def test_exit_statuses_are_listed(self):
        text = harness.retort("help", "image", "pull").out
        for status in ("0", "1", "2", "3", "4", "125", "130"):
            self.assertRegex(text, rf"(?m)^  {status} +\w")
        self.assertEqual(self.image("pull", "127.0.0.1:1/app").status, 4)
        with Registry("me", "secret") as closed:
            self.assertEqual(self.image("pull", closed.host + "/app").status, 3)
        process = subprocess.Popen([harness.RETORT, "image", "import", "-", "x", "--state", self.state], stdin=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=harness.environment())
        self.assertTrue(web.wait(lambda: self.downloads() != []))
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertIn(process.returncode, (130, -signal.SIGINT))
        self.assertEqual(self.downloads(), [])


if __name__ == "__main__":
    harness.main()
