/* Output files on the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* The identity of a written file, whose name another file may have taken since. */
struct outdir_file {
	dev_t dev;
	ino_t ino;
};

/* Open the directory @path, and create it if necessary. Owns: the caller closes. Errors:
 * ERR_ACCESS. */
int outdir_open(const char *path, struct err *err);

/*
 * Write a file below @dir_fd, atomically. @path comes from a box: a path that leaves @dir_fd or
 * passes through a link is refused. Pages of zeros become holes, because a box can create huge
 * files of zeros at no cost.
 * Errors:  ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put(int dir_fd, const char *path, const void *data, size_t bytes,
	struct outdir_file *file, struct err *err);

/* Link @path to @file, which was written to @first. Returns: negative errno, without a new file, if
 * @first is another file now, or if links are not supported. */
int outdir_link(int dir_fd, const char *first, const struct outdir_file *file, const char *path);

/*
 * Write a file that the user named, atomically; links are followed, and devices and pipes are
 * written directly.
 * Errors:  ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put_at(const char *path, const void *data, size_t bytes, struct err *err);

/* Write a file that must not exist yet. Returns: -EEXIST, with ERR_ACCESS, if it exists. */
int outdir_put_new(const char *path, const void *data, size_t bytes, struct err *err);
