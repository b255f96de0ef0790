/* Files of the host that are written. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Which file was written: its name may be another's by now. */
struct outdir_file {
	dev_t dev;
	ino_t ino;
};

/*
 * Open @path, made when it is not there. Owns: the caller closes. Errors: ERR_ACCESS.
 */
int outdir_open(const char *path, struct err *err);

/*
 * Write a file below @dir_fd, whole or not at all. @path comes from a box: one that leads out, or
 * through a link, is refused. Pages of zeros are holes: a box has those for nothing.
 * Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put(int dir_fd, const char *path, const void *data, size_t bytes,
	struct outdir_file *file, struct err *err);

/*
 * Make @path another name of @file, which was written to @first. Returns: negative errno, with
 * nothing made, when that is another file now, or where there are no such links.
 */
int outdir_link(int dir_fd, const char *first, const struct outdir_file *file, const char *path);

/*
 * Write the file that the user named, whole or not at all: links are followed, and a device or a
 * pipe is written to.
 * Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put_at(const char *path, const void *data, size_t bytes, struct err *err);

/* The same where nothing is yet. Returns: -EEXIST, with ERR_ACCESS, when something is. */
int outdir_put_new(const char *path, const void *data, size_t bytes, struct err *err);
