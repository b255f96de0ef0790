/* Copies files out of a workspace. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * Copies files from the workspace @fd to the directory @out_fd (both borrowed). A file with several
 * names is copied once and its copy gets the same names: a box with a limited disk could otherwise
 * fill the host's disk. Without hard links on the host, each further name becomes a copy; the total
 * size of such copies is limited by @again_bytes_max.
 * Owns: the caller calls copy_out_done().
 */
struct copy_out {
	int fd, out_fd;
	uint64_t again_bytes_max;
	uint64_t again_bytes;
	struct copied_file *copied; /* copied files that have several names */
	size_t n_copied, room;
};

/*
 * Copy the regular file @path to the same path in @out_fd; parent directories are made, at most
 * WIRE_DIRS_MAX. A failed copy leaves no file behind.
 * Errors: ERR_IO, ERR_NO_SPACE, ERR_ACCESS, ERR_LIMIT.
 */
int copy_out_file(struct copy_out *c, const char *path, struct err *err);
void copy_out_done(struct copy_out *c);
