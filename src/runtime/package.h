/* Which packages an interpreter of the host has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/*
 * Append those that matter to work with data, with their versions: "numpy 1.24.2, pandas 1.5.3".
 * Only names of directories are read. @interpreter is as of a runtime_request: NULL is the usual.
 * Returns: how many; 0 when none is known.
 */
size_t package_list(const char *interpreter, struct buf *out);

/* Which of @list, as package_list() has them, is meant by @module, the name of one that is missing:
 * spelled otherwise, or called as what one installs. Returns: the name to import, or NULL. */
const char *package_near(const char *list, const char *module);

/*
 * Is there a file or a directory that @module can be imported from? Only names are looked at, and
 * what is built in, or in a place of its own, is not seen: so false is not known.
 */
bool package_has(const char *interpreter, const char *module);
