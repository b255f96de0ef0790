# SPDX-License-Identifier: Apache-2.0
"""Compile a driver's modules at build time, which saves each run some milliseconds.

  usage: compile.py DIRECTORY [STAMP]

Without STAMP, DIRECTORY is below $DESTDIR if that is set. The compiled files are not checked against the
sources at run time: both are installed together, and a box cannot write to them."""

import compileall
import os
import py_compile
import sys

directory = sys.argv[1]
if len(sys.argv) == 2:
    directory = os.environ.get("DESTDIR", "") + directory
ok = compileall.compile_dir(
    directory, quiet=1, force=True, stripdir=directory, prependdir="/retort/python.importlib._bootstrap",
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
if ok and len(sys.argv) > 2:
    with open(sys.argv[2], "w", encoding="utf-8"):
        pass
sys.exit(0 if ok else 1)
