/* The text of a program: a file, or standard input. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

enum { PROGRAM_MAX_BYTES = 16 << 20 };

/*
 * Append what @path holds; "-" is standard input.
 * Blocks:  until its end.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT over the maximum of @out, ERR_USAGE for a
 * directory.
 */
int program_read(const char *path, struct buf *out, struct err *err);

/* How tracebacks call it: "<stdin>" for "-", "<string>" for NULL. */
const char *program_name(const char *path);
