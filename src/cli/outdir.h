/* Writes files of the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Identifies a written file, whose name may since belong to another. */
struct outdir_file {
	dev_t dev;
	ino_t ino;
};

/* Open the directory @path; it is made if necessary. Owns: the caller closes. Errors: ERR_ACCESS.
 */
int outdir_open(const char *path, struct err *err);

/*
 * Write a file below @dir_fd, atomically. @path comes from a box: a path that leads out or through
 * a link is refused. Pages of zeros become holes, because a box can make huge files of them at no
 * cost. Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put(int dir_fd, const char *path, const void *data, size_t bytes,
	struct outdir_file *file, struct err *err);

/* Link @path to @file, which was written to @first. Returns: negative errno, with nothing made, if
 * @first is another file now, or if links are not supported. */
int outdir_link(int dir_fd, const char *first, const struct outdir_file *file, const char *path);

/*
 * Write the file that the user named, atomically; links are followed, and devices and pipes are
 * written directly. Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put_at(const char *path, const void *data, size_t bytes, struct err *err);

/* The same, if the file does not exist yet. Returns: -EEXIST, with ERR_ACCESS, if it does. */
int outdir_put_new(const char *path, const void *data, size_t bytes, struct err *err);
