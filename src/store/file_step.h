/* File steps: a file that a client wrote or removed, recorded as a step.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/* A file step is a node like any other: it has a parent, a digest and a place in the log. Its
 * runtime is "file". Its code, "write PATH" or "remove PATH", is for readers of the log. Its
 * record is {"act": "write" or "remove", "path", "sha256", "size"}; a removal has only the first
 * two. The content is a blob with that digest; a recording has it in the line of the step. */
enum { FILE_STEP_PATH_BYTES = 4096 };

struct file_step {
	bool is_removal;
	char path[FILE_STEP_PATH_BYTES]; /* path relative to the workspace */
	char digest[DIGEST_BYTES];
	uint64_t size_bytes;
};

bool file_step_is(const struct journal_node *node);

/* Fill runtime, code, record, status and outcome of @node. Owns: the caller frees *@text, into
 * which the node's texts point. Errors: ERR_USAGE (the path is not UTF-8), ERR_NO_MEMORY. */
int file_step_write(
	const struct file_step *file, struct journal_node *node, char **text, struct err *err);

/* Read the record of a file step. Errors: ERR_DAMAGED: the record is malformed. */
int file_step_read(struct file_step *out, const struct journal_node *node, struct err *err);
