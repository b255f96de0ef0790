# SPDX-License-Identifier: Apache-2.0
"""Libraries that images load next to their own libc: /usr/bin/python3 -I test_libc.py DRIVER_DIR [unittest args]

An image's libc may be older than this host's, or musl. So the Python driver's extension module must need no library,
no version of a symbol, and no symbol that such a libc lacks.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MODULE = None
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


def needed():
    """The symbols that the module must find: {name}, without those of Python."""
    return {name for binding, is_defined, name, _ in symbols(MODULE)
            if not is_defined and binding == "GLOBAL" and not re.match("_?Py", name)}


class Module(unittest.TestCase):
    def test_it_needs_no_library(self):
        self.assertEqual(re.findall(r"\((?:NEEDED|VERNEED)\).*", output("readelf", "-W", "-d", MODULE)), [])

    def test_an_old_glibc_has_every_symbol(self):
        """By the oldest version under which this host's glibc has each symbol."""
        maps = output(sys.executable, "-c", "print(open('/proc/self/maps').read())")
        libraries = {path for path in re.findall(r"\S*/(?:libc|ld-linux\S*|libc-\S*)\.so\S*", maps)}
        if not libraries:
            self.skipTest("this host's Python has no glibc")
        oldest = {}
        for path in libraries:
            for _, is_defined, name, version in symbols(path):
                number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
                if is_defined and number:
                    version = (int(number[1]), int(number[2]))
                    oldest[name] = min(oldest.get(name, version), version)
        self.assertGreater(len(needed()), 50)
        for name in sorted(needed()):
            with self.subTest(name):
                self.assertLessEqual(oldest.get(name, (99, 0)), GLIBC_OLDEST)

    @unittest.skipUnless(MUSL_GCC and glob.glob("/lib/ld-musl-*.so.1"), "no musl")
    def test_musl_has_every_symbol(self):
        names = sorted({name for _, is_defined, name, _ in symbols(MODULE) if not is_defined and re.match("_?Py", name)})
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "loader.c"), os.path.join(folder, "loader")
            with open(source, "w", encoding="ascii") as f:
                f.write(LOADER + "".join(f"long {name};\n" for name in names))
            output(MUSL_GCC, "-rdynamic", "-o", program, source)
            done = subprocess.run([program, MODULE], stdout=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    MODULE = os.path.join(os.path.realpath(sys.argv.pop(1)), "_retort.abi3.so")
    unittest.main(verbosity=2)
