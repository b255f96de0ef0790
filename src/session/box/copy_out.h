/* Copies files out of a workspace. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * Copies files from the workspace @fd to the directory @out_fd (both borrowed).
 * A file with several names is copied once, and its other names become hard links to the copy.
 * Otherwise a box with a limited disk could fill the host's disk. If the host's file system has no
 * hard links, each further name becomes a copy, and @again_bytes_max limits the total size of these
 * copies.
 * Owns: the caller calls copy_out_done().
 */
struct copy_out {
	int fd, out_fd;
	uint64_t again_bytes_max;
	uint64_t again_bytes;
	struct copied_file *copied; /* the copied files that have several names */
	size_t n_copied, room;
};

/*
 * Copy the regular file @path to the same path in @out_fd. Missing parent directories are made, at
 * most WIRE_DIRS_MAX. After a failure, no partial file remains.
 * Errors: ERR_IO, ERR_NO_SPACE, ERR_ACCESS, ERR_LIMIT.
 */
int copy_out_file(struct copy_out *c, const char *path, struct err *err);
void copy_out_done(struct copy_out *c);
