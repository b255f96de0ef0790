/* Find the packages that a Python interpreter of the host has, without running it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* Append the installed packages that matter for work with data, with their versions: "numpy
 * 1.24.2, pandas 1.5.3". Only names of directories are read. @interpreter: as in struct
 * runtime_request; NULL: the usual one. Returns: the number of packages. */
size_t package_list(const char *interpreter, struct buf *out);

/*
 * Find the package that a program meant by @module, a module that does not exist. @module may be a
 * misspelled name, or the name of a distribution: for "pillow", the result is "PIL". @list: the
 * installed packages, from package_list().
 * Returns: the name to import, or NULL.
 */
const char *package_near(const char *list, const char *module);

/* Return whether a file or directory exists from which @module could be imported. Built-in
 * modules have no file, and only the usual directories are searched, so false means "unknown". */
bool package_has(const char *interpreter, const char *module);
