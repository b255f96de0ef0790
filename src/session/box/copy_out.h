/* Files of a workspace, copied out of it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/*
 * Copies many files from workspace @fd to directory @out_fd (both borrowed). A file with several
 * names is copied once and gets those names again, since a box whose disk is bounded could
 * otherwise fill the host's disk. If the host has no hard links, each further name is a copy; such
 * copies have
 * @again_bytes_max together. Owns: the caller calls copy_out_done().
 */
struct copy_out {
	int fd, out_fd;
	uint64_t again_bytes_max;
	uint64_t again_bytes;
	struct copied_file *copied; /* files with several names */
	size_t n_copied, room;
};

/*
 * Copy the regular file @path to the same path there; parent directories are made, WIRE_DIRS_MAX at
 * most. A failed copy leaves nothing behind.
 * Errors: ERR_IO, ERR_NO_SPACE, ERR_ACCESS, ERR_LIMIT.
 */
int copy_out_file(struct copy_out *c, const char *path, struct err *err);
void copy_out_done(struct copy_out *c);
