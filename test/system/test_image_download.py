# SPDX-License-Identifier: Apache-2.0
"""Images on their way into the store: several engines at it, registries that misbehave, and files that others have."""

import fcntl
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc  # noqa: E402
import web  # noqa: E402
from image_case import Case  # noqa: E402
from registry_fake import Image, Registry, archive, digest, entry, layer  # noqa: E402

IDENTITY = "user"
BIG = random.Random(2).randbytes(3 << 20)
SPARSE_BYTES = 60 << 30
FAST = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % server.getsockname()[1], flush=True)
client, _ = server.accept()
client.recv(65536)
print("begins", flush=True)
chunk, n = b"x" * (1 << 20), int(sys.argv[1])
client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % (n << 20))
for _ in range(n):
    client.sendall(chunk)
print("over", flush=True)
client.recv(1)
"""


class Together(Case):
    def start(self, *args):
        process = subprocess.Popen([harness.RETORT, "image", *args, "--state", self.state], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=harness.environment(), text=True, start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def end(self, *processes):
        for process in processes:
            said, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, said)

    def test_images_that_share_layers_in_another_order(self):
        """Nobody waits for a layer of somebody who waits for one of his."""
        layers = [layer({f"f{i}": bytes([i]) * 1000}) for i in range(8)]
        for number in range(3):
            fresh = [layer({f"f{number}.{i}": bytes([i]) * 1000}) for i in range(4)]
            self.registry.add(f"up{number}", Image(*layers, *fresh))
            self.registry.add(f"down{number}", Image(*reversed(layers), *reversed(fresh)))
        names = [name for number in range(3) for name in (f"up{number}", f"down{number}")]
        self.end(*[self.start("pull", self.name(name)) for name in names])
        self.assertEqual(len(self.names()), 6)
        self.assertEqual(len(self.layers()), 20)
        self.assertEqual(self.downloads(), [])

    def test_the_same_archive(self):
        data = archive([(entry("etc/motd"), b"hello\n"), (entry("big"), BIG)])
        path = os.path.join(self.state, "system.tar")
        with open(path, "wb") as f:
            f.write(data)
        self.end(*[self.start("import", path, f"words:{i % 2}") for i in range(6)])
        self.assertEqual(self.names(), ["words:0", "words:1"])
        self.assertEqual(self.layers(), [hashlib.sha256(data).hexdigest()])

    def test_images_come_while_others_go(self):
        """What is removed is never what another engine has just put there."""
        for number in range(4):
            self.registry.add(f"app{number}", Image(layer({"shared": b"1"}), layer({"own": bytes([number])})))
        for _ in range(5):
            self.end(*[self.start("pull", self.name(f"app{i}")) for i in range(4)])
            for name in self.names():
                about = self.image("inspect", name, "--json").json()
                self.assertTrue(all(os.path.isdir(self.tree(about, i)) for i in range(2)))
            removals = [self.start("rm", self.name(f"app{i}")) for i in range(3)]
            pulls = [self.start("pull", self.name("app0")), self.start("prune")]
            for process in (*removals, *pulls):
                process.communicate(timeout=60)
            for name in self.names():
                about = self.image("inspect", name, "--json").json()
                self.assertTrue(all(os.path.isdir(self.tree(about, i)) for i in range(2)), about)

    def test_another_engine_that_stands_still(self):
        image = Image(layer({"a": BIG}))
        self.registry.add("app", image)
        self.registry.slow = threading.Event()
        part = os.path.join(self.state, "downloads", digest(image.layers[0])[7:])
        first = self.start("pull", self.name("app"))
        self.assertTrue(web.wait(lambda: os.path.exists(part) and os.path.getsize(part) > 1 << 19))
        os.killpg(first.pid, signal.SIGSTOP)
        with Registry() as other:
            other.add("app", image)
            self.pull(registry=other)
        self.assertEqual(self.downloads(), [os.path.basename(part)])
        self.registry.slow.set()
        os.killpg(first.pid, signal.SIGCONT)
        self.end(first)
        self.assertEqual((len(self.names()), len(self.layers()), self.downloads()), (2, 1, []))

    def test_an_engine_answers_while_it_downloads(self):
        """However fast the registry is: it sends faster than the engine computes digests."""
        n_mib = 500
        image = Image(layer({"a": b"1"}))
        whole = hashlib.sha256(b"x" * (n_mib << 20)).hexdigest()
        image.manifest["layers"][0].update(digest="sha256:" + whole, size=n_mib << 20)
        self.registry.add("app", image)
        fast = subprocess.Popen([sys.executable, "-c", FAST, str(n_mib)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(fast.communicate)
        self.addCleanup(fast.kill)
        self.registry.redirect = types.SimpleNamespace(host=fast.stdout.readline().strip())
        with rpc.Engine("--standby", "0", state=self.state) as engine:
            pulling, client = engine.client(), engine.client()
            number = pulling.send("image.pull", name=self.name("app"))
            self.assertEqual(fast.stdout.readline(), "begins\n")
            over = threading.Event()
            watch = threading.Thread(target=lambda: (fast.stdout.readline(), over.set()))
            watch.start()
            n = 0
            while not over.is_set():
                client("engine.info")
                n += 1
            watch.join()
            self.assertEqual(pulling.receive()[0], number)
        self.assertGreater(n, 50)


class Parts(Case):
    def test_a_part_that_was_wrong(self):
        """The first half comes from a registry that sends other bytes."""
        image = Image(layer({"a": BIG}))
        with Registry() as bad:
            bad.add("app", image)
            bad.blobs[digest(image.layers[0])] = b"x" * len(image.layers[0])
            bad.cut_after = [len(image.config)] + [2 << 20] * 50
            bad.retry_after = "60"
            process = subprocess.Popen([harness.RETORT, "image", "pull", self.name("app", bad), "--state", self.state],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment())
            part = os.path.join(self.state, "downloads", digest(image.layers[0])[7:])
            self.assertTrue(web.wait(lambda: os.path.exists(part) and os.path.getsize(part) == 2 << 20))
            process.terminate()
            process.wait()
        self.registry.add("app", image)
        about = self.pull()
        with open(os.path.join(self.tree(about), "a"), "rb") as f:
            self.assertEqual(f.read(), BIG)
        ranges = [headers.get("Range") for _, path, headers in self.registry.asked if digest(image.layers[0]) in path]
        self.assertEqual(ranges, ["bytes=2097152-", None])

    def test_answers_that_begin_elsewhere(self):
        """They are not taken, and the whole layer is asked for."""
        image = Image(layer({"a": BIG}))
        self.registry.add("app", image)
        for text in ("bytes 0-3145727/3145728", "bytes */*", "bytes 1048577-2/3"):
            self.registry.range = text
            self.registry.cut_after = [len(image.config), 1 << 20]
            self.registry.asked.clear()
            self.pull()
            ranges = [headers.get("Range") for _, path, headers in self.registry.asked if digest(image.layers[0]) in path]
            self.assertEqual(ranges, [None, "bytes=1048576-", None])
            self.image("rm", self.name("app"))

    def test_connections_that_are_cut(self):
        """A registry without TLS stays one."""
        image = Image(layer({"a": BIG}))
        for drops in ([1], [2], [3, 4], [1, 3]):
            with Registry() as registry:
                registry.add("app", image)
                registry.drops = drops
                self.pull(registry=registry)
                self.image("rm", self.name("app", registry))

    def test_layers_that_are_there_are_kept_for_another_try(self):
        image = Image(*[layer({"a": bytes([i])}) for i in range(4)])
        self.registry.add("app", image)
        del self.registry.blobs[digest(image.layers[3])]  # of which three come at a time
        self.refuses(4, "blob unknown")
        layers = self.layers()
        self.assertTrue(layers)
        self.assertEqual(self.image("prune", "--keep", "1h").status, 0)
        self.assertEqual(self.layers(), layers)
        self.assertEqual(self.image("prune").status, 0)
        self.assertEqual(self.layers(), [])

    def test_a_layer_that_nobody_could_keep(self):
        image = Image(layer({"a": b"1"}))
        image.manifest["layers"][0]["size"] = 1 << 50
        self.registry.add("app", image)
        self.refuses(2, "a layer of 1024 TiB, limit 64 GiB")

    def test_a_mirror_and_the_registry_fail(self):
        with Registry() as mirror:
            mirror.says = b'{"errors": [{"message": "out of order"}]}'
            done = self.refuses(2, "no image " + self.name("app"), "app", "--mirror", f"{self.registry.host}={mirror.host}")
            self.assertIn(f"; the mirror: {mirror.host}: status 418: out of order", done.err)


class Records(Case):
    """Nothing is removed of which nobody knows that nobody needs it."""

    def setUp(self):
        super().setUp()
        self.registry.add("app", Image(layer({"a": b"1"})))
        self.pull()

    def test_a_record_that_cannot_be_read(self):
        where = os.path.join(self.state, "images", "-")
        path = os.path.join(where, os.listdir(where)[0])
        os.chmod(path, 0)
        if not harness.IS_ROOT:
            done = self.image("prune")
            self.assertEqual(done.status, 2, done)
            self.assertIn("not all records of layers can be read, so none is removed: Permission denied", done.err)
        self.assertEqual(len(self.layers()), 1)
        os.chmod(path, 0o600)
        self.assertEqual(len(self.names()), 1)

    def test_no_more_descriptors(self):
        """However many there are, no layer goes that an image has."""
        n_removed = 0
        with rpc.Engine("--standby", "0", state=self.state) as engine:
            caller = engine.client()
            self.assertEqual(len(caller("image.list")["images"]), 1)
            for most in range(8, 60):
                resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, (most, 1000))
                try:
                    caller("image.prune")
                    n_removed += 1
                except rpc.Failed as error:
                    self.assertIn("Too many open files", str(error))
                self.assertEqual(len(self.layers()), 1, most)
        self.assertGreater(n_removed, 0)
        self.assertLess(n_removed, 52)

    def test_an_engine_that_stands_still_with_a_lock(self):
        self.registry.add("other", Image(layer({"b": b"2"})))
        fd = os.open(os.path.join(self.state, "layers"), os.O_RDONLY)
        self.addCleanup(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX)
        done = self.image("pull", self.name("other"))
        self.assertEqual(done.status, 1, done)
        self.assertIn("Device or resource busy", done.err)
        self.assertEqual(self.image("prune").status, 1)


class Names(Case):
    def setUp(self):
        super().setUp()
        self.image_of(b"1", "app")
        self.about = self.pull()

    def image_of(self, data, *names):
        image = Image(layer({"a": data}))
        for name in names:
            self.registry.add(name, image)

    def inspect(self, name):
        return self.image("inspect", name, "--json").json()["name"]

    def test_a_name_comes_before_a_digest(self):
        name = self.about["digest"][:12]
        path = os.path.join(self.state, "other.tar")
        with open(path, "wb") as f:
            f.write(archive([(entry("b"), b"2")]))
        self.assertEqual(self.inspect(name), self.name("app") + ":latest")
        self.assertEqual(self.image("import", path, name).status, 0)
        self.assertEqual(self.inspect(name), f"docker.io/library/{name}:latest")
        self.assertEqual(self.inspect("sha256:" + name), self.name("app") + ":latest")
        self.assertEqual(self.image("rm", name).status, 0)
        self.assertEqual(self.names(), [self.name("app") + ":latest"])
        self.assertEqual(self.image("rm", "sha256:" + self.about["digest"]).status, 0)
        self.assertEqual(self.names(), [])

    def test_one_image_with_two_names(self):
        self.image_of(b"1", "again")
        self.pull("again")
        for text in (self.about["digest"][:8], "sha256:" + self.about["digest"]):
            done = self.image("rm", text)
            self.assertEqual(done.status, 2, done)
            self.assertIn("several names: " + ", ".join(self.names()), done.err)
        self.assertEqual(len(self.names()), 2)

    def test_no_such_digest(self):
        done = self.image("rm", "sha256:" + "0" * 64)
        self.assertEqual(done.status, 2, done)
        self.assertIn("no image on this host has the digest sha256:000", done.err)


class Files(Case):
    def layout(self, image, name, sparse=False):
        where = tempfile.mkdtemp(dir=self.state)
        blobs = os.path.join(where, "blobs", "sha256")
        os.makedirs(blobs)
        text = json.dumps(image.manifest).encode()
        for data in (*image.blobs.values(), text):
            with open(os.path.join(blobs, digest(data)[7:]), "wb") as f:
                f.write(data)
        for row in image.manifest["layers"] if sparse else ():
            os.truncate(os.path.join(blobs, row["digest"][7:]), SPARSE_BYTES)
        rows = [{"digest": digest(text), "size": len(text), "annotations": {"org.opencontainers.image.ref.name": name}}]
        for file, document in (("oci-layout", {}), ("index.json", {"schemaVersion": 2, "manifests": rows})):
            with open(os.path.join(where, file), "w", encoding="ascii") as f:
                json.dump(document, f)
        return where

    def test_names_that_an_image_gives_itself(self):
        image = Image(layer({"a": b"1"}))
        for name in ("v1", "debian@sha256:" + "1" * 64):
            done = self.image("import", self.layout(image, name))
            self.assertEqual(done.status, 2, done)
            self.assertIn(f'but only "{name[:55]}', done.err)
            self.assertIn("import PATH NAME", done.err)
        self.assertEqual(self.image("import", self.layout(image, "v1"), "words", "--ref", "v1").status, 0)
        self.assertEqual(self.names(), ["words:latest"])

    def test_a_file_of_another_size(self):
        image = Image(layer({"a": b"1"}))
        done = self.image("import", self.layout(image, "app:1", sparse=True))
        self.assertEqual(done.status, 1, done)
        self.assertIn(f"has {SPARSE_BYTES} bytes, and should have {len(image.layers[0])}", done.err)

    def test_large_files_are_read_beside_other_work_and_no_longer_than_wanted(self):
        image = Image(*[layer({"a": bytes([i])}) for i in range(4)])
        for row in image.manifest["layers"]:
            row["size"] = SPARSE_BYTES
        path = self.layout(image, "app:1", sparse=True)
        with rpc.Engine("--standby", "0", state=self.state) as engine:
            importing, client = engine.client(), engine.client()
            importing.send("image.import", path=path, stream=True)
            self.assertEqual(importing.receive()[1]["params"]["event"], "progress")
            for _ in range(20):
                self.assertEqual(client("image.list")["images"], [])
        self.assertEqual(self.layers(), [])

    def test_a_file_that_grows(self):
        path = os.path.join(self.state, "system.tar")
        with open(path, "wb") as f:
            f.write(archive([(entry("big"), BIG)]))
        os.chmod(path, 0o666)
        over = threading.Event()

        def grow():
            with open(path, "ab", buffering=0) as f:
                while not over.is_set() and f.tell() < 1 << 29:
                    f.write(b"\0" * 4096)

        thread = threading.Thread(target=grow)
        thread.start()
        done = self.image("import", path, "words")
        over.set()
        thread.join()
        self.assertEqual(done.status, 1, done)
        self.assertIn("system.tar has changed while it was read: import it again while nobody writes to it", done.err)
        self.assertEqual((self.layers(), self.downloads()), ([], []))

    def test_events_of_an_archive(self):
        path = os.path.join(self.state, "system.tar")
        with open(path, "wb") as f:
            f.write(archive([(entry("big"), BIG * 3)]))
        with rpc.Engine("--standby", "0", state=self.state) as engine:
            client = engine.client()
            number, said = client.send("image.import", path=path, name="words", stream=True), {}
            layers = []
            while said.get("id") != number:
                _, said = client.receive()
                layers.append(said.get("params", {}).get("layer"))
        self.assertEqual(set(layers), {"archive", None})
        self.assertEqual(said["result"]["short_name"], "words:latest")


if __name__ == "__main__":
    harness.main()
