# SPDX-License-Identifier: Apache-2.0
"""Small systems for images, made of programs of this host, and a place with a registry where tests run them."""

import io
import os
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile

import harness
from registry_fake import Image, Registry, layer

PYTHON = os.path.realpath("/usr/bin/python3")
LIBRARY = sysconfig.get_path("stdlib")
# What no test needs of the standard library.
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "lib2to3", "pydoc_data", "ensurepip", "config-*", "distutils",
            "turtle*", "*.opt-*", "site-packages", "dist-packages")


def loaded(*programs):
    return subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout


def libraries(*programs):
    """The files that the loader needs for them, and the loader."""
    return {word for word in loaded(*programs).split() if word.startswith("/") and not word.endswith(":")}


def driver_libraries():
    """Nothing, but with sanitizers the drivers of the shell and of SQL are not static: what they load."""
    top = os.path.dirname(harness.RETORT)
    places = (f"{top}/drivers", f"{os.path.dirname(top)}/share/retort")  # as built, as installed
    programs = [path for d in places for name in ("shell", "sql") if os.path.exists(path := f"{d}/{name}/retort-{name}")]
    return libraries(*programs) if "libasan" in loaded(*programs) else set()


def put(where, *paths):
    """Copy files of the host to the same places in a system."""
    for path in paths:
        os.makedirs(os.path.dirname(where + path), exist_ok=True)
        if not os.path.exists(where + path):
            shutil.copy(os.path.realpath(path), where + path)


def make_base(where):
    """busybox with its links, and bash, which sessions start with. There is no /etc."""
    os.makedirs(where + "/bin")
    shutil.copy("/bin/busybox", where + "/bin/busybox")
    names = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in set(names) - {"busybox"}:
        os.symlink("busybox", f"{where}/bin/{name}")
    put(where, "/bin/bash", *libraries("/bin/bash"), *driver_libraries())


def make_python(where):
    """The interpreter of this host, with most of its standard library."""
    shutil.copytree(LIBRARY, where + LIBRARY, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    modules = os.path.join(LIBRARY, "lib-dynload")
    ctypes = [os.path.join(modules, name) for name in os.listdir(modules) if name.startswith("_ctypes.")]
    put(where, PYTHON, *libraries(PYTHON, *ctypes))
    if not os.path.lexists(where + "/usr/bin/python3"):
        os.symlink(os.path.basename(PYTHON), where + "/usr/bin/python3")


def archived(where):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(where, ".")
    return out.getvalue()


def pull_system(state, where, name, **config):
    """Pull an image of one system into a state directory. Returns: its whole name."""
    with Registry() as registry:
        put(where, *driver_libraries())
        registry.add(name, Image(archived(where), packed=None, **config))
        whole = f"{registry.host}/{name}"
        done = harness.retort("image", "pull", whole, env={"RETORT_STATE": state})
        assert done.status == 0, done
        return whole


class Place:
    """A state directory and a registry. Of each system there is an archive, for layers."""

    def __init__(self):
        self.state = tempfile.mkdtemp(prefix="i", dir=harness.TMP)
        self.base_dir, self.python_dir = (os.path.join(self.state, "made", name) for name in ("base", "python"))
        make_base(self.base_dir)
        make_python(self.python_dir)
        self.base, self.python = archived(self.base_dir), archived(self.python_dir)
        self.registry = Registry()
        self.env = {"RETORT_STATE": self.state}

    def close(self):
        self.registry.close()
        shutil.rmtree(self.state, ignore_errors=True)

    def add(self, name, *layers, python=False, files=None, links=None, **config):
        """Add an image to the registry: the base, more layers, and one with files. Returns: its whole name."""
        layers = [self.base, *([self.python] if python else []), *layers]
        if files or links:
            layers.append(layer(files or {}, links=links or {}))
        self.registry.add(name, Image(*layers, packed=None, **config))
        return f"{self.registry.host}/{name}"

    def pull(self, name, *args, **more):
        """As add(), and pull it. Returns: (its whole name, what `retort image pull --json` says)."""
        whole = self.add(name, *args, **more)
        done = harness.retort("image", "pull", "--json", whole, env=self.env)
        assert done.status == 0, done
        return whole, done.json()

    def tree(self, about, number=-1):
        return os.path.join(self.state, "layers", about["layers"][number]["digest"], "tree")

    def run(self, *args, **more):
        return harness.retort("run", *args, env=self.env, **more)
