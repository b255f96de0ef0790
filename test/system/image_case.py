# SPDX-License-Identifier: Apache-2.0
"""What the tests of images share: a store, a registry, and what is in them."""

import os
import tempfile

import harness
from registry_fake import Registry


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = tempfile.mkdtemp(prefix="i", dir=harness.TMP)
        self.registry = Registry()
        self.addCleanup(self.registry.close)

    def image(self, *args, env=None, **more):
        return harness.retort("image", *args, "--state", self.state, env=env, **more)

    def name(self, name, registry=None):
        return f"{(registry or self.registry).host}/{name}"

    def pull(self, name="app", *args, registry=None, env=None):
        done = self.image("pull", self.name(name, registry), "--json", *args, env=env)
        self.assertEqual(done.status, 0, done)
        return done.json()

    def refuses(self, status, text, name="app", *args, **more):
        done = self.image("pull", self.name(name), *args, **more)
        self.assertEqual(done.status, status, done)
        self.assertIn(text, done.err)
        self.assertEqual(self.names(), [])
        return done

    def names(self):
        done = self.image("ls", "-q")
        self.assertEqual(done.status, 0, done)
        return done.out.splitlines()

    def layers(self):
        path = os.path.join(self.state, "layers")
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def downloads(self):
        path = os.path.join(self.state, "downloads")
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def tree(self, about, number=0):
        return os.path.join(self.state, "layers", about["layers"][number]["digest"], "tree")

    def system(self, files=()):
        """A directory with files {path: bytes}."""
        where = tempfile.mkdtemp(dir=self.state)
        for path, data in dict(files).items():
            os.makedirs(os.path.dirname(os.path.join(where, path)), exist_ok=True)
            with open(os.path.join(where, path), "wb") as f:
                f.write(data)
        return where
