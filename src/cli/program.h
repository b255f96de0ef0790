/* Reads programs: from a file, or from stdin. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"
#include "base/buf.h"
#include "base/err.h"

#include <limits.h>

enum { PROGRAM_MAX_BYTES = 16 << 20 };

/*
 * Append the content of @path; "-" is stdin.
 * Blocks:  until its end.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT: over the maximum of @out; ERR_USAGE: a directory.
 */
int program_read(const char *path, struct buf *out, struct err *err);

/* Where a program's file is in its box. */
struct program_place {
	char name[PATH_MAX]; /* its argv[0], which names it from the workspace */
	char src[PATH_MAX];  /* the file to be bound to @dst; "" if it need not be bound */
	char dst[PATH_MAX];
};

/*
 * Find a place for the file @path, so that the program, and whatever it starts, can read it again:
 * below the workspace, where its own name leads to it; in /tmp when @order has a directory of the
 * host for workspace that does not hold it, since nothing may be made there. A file that cannot be
 * bound (a pipe, one that was removed) has no place, and its name stays as it is.
 */
void program_place(const char *path, const struct order *order, struct program_place *out);

/* Its name in tracebacks: "<stdin>" for "-", "<string>" for NULL. */
const char *program_name(const char *path);
