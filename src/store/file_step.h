/* File steps: a file that a client wrote or removed, recorded as a step.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/*
 * A file step is a node like any other: it has a parent, a digest and a place in the log. Its
 * runtime is "file". Its code, "write PATH" or "remove PATH", is for readers of the log. Its record
 * is {"act": "write", "path", "sha256", "size"} or {"act": "remove", "path"}. The content is the
 * blob with the digest "sha256". A recording has the content in the line of the step.
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
 * Make the step that records @file: fill the members runtime, code, record, status and outcome of
 * @node. These members point into *@text, which this function allocates.
 * Owns: the caller frees *@text, but not before it has finished with @node.
 * Errors: ERR_USAGE (the path is not UTF-8), ERR_NO_MEMORY.
 */
int file_step_write(
	const struct file_step *file, struct journal_node *node, char **text, struct err *err);

/* Read the record of a file step. Errors: ERR_DAMAGED if the record is malformed. */
int file_step_read(struct file_step *out, const struct journal_node *node, struct err *err);
