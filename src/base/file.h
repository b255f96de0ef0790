/* Whole files: read up to a maximum, written so that a reader sees the old or the new one.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* The code for an errno of open(2), read(2), write(2), rename(2) and the like. */
enum err_code file_code(int sys);

/*
 * Append all that is left to read of @fd to @out, whose maximum is the bound.
 * Blocks:  as the descriptor does.
 * Returns: 0; -E2BIG when there is more than fits; or negative errno. What was read stays in @out.
 */
int file_read_fd(struct buf *out, int fd);

/*
 * Append the regular file @path to @out, whose maximum is the bound.
 * Returns: 0; -EINVAL when it is not a regular file; -E2BIG when it does not fit; or negative
 * errno.
 */
int file_read(struct buf *out, const char *path);

/*
 * The same, and says why not: "@what @path: …", as in "the key file /k: not a regular file".
 * Errors:  ERR_USAGE, not a regular file; ERR_LIMIT, over the maximum of @out; or file_code().
 */
int file_load(struct buf *out, const char *path, const char *what, struct err *err);

/*
 * Make the directory @path with mode @mode and what is missing above it with @parents.
 * Returns: 0, also when something is there already; or negative errno.
 */
int file_make_dirs(const char *path, mode_t mode, mode_t parents);

enum file_put {
	FILE_PUT_NEW = 1,  /* -EEXIST when there is something of that name */
	FILE_PUT_SYNC = 2, /* on the disk before it has its name */
};

/*
 * Write a file beside its place in directory @dir, under a name that nobody can guess, and move it
 * there whole. @mode is what it has in the end, whatever the umask. @flags: of enum file_put.
 * Returns: 0; or negative errno, and what was there stays.
 */
int file_put(
	int dir, const char *name, const void *data, size_t bytes, mode_t mode, unsigned flags);
