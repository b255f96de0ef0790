/* Reads a program from a file or from stdin, and chooses where in the box the program's file is.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "base/buf.h"
#include "base/err.h"

#include <limits.h>

enum { PROGRAM_MAX_BYTES = 16 << 20 };

/*
 * Append the content of the file @path to @out. If @path is "-", read stdin.
 * Blocks: until the end of the file.
 * Errors: ERR_NOT_FOUND, ERR_ACCESS; ERR_LIMIT: over the maximum of @out; ERR_USAGE: a directory.
 */
int program_read(const char *path, struct buf *out, struct err *err);

/* Where the program's file is in the box. */
struct program_place {
	/* argv[0] of the program: the file's path in the box, as seen from the workspace. */
	char name[PATH_MAX];
	/* Path of the program's file on the host, to be mounted at the path `dst` in the box. If
	 * `src` is "", the file need not be mounted. */
	char src[PATH_MAX];
	char dst[PATH_MAX];
};

/*
 * Choose a place in the box for the program's file @path, so that the program and its children can
 * read the file:
 * - Usually the place is in the workspace, under the file's own name.
 * - If the workspace is a directory of the host that contains the file, the place is where the file
 * is already.
 * - If the workspace is a directory of the host that does not contain the file, the place is in
 * /tmp, because nothing may be added to that directory.
 * - A file that cannot be mounted, such as a pipe or a removed file, has no place and keeps its
 * name.
 */
void program_place(const char *path, const struct order *order, struct program_place *out);

/* Return the name of the program in tracebacks: "<stdin>" for the path "-", "<string>" for NULL. */
const char *program_name(const char *path);
