/*
 * The files of a layer: a directory tree that a program has made, which nobody trusts. The
 * functions follow no link, enter no mount, and wait for no FIFO.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

enum {
	LAYER_FILES_MAX = 500000, /* files, directories and links of one layer */
	LAYER_DEPTH_MAX = 100,	  /* directories in directories */
};

struct layer_sum {
	/* layer_seal(): SHA-256 of names, kinds, execute bits, contents and targets of links */
	char digest[DIGEST_BYTES];
	uint64_t bytes; /* of the contents, or of the disk if that is more */
	uint64_t files; /* without directories */
};

/*
 * Add what is in the directory @fd to *@sum. Programs may change it meanwhile. Directories whose
 * owner lacks a right to them are changed: the owner gets all rights.
 * Blocks: for the time of the walk.
 * Errors: ERR_LIMIT: there is more than @max_bytes, or than the limits above allow; ERR_IO.
 */
int layer_measure(int fd, uint64_t max_bytes, struct layer_sum *sum, struct err *err);

/*
 * Make the tree what boxes may be shown, and name it by its content. Every file can then be read by
 * everybody, and written by its owner; it can be executed if anybody could. The same is true for
 * the directory @fd itself. Set-id bits and extended attributes are removed, which overlays would
 * obey, and what is no file, directory or link. Nobody may change the tree meanwhile. Blocks,
 * errors: as layer_measure().
 */
int layer_seal(int fd, uint64_t max_bytes, struct layer_sum *out, struct err *err);

/* Remove everything in the directory @fd, whatever its modes. Returns: 0 or negative errno. */
int layer_clear(int fd);
