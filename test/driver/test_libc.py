# SPDX-License-Identifier: Apache-2.0
"""Libraries that images load next to their own libc: /usr/bin/python3 -I test_libc.py DRIVER_DIR [unittest args]

An image's libc may be older than this host's, or musl. So the Python driver's extension module, and the library that
--seed preloads, must need no version of a symbol, and no symbol that such a libc lacks.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARIES = {}  # path: the libraries that it may need
GLIBC_OLDEST = (2, 28)  # of Debian 10 and of manylinux_2_28
MUSL_GCC = shutil.which(f"{os.uname().machine}-linux-musl-gcc") or shutil.which("musl-gcc")
# A program of musl that loads the library it is given, and says what is missing.
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	if (!library)
		puts(dlerror());
	return !library;
}
"""


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(path):
    """What readelf says of each dynamic symbol: (binding, is_defined, name, version or '')."""
    for line in output("readelf", "-W", "--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            name, _, version = fields[7].replace("@@", "@").partition("@")
            yield fields[4], fields[6] != "UND", name, version


def is_pythons(name):
    return re.match("_?Py", name) is not None


def needed(path):
    """The symbols that the library must find: {name}, without those of Python."""
    return {name for binding, is_defined, name, _ in symbols(path)
            if not is_defined and binding == "GLOBAL" and not is_pythons(name)}


def oldest_versions():
    """The oldest version under which this host's glibc has each symbol: {name: (2, N)}, empty without glibc."""
    oldest = {}
    maps = output(sys.executable, "-c", "print(open('/proc/self/maps').read())")
    for path in set(re.findall(r"\S*/(?:libc|ld-linux\S*|libc-\S*)\.so\S*", maps)):
        for _, is_defined, name, version in symbols(path):
            number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
            if is_defined and number:
                version = (int(number[1]), int(number[2]))
                oldest[name] = min(oldest.get(name, version), version)
    return oldest


class Libraries(unittest.TestCase):
    def test_no_library_and_no_version(self):
        for path, may_need in LIBRARIES.items():
            with self.subTest(path):
                found = re.findall(r"\((NEEDED|VERNEED)\)\s+([^\n]*)", output("readelf", "-W", "-d", path))
                self.assertLessEqual({text for _, text in found}, {f"Shared library: [{name}]" for name in may_need})

    def test_an_old_glibc_has_every_symbol(self):
        oldest = oldest_versions()
        if not oldest:
            self.skipTest("this host's Python has no glibc")
        for path in LIBRARIES:
            self.assertGreater(len(needed(path)), 20)
            for name in sorted(needed(path)):
                with self.subTest(path, name=name):
                    self.assertLessEqual(oldest.get(name, (99, 0)), GLIBC_OLDEST)

    @unittest.skipUnless(MUSL_GCC and glob.glob("/lib/ld-musl-*.so.1"), "no musl")
    def test_musl_has_every_symbol(self):
        for path in LIBRARIES:
            names = {name for _, is_defined, name, _ in symbols(path) if not is_defined and is_pythons(name)}
            with self.subTest(path), tempfile.TemporaryDirectory() as folder:
                source, program = os.path.join(folder, "loader.c"), os.path.join(folder, "loader")
                with open(source, "w", encoding="ascii") as f:
                    f.write(LOADER + "".join(f"long {name};\n" for name in sorted(names)))
                output(MUSL_GCC, "-rdynamic", "-o", program, source)
                done = subprocess.run([program, path], stdout=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    drivers = os.path.dirname(os.path.realpath(sys.argv.pop(1)))
    LIBRARIES[os.path.join(drivers, "python", "_retort.abi3.so")] = ()
    LIBRARIES[os.path.join(drivers, "still", "still.so")] = ("libdl.so.2",)  # has dlsym() in an old glibc
    unittest.main(verbosity=2)
