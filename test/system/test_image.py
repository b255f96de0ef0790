# SPDX-License-Identifier: Apache-2.0
"""`retort image`: images from registries, in the store of layers."""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import ARCHITECTURE, Image, Registry, archive, digest, entry, index, layer  # noqa: E402

IDENTITY = "user"
BIG = os.urandom(3 << 20)


class Pulls(Case):
    def test_an_image(self):
        image = Image(layer({"etc/motd": b"hello\n"}, dirs=["etc"], links={"m": "etc/motd"}), layer({"bin/x": b"#!x"}),
                      Env=["A=b"], Cmd=["x"], Entrypoint=None, WorkingDir="/srv", User="app", ExposedPorts={"80/tcp": {}})
        whole = self.registry.add("app", image)
        about = self.pull()
        self.assertEqual(about["name"], self.name("app:latest"))
        self.assertEqual("sha256:" + about["digest"], whole)
        self.assertEqual(about["config"], {"env": ["A=b"], "cmd": ["x"], "workdir": "/srv", "user": "app",
                                           "ports": ["80/tcp"], "architecture": ARCHITECTURE})
        self.assertEqual([row["digest"] for row in about["layers"]], [digest(data)[7:] for data in image.layers])
        self.assertEqual((about["bytes"], about["files"]), (9, 5))  # with bin, which no entry describes
        tree = self.tree(about)
        with open(os.path.join(tree, "etc/motd"), encoding="ascii") as f:
            self.assertEqual(f.read(), "hello\n")
        self.assertEqual(os.readlink(os.path.join(tree, "m")), "etc/motd")
        self.assertEqual(self.names(), [self.name("app:latest")])
        self.assertEqual(self.downloads(), [])

    def test_layers_are_shared(self):
        base, top = layer({"a": BIG}), layer({"b": b"b"})
        self.registry.add("one", Image(base))
        self.registry.add("two", Image(base, top))
        self.pull("one")
        self.registry.asked.clear()
        about = self.pull("two")
        self.assertEqual(len(self.registry.paths("/blobs/")), 2, self.registry.asked)  # the configuration, and one layer
        self.assertEqual(about["bytes"], len(BIG) + 1)
        self.assertEqual(len(self.layers()), 2)
        self.assertEqual(self.image("rm", self.name("one")).status, 0)
        self.assertEqual(len(self.layers()), 2)
        self.assertEqual(self.image("rm", self.name("two")).status, 0)
        self.assertEqual(self.layers(), [])

    def test_the_same_layer_twice_in_an_image(self):
        empty = layer({})
        self.registry.add("app", Image(empty, layer({"a": b"1"}), empty))
        about = self.pull()
        self.assertEqual(len(about["layers"]), 3)
        self.assertEqual(len(self.layers()), 2)

    def test_an_index(self):
        here, other = Image(layer({"a": b"here"})), Image(layer({"a": b"other"}), architecture="s390x")
        nobody = Image(layer({}), architecture="unknown", system="unknown")
        for image in (other, nobody, here):
            self.registry.add("app", image, tag=image.platform["architecture"])
        self.registry.add("app", index(nobody, other, here))
        about = self.pull()
        self.assertEqual(about["layers"][0]["digest"], digest(here.layers[0])[7:])
        self.registry.add("app", index(nobody, other), tag="other")
        done = self.image("pull", self.name("app:other"))
        self.assertIn(f"not for linux/{ARCHITECTURE}, but for: linux/s390x", done.err)
        done = self.image("pull", self.name("app:s390x"))
        self.assertIn("the image is for linux/s390x", done.err)

    def test_by_digest(self):
        whole = self.registry.add("app", Image(layer({"a": b"1"})))
        self.registry.add("app", Image(layer({"a": b"2"})))
        about = self.pull(f"app@{whole}")
        self.assertEqual(about["name"], self.name(f"app@{whole}"))
        self.assertEqual(self.image("inspect", whole[7:19]).json()["digest"], whole[7:])
        self.registry.documents["app", whole] = b'{"schemaVersion": 2}'
        done = self.image("pull", self.name(f"app@{whole}"))
        self.assertEqual(done.status, 1, done)
        self.assertIn("and should have", done.err)

    def test_kinds_of_layers(self):
        zstd = subprocess.run(["zstd", "-qc"], input=layer({"a": b"1"}), capture_output=True, check=True).stdout
        self.registry.add("plain", Image(layer({"a": b"1"}), packed=None))
        self.registry.add("zstd", Image(layer({"a": b"1"}), packed=lambda _: zstd))
        for name in ("plain", "zstd"):
            self.assertEqual(os.listdir(self.tree(self.pull(name))), ["a"])

    def test_a_tag_that_has_moved(self):
        self.registry.add("app", Image(layer({"a": b"1"})))
        self.pull()
        self.registry.add("app", Image(layer({"a": b"2"})))
        about = self.pull()
        self.assertEqual(len(self.names()), 1)
        with open(os.path.join(self.tree(about), "a"), encoding="ascii") as f:
            self.assertEqual(f.read(), "2")
        self.assertEqual(len(self.layers()), 2)
        self.assertEqual(self.image("prune").status, 0)
        self.assertEqual(len(self.layers()), 1)

    def test_a_redirection_gets_no_login(self):
        other = Registry()
        self.addCleanup(other.close)
        registry = Registry("me", "secret")
        self.addCleanup(registry.close)
        image = Image(layer({"a": b"1"}))
        registry.add("app", image)
        other.add("app", image)
        registry.redirect = other
        self.pull(registry=registry, env=self.login(registry, "me", "secret"))
        self.assertEqual(len(other.paths("/blobs/")), 1)
        self.assertTrue(all("Authorization" not in headers for _, _, headers in other.asked))

    def login(self, registry, user, secret, **more):
        home = tempfile.mkdtemp(prefix="h", dir=harness.TMP)
        auth = base64.b64encode(f"{user}:{secret}".encode()).decode()
        with open(os.path.join(home, "config.json"), "w", encoding="utf-8") as f:
            json.dump(more or {"auths": {registry.host: {"auth": auth}}}, f)
        return {"DOCKER_CONFIG": home, "HOME": home, "PATH": f"{home}:{os.environ['PATH']}"}

    def test_logins(self):
        for realm in ("/token", None):
            registry = Registry("me", "secret", realm)
            self.addCleanup(registry.close)
            registry.add("app", Image(layer({"a": b"1"}), layer({"b": b"1"})))
            done = self.image("pull", self.name("app", registry))
            self.assertEqual(done.status, 3, done)
            self.assertIn(f"docker login {registry.host}", done.err)
            done = self.image("pull", self.name("app", registry), env=self.login(registry, "me", "wrong"))
            self.assertEqual(done.status, 3, done)
            self.pull(registry=registry, env=self.login(registry, "me", "secret"))
            self.assertNotIn("secret", self.image("ls", "--json").out)

    def test_an_identity_token_and_a_program_that_has_the_login(self):
        registry = Registry("me", "secret")
        self.addCleanup(registry.close)
        registry.add("app", Image(layer({"a": b"1"})))
        self.pull(registry=registry, env=self.login(
            registry, "", "", auths={registry.host: {"identitytoken": "secret"}}))
        env = self.login(registry, "", "", credHelpers={registry.host: "test"})
        program = os.path.join(env["HOME"], "docker-credential-test")
        done = self.image("pull", self.name("app", registry), env=env)
        self.assertEqual(done.status, 2, done)
        self.assertIn("docker-credential-test", done.err)
        with open(program, "w", encoding="ascii") as f:
            f.write('#!/bin/sh\ntest "$1" = get && read host\necho "{\\"Username\\": \\"me\\", \\"Secret\\": \\"secret\\"}"\n')
        os.chmod(program, 0o755)
        self.pull(registry=registry, env=env)

    def test_a_mirror(self):
        self.registry.add("library/words", Image(layer({"a": b"1"})))
        self.registry.add("hub/library/words", Image(layer({"a": b"2"})))
        for mirror, content in ((self.registry.host, "1"), (self.registry.host + "/hub", "2"), ("docker.io=" + self.registry.host, "1")):
            done = self.image("pull", "words", "--json", "--mirror", "ghcr.io=nowhere.invalid", "--mirror", mirror)
            self.assertEqual(done.status, 0, done)
            with open(os.path.join(self.tree(done.json()), "a"), encoding="ascii") as f:
                self.assertEqual(f.read(), content)
            self.assertEqual(self.names(), ["words:latest"])

    def test_a_mirror_that_does_not_have_it(self):
        self.registry.add("app", Image(layer({"a": b"1"})))
        with Registry() as mirror, Registry("me", "secret") as closed:
            for host in (mirror.host, closed.host, "127.0.0.1:1"):
                self.pull("app", "--mirror", f"{self.registry.host}={host}")
                self.image("rm", self.name("app"))
            self.assertEqual(len(mirror.paths("/manifests/")), 1)
        self.assertIn("a mirror is HOST", self.image("pull", "words", "--mirror", "no host").err)

    def test_a_mirror_gets_its_own_login(self):
        auth = os.path.join(self.state, "auth.json")
        with Registry("them", "other") as mirror, Registry("me", "secret") as registry:
            mirror.add("app", Image(layer({"a": b"1"})))
            logins = {self.host_login(mirror, "them", "other"), self.host_login(registry, "me", "secret")}
            with open(auth, "w", encoding="ascii") as f:
                json.dump({"auths": {host: {"auth": login} for host, login in logins}}, f)
            self.pull("app", "--mirror", f"{registry.host}={mirror.host}", registry=registry, env={"REGISTRY_AUTH_FILE": auth})
            self.assertEqual(registry.asked, [])
            self.assertNotIn(base64.b64encode(b"me:secret").decode(), str(mirror.asked))

    def host_login(self, registry, user, secret):
        return registry.host, base64.b64encode(f"{user}:{secret}".encode()).decode()

    def test_several_engines_at_the_same_time(self):
        image = Image(layer({"a": BIG}), layer({"b": b"b"}))
        self.registry.add("app", image)
        argv = [harness.RETORT, "image", "pull", self.name("app"), "--state", self.state]
        them = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment()) for _ in range(4)]
        for one in them:
            out, err = one.communicate()
            self.assertEqual(one.returncode, 0, (out, err))
        self.assertEqual(len(self.registry.paths(digest(image.layers[0]))), 1)  # the others have waited
        self.assertEqual((len(self.layers()), self.downloads()), (2, []))

    def test_over_rpc(self):
        self.registry.add("app", Image(layer({"a": BIG})))
        with web.Server("--state", self.state, tokens="ann " + "a" * 32 + "\n") as server:
            ann = {"Authorization": "Bearer " + "a" * 32}
            with self.assertRaises(web.Failed) as caught:
                server.rpc("image.pull", ann, name=self.name("app"))
            self.assertEqual(caught.exception.code, "denied")
            self.assertEqual(server.rpc("image.list", ann)["images"], [])


class Broken(Case):
    """What goes wrong leaves nothing but what another try can use."""

    def test_no_such_image(self):
        self.refuses(2, f"no image {self.name('app:latest')}")
        self.assertEqual(self.layers(), [])

    def test_no_registry(self):
        self.registry.close()
        done = self.image("pull", self.name("app"))
        self.assertEqual(done.status, 4, done)
        self.registry = Registry()
        self.addCleanup(self.registry.close)

    def test_a_wrong_digest(self):
        image = Image(layer({"a": BIG}))
        self.registry.add("app", image)
        wrong = bytearray(image.layers[0])
        wrong[1000] ^= 1
        self.registry.blobs[digest(image.layers[0])] = bytes(wrong)
        self.refuses(1, "it was changed on its way")
        self.assertEqual((self.layers(), self.downloads()), ([], []))

    def test_a_configuration_that_names_another_layer(self):
        image, other = Image(layer({"a": b"1"})), Image(layer({"a": b"2"}))
        self.registry.add("app", {**image.manifest, "config": other.manifest["config"]})
        self.registry.blobs.update({**image.blobs, **other.blobs})
        self.refuses(1, "not the one that its configuration names")
        self.assertEqual(self.layers(), [])

    def test_a_download_that_breaks_off_goes_on(self):
        image = Image(layer({"a": BIG}))
        self.registry.add("app", image)
        for ignores in (False, True):
            self.registry.ignores_range = ignores
            self.registry.cut_after = [len(image.config), 1 << 20, 1 << 20]
            about = self.pull()
            with open(os.path.join(self.tree(about), "a"), "rb") as f:
                self.assertEqual(f.read(), BIG)
            ranges = [headers["Range"] for _, _, headers in self.registry.asked if "Range" in headers]
            self.assertEqual(ranges[:1], ["bytes=1048576-"])
            self.image("rm", self.name("app"))
            self.registry.asked.clear()

    def test_a_killed_pull_goes_on_and_leaves_nothing(self):
        image = Image(layer({"a": BIG}))
        self.registry.add("app", image)
        for number in (signal.SIGKILL, signal.SIGINT):
            self.registry.slow = threading.Event()
            process = subprocess.Popen([harness.RETORT, "image", "pull", self.name("app"), "--state", self.state],
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=harness.environment(),
                                       start_new_session=True)
            part = os.path.join(self.state, "downloads", digest(image.layers[0])[7:])
            self.assertTrue(web.wait(lambda part=part: os.path.exists(part) and os.path.getsize(part) > 1 << 19))
            os.killpg(process.pid, number)
            process.communicate()
            self.registry.slow.set()
            self.assertEqual(self.names(), [])
            self.assertEqual([name for name in self.layers() if not name.startswith("building")], [])
        self.assertTrue(web.wait(lambda: self.image("prune", "--keep", "1h").status == 0 and self.layers() == []))
        self.registry.slow = None
        self.registry.asked.clear()
        self.pull()
        ranges = [headers["Range"] for _, _, headers in self.registry.asked if "Range" in headers]
        self.assertEqual(len(ranges), 1)

    def test_a_busy_registry(self):
        self.registry.add("app", Image(layer({"a": b"1"})))
        self.registry.busy = 1
        self.pull()
        self.registry.busy = 100
        done = self.image("pull", self.name("app"))
        self.assertEqual(done.status, 1, done)
        self.assertIn("too many requests: slow down", done.err)

    def test_documents_that_are_wrong(self):
        image = Image(layer({"a": b"1"}))
        self.registry.blobs.update(image.blobs)
        good = image.manifest
        for document, text in (
                (b"nope", "no JSON object"), (b"[]", "no JSON object"), ({"schemaVersion": 1}, "schema 1"),
                ({"schemaVersion": 2}, "neither an index nor a manifest"),
                ({**good, "layers": [{**good["layers"][0], "mediaType": "application/vnd.cncf.helm"}]}, "no tar archive"),
                ({**good, "layers": [{**good["layers"][0], "digest": "sha512:" + "0" * 128}]}, "without a SHA-256"),
                ({**good, "layers": [{**good["layers"][0], "size": -1}]}, "without a size"),
                ({**good, "layers": good["layers"] * 129}, "129 layers"),
                ({**good, "layers": good["layers"] * 2}, "2 layers, but its configuration 1"),
                ({**good, "config": good["layers"][0]}, "no JSON object")):
            self.registry.add("app", document)
            self.refuses(1, text)
        self.assertEqual(self.layers(), [])

    def test_a_layer_that_is_longer_than_it_says(self):
        image = Image(layer({"a": BIG}))
        image.manifest["layers"][0]["size"] -= 10
        self.registry.add("app", image)
        self.refuses(1, "longer than")

    def test_names(self):
        for name in ("A", "a:", "a@sha256:1", "-", "a//b", "http://a/b", "a b", "/a"):
            done = self.image("pull", "--", name)
            self.assertEqual(done.status, 2, (name, done))
            self.assertIn("no name of an image", done.err)
        self.assertEqual(self.image("inspect", "words").status, 2)
        self.assertIn("retort image pull words:latest", self.image("inspect", "words").err)
        self.assertEqual(self.image("rm", "words").status, 2)

    def test_no_room(self):
        self.registry.add("app", Image(layer({"a": BIG}), packed=None))
        for kbytes in (1000, 4000):  # for the download, and for the files
            script = 'mkdir "$1" && mount -t tmpfs -o size="$2"k none "$1" && "$3" image pull "$4" --state "$1"; s=$?; find "$1"/layers "$1"/downloads -mindepth 1; exit $s'
            done = subprocess.run(["unshare", "-rm", "/bin/sh", "-c", script, "sh", os.path.join(self.state, str(kbytes)),
                                   str(kbytes), harness.RETORT, self.name("app")],
                                  capture_output=True, text=True, env=harness.environment(), check=False)
            self.assertNotEqual(done.returncode, 0, done)
            self.assertIn("no room for 3 MiB" if kbytes == 1000 else "No space left on device", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_killed_at_any_moment(self):
        """However often it is killed, what has the name of a layer is whole, and in the end all is there."""
        files = {f"d{i % 7}/f{i}": b"x" * i for i in range(300)}
        image = Image(layer(files), layer({"a": BIG}), layer({"z": b"z"}, removed=["a"]))
        self.registry.add("app", image)
        n_whole = 0
        for i in range(25):
            process = subprocess.Popen([harness.RETORT, "image", "pull", self.name("app"), "--state", self.state],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment(),
                                       start_new_session=True)
            time.sleep(0.008 * i)
            os.killpg(process.pid, signal.SIGKILL)
            n_whole += process.wait() == 0
            whole = [name for name in self.layers() if not name.startswith("building")]
            for name in whole:
                tree = os.path.join(self.state, "layers", name, "tree")
                n = sum(len(found) for _, _, found in os.walk(tree))
                self.assertEqual(n, {digest(data)[7:]: count for data, count in zip(image.layers, (300, 1, 2))}[name])
        self.assertLess(n_whole, 25)
        self.assertEqual(len(self.pull()["layers"]), 3)
        self.assertEqual((len(self.layers()), self.downloads()), (3, []))


class Layers(Case):
    """What a hostile layer asks for happens inside of its directory, or not at all."""

    def unpack(self, *entries, **more):
        self.registry.add("app", Image(archive(entries, **more)))
        return self.tree(self.pull())

    def fails(self, text, *entries):
        self.registry.add("app", Image(archive(entries)))
        self.refuses(2, text)
        self.assertEqual((self.layers(), self.downloads()), ([], []))

    def test_links_lead_nowhere_else(self):
        outside = os.path.join(harness.TMP, "outside")
        tree = self.unpack(
            (entry("etc", tarfile.DIRTYPE, 0o755), None), (entry("up", tarfile.SYMTYPE, link="../../../../etc"), None),
            (entry("up/passwd"), b"x"), (entry("abs", tarfile.SYMTYPE, link=harness.TMP), None))
        with open(os.path.join(tree, "etc/passwd"), encoding="ascii") as f:
            self.assertEqual(f.read(), "x")
        self.image("rm", self.name("app"))
        self.fails("below something", (entry("a", tarfile.SYMTYPE, link=harness.TMP), None), (entry("a/outside"), b"x"))
        self.assertFalse(os.path.exists(outside))

    def test_what_no_layer_may_have(self):
        for name in ("../x", "a/../../x", "a/.."):
            self.fails("which leads out of it", (entry(name), b"x"))
        self.fails("not in the layer", (entry("a", tarfile.LNKTYPE, link="/etc/passwd"), None))
        self.fails("no mark of a removed file", (entry(".wh.."), b""))
        self.fails("too deep", (entry("d/" * 150 + "f"), b""))
        self.fails("below something", (entry("a"), b""), (entry("a/b"), b""))
        self.registry.add("app", Image(b"no archive" * 1000, packed=None))
        self.refuses(2, "no tar archive")

    def test_marks_of_removal(self):
        tree = self.unpack(
            (entry("a/.wh.b"), b""), (entry("c/.wh..wh..opq"), b""), (entry("c/x"), b"1"),
            (entry(".wh.d"), b""), (entry("d", tarfile.DIRTYPE, 0o755), None), (entry("d/y"), b"2"))
        mark = os.lstat(os.path.join(tree, "a/b"))
        self.assertTrue(stat.S_ISCHR(mark.st_mode) and mark.st_rdev == 0)
        for name in ("c", "d"):
            self.assertEqual(os.getxattr(os.path.join(tree, name), "user.overlay.opaque"), b"y")
        self.assertEqual((os.listdir(os.path.join(tree, "c")), os.listdir(os.path.join(tree, "d"))), (["x"], ["y"]))

    def test_modes_times_and_devices(self):
        tree = self.unpack((entry("su", mode=0o6711), b"x"), (entry("ro", tarfile.DIRTYPE, 0o555), None),
                           (entry("ro/f", mode=0o000), b"y"), (entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3), None),
                           (entry("pipe", tarfile.FIFOTYPE, 0o644), None))
        modes = {name: stat.S_IMODE(os.lstat(os.path.join(tree, name)).st_mode) for name in ("su", "ro", "ro/f", "pipe")}
        self.assertEqual(modes, {"su": 0o711, "ro": 0o755, "ro/f": 0o600, "pipe": 0o644})
        null = os.lstat(os.path.join(tree, "null"))  # as a removed file is
        self.assertEqual((stat.S_IFMT(null.st_mode), null.st_rdev), (stat.S_IFCHR, 0))
        self.assertTrue(all(os.lstat(os.path.join(tree, name)).st_mtime == 1_000_000_000 for name in modes))
        self.assertEqual(self.image("inspect", self.name("app")).json()["layers"][0]["left_out"], 1)

    def test_names_are_bytes(self):
        name = os.fsdecode(b"caf\xe9")
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            tree = self.unpack((entry(name), b""), (entry("ž" * 100), b""), form=form)
            self.assertEqual(set(os.listdir(tree)), {name, "ž" * 100})

    def test_a_bomb(self):
        sparse = entry("huge", size=1 << 50)
        self.registry.add("app", Image(sparse.tobuf()))
        self.refuses(2, "MiB of files")
        self.assertEqual(self.layers(), [])


if __name__ == "__main__":
    harness.main()
