# SPDX-License-Identifier: Apache-2.0
"""`retort image import`: images from files, directories and pipes."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import web  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import Image, archive, digest, entry, layer  # noqa: E402

IDENTITY = "user"


class Imports(Case):
    def setUp(self):
        super().setUp()
        self.made = Image(layer({"etc/motd": b"hello\n"}), layer({"b": b"b"}, removed=["etc/motd"]), Env=["A=b"])

    def layout(self, image=None, *, name="app:1", more=()):
        """An OCI layout with images: [(image, name)]."""
        where = tempfile.mkdtemp(dir=self.state)
        blobs = os.path.join(where, "blobs", "sha256")
        os.makedirs(blobs)
        rows = []
        for one, called in ((image or self.made, name), *more):
            text = json.dumps(one.manifest).encode()
            for data in (*one.blobs.values(), text):
                with open(os.path.join(blobs, digest(data)[7:]), "wb") as f:
                    f.write(data)
            rows.append({"digest": digest(text), "size": len(text), "annotations": {"org.opencontainers.image.ref.name": called}})
        for file, text in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", {"schemaVersion": 2, "manifests": rows})):
            with open(os.path.join(where, file), "w", encoding="ascii") as f:
                json.dump(text, f)
        return where

    def saved(self, image=None, tags=("app:1",)):
        """What docker save has written for years: layers by name, of which some are links to others."""
        image = image or self.made
        config = hashlib.sha256(image.config).hexdigest() + ".json"
        rows = [(entry(config), image.config)]
        paths = []
        for i, data in enumerate(image.layers):
            paths.append(f"{i}/layer.tar")
            rows.append((entry(f"{i}/real.tar"), data))
            rows.append((entry(paths[-1], tarfile.SYMTYPE, link="real.tar"), None))
        rows.append((entry("manifest.json"), json.dumps([{"Config": config, "RepoTags": list(tags), "Layers": paths}]).encode()))
        return archive(rows)

    def file(self, data, name="archive"):
        path = os.path.join(self.state, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def packed(self, where):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.add(where, ".")
        return out.getvalue()

    def take(self, *args, stdin=b""):
        done = self.image("import", *args, "--json", stdin=stdin)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(self.downloads(), [])
        self.assertEqual([name for name in self.layers() if name.startswith("building")], [])
        return done.json()

    def check(self, about, name="app:1"):
        self.assertEqual((about["short_name"], about["config"]["env"], len(about["layers"])), (name, ["A=b"], 2))
        with open(os.path.join(self.tree(about), "etc/motd"), encoding="ascii") as f:
            self.assertEqual(f.read(), "hello\n")
        self.assertEqual(self.image("rm", name).status, 0)
        self.assertEqual(self.layers(), [])

    def fails(self, status, text, *args, stdin=b""):
        done = self.image("import", *args, stdin=stdin)
        self.assertEqual(done.status, status, done)
        self.assertIn(text, done.err)
        self.assertEqual((self.names(), self.layers(), self.downloads()), ([], [], []))

    def test_layouts_and_archives(self):
        where = self.layout()
        for source in (where, self.file(self.packed(where)), self.file(gzip.compress(self.packed(where))), self.file(self.saved())):
            self.check(self.take(source))
        self.check(self.take("-", stdin=self.packed(where)))
        self.check(self.take("-", "other:2", stdin=gzip.compress(self.saved())), "other:2")

    def test_layers_are_those_of_a_registry(self):
        self.registry.add("app", self.made)
        pulled = self.pull()
        about = self.take(self.layout())
        self.assertEqual((about["layers"], about["digest"], len(self.layers())), (pulled["layers"], pulled["digest"], 2))

    def test_the_files_of_a_system(self):
        where = tempfile.mkdtemp(dir=self.state)
        os.makedirs(os.path.join(where, "etc"))
        with open(os.path.join(where, "etc", "motd"), "w", encoding="ascii") as f:
            f.write("hello\n")
        os.symlink("etc/motd", os.path.join(where, "m"))
        os.mkfifo(os.path.join(where, "fifo"))
        tar = self.packed(where)
        for args, stdin in (((where, "system"), b""), ((self.file(tar), "system"), b""), (("-", "system"), gzip.compress(tar))):
            about = self.take(*args, stdin=stdin)
            self.assertEqual((about["short_name"], about["bytes"], len(about["layers"])), ("system:latest", 6, 1))
            tree = self.tree(about)
            self.assertEqual((os.readlink(os.path.join(tree, "m")), os.listdir(os.path.join(tree, "etc"))), ("etc/motd", ["motd"]))
            self.assertEqual(self.image("rm", "system").status, 0)
        self.assertEqual(self.layers(), [])

    def test_names(self):
        where = self.layout(name="1.2")
        self.fails(2, "has no name for the image", where)
        self.check(self.take(where, "words"), "words:latest")
        self.fails(2, "no name of an image", where, "Words")
        self.fails(2, "has no digest", where, "words@sha256:" + "0" * 64)
        self.check(self.take(self.layout(name="localhost/app:1")), "localhost/app:1")
        self.fails(2, "unexpected", where, "a", "b")

    def test_one_of_several(self):
        other = Image(layer({"x": b"x"}))
        where = self.layout(more=[(other, "other:1")])
        self.fails(2, "there are several images: app:1, other:1", where)
        self.check(self.take(where, "--ref", "app:1"))
        self.check(self.take(where, "--ref", "docker.io/library/app:1"))
        self.fails(2, 'no image is called "nope", but: app:1, other:1', where, "--ref", "nope")
        self.fails(2, 'no image is called "nope", but: app:1', self.file(self.saved()), "--ref", "nope")
        self.check(self.take(self.file(self.saved(tags=("a:1", "b:2"))), "--ref", "b:2"), "b:2")

    def test_for_other_platforms(self):
        other = Image(layer({"x": b"x"}), architecture="s390x")
        self.fails(2, "the image is for linux/s390x", self.layout(other))
        self.fails(2, "the image is for linux/s390x", self.file(self.saved(other)))

    def test_what_is_damaged(self):
        where = self.layout()
        path = os.path.join(where, "blobs", "sha256", digest(self.made.layers[0])[7:])
        with open(path, "r+b") as f:
            f.write(b"X")
        self.fails(1, "its file is damaged", where)
        os.remove(path)
        self.fails(2, "the image has no file blobs/sha256", where)
        os.mkfifo(path)
        self.fails(1, "is no file", where)
        os.remove(os.path.join(where, "blobs", "sha256", digest(self.made.config)[7:]))
        self.fails(2, "the image has no file blobs/sha256", where)
        for text, says in ((b"[", "is no JSON"), (b"{}", "names no image"), (b'{"manifests": [1]}', "without a SHA-256")):
            with open(os.path.join(where, "index.json"), "wb") as f:
                f.write(text)
            self.fails(1, says, where)
        data = self.saved()
        self.fails(2, "no tar archive", self.file(b"no archive" * 1000))
        self.fails(2, "no tar archive", self.file(data[:1500]))
        self.fails(2, "nothing came on stdin", "-", "x")
        self.fails(2, "No such file", os.path.join(self.state, "nope"))
        os.mkfifo(os.path.join(self.state, "fifo"))
        self.fails(2, "neither a file nor a directory", os.path.join(self.state, "fifo"))

    def test_a_system_with_a_file_that_is_called_so(self):
        """manifest.json may be anybody's."""
        about = self.take(self.file(layer({"manifest.json": b'{"name": "an app"}', "a": b"1"})), "app")
        self.assertEqual((len(about["layers"]), about["files"]), (1, 2))

    def test_what_cannot_be_read(self):
        where = tempfile.mkdtemp(dir=self.state)
        path = os.path.join(where, "secret")
        with open(path, "w", encoding="ascii") as f:
            f.write("x")
        os.chmod(path, 0)
        if not harness.IS_ROOT:
            self.fails(2, "secret cannot be read", where, "system")

    def test_a_killed_import_leaves_nothing_for_long(self):
        pipe, end = os.pipe()
        process = subprocess.Popen([harness.RETORT, "image", "import", "-", "x", "--state", self.state], stdin=pipe,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment())
        os.close(pipe)
        os.write(end, b"x" * 1000)
        self.assertTrue(web.wait(lambda: self.downloads() != []))
        self.assertEqual(self.image("prune").status, 0)
        self.assertNotEqual(self.downloads(), [])  # it is still at it
        process.kill()
        process.wait()
        os.close(end)
        self.assertEqual(self.image("prune").status, 0)
        self.assertEqual(self.downloads(), [])

    def test_only_the_operator(self):
        where = self.layout()
        with web.Server("--state", self.state, tokens="ann " + "a" * 32 + "\n") as server:
            with self.assertRaises(web.Failed) as caught:
                server.rpc("image.import", {"Authorization": "Bearer " + "a" * 32}, path=where)
            self.assertEqual(caught.exception.code, "denied")


if __name__ == "__main__":
    harness.main()
