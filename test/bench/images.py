#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to get an image from a registry and to unpack it, against skopeo with umoci, and podman.

usage: images.py RETORT [--rounds N] [--megabytes N]

The image is made of files of this host: one layer of that size, and one that removes some of them. Debian's
docker-registry serves it on loopback. Rows take turns, in rounds, each into an empty directory; a ratio is taken within
its round:
  retort          retort image pull
  retort, again   the same when the layers are there
  skopeo, umoci   skopeo copy to an OCI layout, then umoci unpack
  podman          podman pull, if it is installed
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from bench import machine
from processes import table
from service import calibration, clock_ms, save

import test_images  # noqa: E402

PLACES = ("/usr/lib/python3", "/usr/share", "/usr/include", "/usr/lib/gcc", "/usr/lib/x86_64-linux-gnu")


def files(most):
    """Files of this host, in order, until they have @most bytes."""
    total = 0
    for place in PLACES:
        for at, dirs, names in os.walk(place):
            dirs.sort()
            for name in sorted(names):
                path = os.path.join(at, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                total += os.path.getsize(path)
                if total > most:
                    return
                yield path


def image(most):
    rows, removed = [], []
    for i, path in enumerate(files(most)):
        with open(path, "rb") as f:
            rows.append((test_images.entry(path[1:]), f.read()))
        if i % 100 == 0:
            at, _, name = path[1:].rpartition("/")
            removed.append((test_images.entry(f"{at}/.wh.{name}"), b""))
    base = test_images.archive(rows, form=tarfile.GNU_FORMAT)
    return test_images.Image(base, test_images.archive(removed)), len(base), len(rows)


def run(*argv, env=None):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)


def timed(work):
    start = clock_ms()
    work()
    return clock_ms() - start


def measure(retort, name, rounds):
    rows = ["retort", "retort, again"]
    rows += ["skopeo, umoci"] if shutil.which("skopeo") and shutil.which("umoci") else []
    rows += ["podman"] if shutil.which("podman") else []
    samples = {row: [] for row in rows}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="retort-bench-") as there:
            state, layout, bundle = (os.path.join(there, part) for part in ("state", "layout", "bundle"))
            pull = lambda: run(retort, "image", "pull", name, "--state", state)  # noqa: E731
            samples["retort"].append(timed(pull))
            samples["retort, again"].append(timed(pull))
            if "skopeo, umoci" in samples:
                samples["skopeo, umoci"].append(timed(lambda: (
                    run("skopeo", "copy", "--src-tls-verify=false", f"docker://{name}", f"oci:{layout}:t"),
                    run("umoci", "unpack", *([] if os.geteuid() == 0 else ["--rootless"]), "--image", f"{layout}:t", bundle))))
            if "podman" in samples:
                root = ["podman", "--root", os.path.join(there, "podman"), "--runroot", os.path.join(there, "run")]
                samples["podman"].append(timed(lambda: run(*root, "pull", "-q", "--tls-verify=false", name)))
                run(*root, "rmi", "-af")
    return samples


def main():
    parser = argparse.ArgumentParser(description="measure pulls of images")
    parser.add_argument("retort")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--megabytes", type=int, default=200)
    args = parser.parse_args()
    retort = os.path.abspath(args.retort)
    if not shutil.which("docker-registry") or not shutil.which("skopeo"):
        print("images: no docker-registry or no skopeo: not measured")
        return
    print(f"bare python3: {calibration():.1f} ms")
    found = [machine()]
    with tempfile.TemporaryDirectory(prefix="retort-bench-") as there:
        made, size, n_files = image(args.megabytes << 20)
        layout = os.path.join(there, "layout")
        test_images.write_layout(made, layout, "t")
        registry = test_images.Registry(there)
        try:
            name = f"{registry.host}/bench:1"
            run("skopeo", "copy", "--dest-tls-verify=false", f"oci:{layout}:t", f"docker://{name}")
            samples = measure(retort, name, args.rounds)
        finally:
            registry.close()
    packed = sum(map(len, made.layers))
    found.append(table(f"an image of {size >> 20} MiB ({packed >> 20} MiB packed), {n_files} files", samples, "retort"))
    save(retort, "images", found)
    print(f"bare python3: {calibration():.1f} ms")


if __name__ == "__main__":
    main()
