/* Reading of whole files up to a maximum, and atomic replacement of files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Map an errno of open(2), read(2), write(2), rename(2) and similar calls to an error code. */
enum err_code file_code(int sys);

/*
 * Append the rest of @fd to @out, whose maximum is the bound.
 * Blocks:  as the descriptor does.
 * Returns: 0; -E2BIG when there is more than fits; or negative errno. The bytes read so far stay
 *          in @out.
 */
int file_read_fd(struct buf *out, int fd);

/*
 * Append the regular file @path to @out, whose maximum is the bound.
 * Returns: 0; -EINVAL when it is not a regular file; -E2BIG when it does not fit; or negative
 * errno.
 */
int file_read(struct buf *out, const char *path);

/*
 * Read like file_read(), with an error message "@what @path: …", as in "the key file /k: not a
 * regular file".
 * Errors: ERR_USAGE, not a regular file; ERR_LIMIT, over the maximum of @out; or file_code().
 */
int file_load(struct buf *out, const char *path, const char *what, struct err *err);

/*
 * Make the directory @path with mode @mode, and its missing parents with mode @parents. Returns:
 * 0, also when the path exists already; or negative errno.
 */
int file_make_dirs(const char *path, mode_t mode, mode_t parents);

enum file_put {
	FILE_PUT_NEW = 1,  /* fail with -EEXIST when the name exists */
	FILE_PUT_SYNC = 2, /* flush the file to disk before it gets its name */
};

/*
 * Write a file under a random name in directory @dir, then rename it to @name, so that readers see
 * either the old or the new content. @mode is the final mode, independent of the umask. @flags: of
 * enum file_put.
 * Returns: 0; or negative errno, and an existing file is unchanged.
 */
int file_put(
	int dir, const char *name, const void *data, size_t bytes, mode_t mode, unsigned flags);
