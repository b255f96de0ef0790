/* Reading of whole files up to a maximum size, and atomic replacement of files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Map an errno of open(2), read(2), write(2), rename(2) and similar calls to an error code. */
enum err_code file_code(int sys);

/*
 * Append the rest of the file @fd to @out, up to the maximum of @out.
 * Blocks:  unless @fd is non-blocking.
 * Returns: 0; -E2BIG when there is more than fits; or negative errno. The bytes read before a
 * failure stay in @out.
 */
int file_read_fd(struct buf *out, int fd);

/*
 * Append the regular file @path to @out, up to the maximum of @out.
 * Returns: 0; -EINVAL when it is not a regular file; -E2BIG when it does not fit; or negative
 * errno.
 */
int file_read(struct buf *out, const char *path);

/*
 * Read a file like file_read() and describe a failure in @err. @what names the file for the user:
 * with "the key file" the message is "the key file /k: not a regular file".
 * Errors: ERR_USAGE, not a regular file; ERR_LIMIT, over the maximum of @out; or file_code().
 */
int file_load(struct buf *out, const char *path, const char *what, struct err *err);

/*
 * Make the directory @path with mode @mode, and its missing parents with mode @parents.
 * Returns: 0, also when @path exists already; or negative errno.
 */
int file_make_dirs(const char *path, mode_t mode, mode_t parents);

enum file_put {
	FILE_PUT_NEW = 1, /* fail with -EEXIST when the name exists */
	/* Flush the file to disk before it gets its final name. Flush the directory afterwards. */
	FILE_PUT_SYNC = 2,
};

/*
 * Write a file under a random name in the directory @dir, then give it the name @name in one step.
 * A reader sees either the old content or the new. @mode is the exact mode of the file; the umask
 * is ignored. @flags is a set of enum file_put bits.
 * Returns: 0; or negative errno. After a failure an existing file is unchanged.
 */
int file_put(
	int dir, const char *name, const void *data, size_t bytes, mode_t mode, unsigned flags);
