/* The description of a file. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Describe the file @name of the directory @dir (or AT_FDCWD), which is called @path: {name, path,
 * type, size, mode, owner, group, uid, gid, modified_ms, modified_ns, link?, link_mode?,
 * attributes?, inexact?}. A symbolic link has its own size, owner and time, and the type and mode
 * of what it leads to. @st: set to what lstat() says. Returns: a new object; NULL and @err.
 */
json_t *entry_make(int dir, const char *name, const char *path, struct stat *st, struct err *err);

/* Describe the file at @path. */
json_t *entry_at(const char *path, struct err *err);

/* Whether a path leads to a directory. */
bool entry_is_directory(const char *path);
