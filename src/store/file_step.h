/* A file that a client wrote or removed, as a step. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/*
 * A node like any other, with the parent, the digest and the place in the log of one. Its runtime
 * is "file", its code is "write PATH" or "remove PATH" for who reads the log, and its record says
 * {"act": "write" or "remove", "path", "sha256", "size"}, the last two of what was written. The
 * bytes are a blob of that digest; in a recording they stand in the step's line.
 */
enum { FILE_STEP_PATH_BYTES = 4096 };

struct file_step {
	bool is_removal;
	char path[FILE_STEP_PATH_BYTES]; /* relative to the workspace */
	char digest[DIGEST_BYTES];
	uint64_t size_bytes;
};

bool file_step_is(const struct journal_node *node);

/*
 * Make it a node: runtime, code, record, status and outcome. Owns: *@text, which the node's texts
 * point into; the caller frees. Errors: ERR_USAGE (the path is no UTF-8), ERR_NO_MEMORY.
 */
int file_step_write(
	const struct file_step *file, struct journal_node *node, char **text, struct err *err);

/* Errors: ERR_DAMAGED: it is a file's, and does not say what it must. */
int file_step_read(struct file_step *out, const struct journal_node *node, struct err *err);
