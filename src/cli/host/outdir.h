/* Writes output files on the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* The identity of a file that was written. By it, outdir_link() finds out whether a name still
 * belongs to this file. */
struct outdir_file {
	dev_t dev;
	ino_t ino;
};

/* Open the directory @path. Create it if it does not exist. Owns: the caller closes the
 * descriptor. Errors: ERR_ACCESS. */
int outdir_open(const char *path, struct err *err);

/*
 * Write a file below @dir_fd, atomically. @path comes from a box, so it is refused if it leaves
 * @dir_fd or passes through a symbolic link. Pages of zeros become holes, because a box can create
 * huge files of zeros at no cost. @file: filled with the identity of the file; may be NULL.
 * Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put(int dir_fd, const char *path, const void *data, size_t bytes,
	struct outdir_file *file, struct err *err);

/* Make @path a hard link to a file that was written before. @first: the name under which it was
 * written. @file: its identity. Returns: 0; or negative errno, for example if @first belongs to
 * another file now, or if the file system has no hard links. After a failure, no link was made. */
int outdir_link(int dir_fd, const char *first, const struct outdir_file *file, const char *path);

/*
 * Write a file that the user named, atomically. Symbolic links are followed. A device or pipe is
 * written directly.
 * Errors: ERR_ACCESS, ERR_NO_SPACE, ERR_IO.
 */
int outdir_put_at(const char *path, const void *data, size_t bytes, struct err *err);

/* Write a file that must not exist yet. Returns: 0; -EEXIST, with ERR_ACCESS, if it exists; or
 * negative errno. */
int outdir_put_new(const char *path, const void *data, size_t bytes, struct err *err);
