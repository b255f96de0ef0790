/* Which packages an interpreter of the host has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/*
 * Append the packages that matter for work with data, with their versions: "numpy 1.24.2, pandas
 * 1.5.3". Only the names of directories are read. @interpreter as in a runtime_request; NULL: the
 * usual one. Returns: how many packages were found.
 */
size_t package_list(const char *interpreter, struct buf *out);

/* Which package of @list (as package_list() writes it) is meant by the missing module @module: a
 * misspelling, or the name of a distribution. Returns: the name to import, or NULL. */
const char *package_near(const char *list, const char *module);

/*
 * Is there a file or a directory that @module can be imported from? Only names are looked at:
 * built-in modules and unusual places are not found, so false means "unknown".
 */
bool package_has(const char *interpreter, const char *module);
