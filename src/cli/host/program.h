/* Source files of programs: from a path, or from stdin. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "base/buf.h"
#include "base/err.h"

#include <limits.h>

enum { PROGRAM_MAX_BYTES = 16 << 20 };

/*
 * Append the content of the file @path; "-" is stdin.
 * Blocks:  until the end of the file.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT: over the maximum of @out; ERR_USAGE: a directory.
 */
int program_read(const char *path, struct buf *out, struct err *err);

/* The place of a program's file in the box. */
struct program_place {
	char name[PATH_MAX]; /* argv[0] of the program, which names the file from the workspace */
	char src[PATH_MAX];  /* host file to be bound to @dst; "": no bind mount is necessary */
	char dst[PATH_MAX];
};

/*
 * Find a place for the file @path in the box, so that the program and its children can read the
 * file: below the workspace, under its own name; or in /tmp if the workspace is a directory of the
 * host that does not contain the file, because no file may be created there. A file that cannot be
 * bound (a pipe, a removed file) has no place, and its name is not changed.
 */
void program_place(const char *path, const struct order *order, struct program_place *out);

/* Return the program's name in tracebacks: "<stdin>" for "-", "<string>" for NULL. */
const char *program_name(const char *path);
