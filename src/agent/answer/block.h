/* Code that a model sent as a tool call instead of a block, as models trained on tools do. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"

#include <stdbool.h>

/* The code of a call. */
struct block_call {
	const char *runtime; /* language, static; NULL: the call does not name one */
	char *code;	     /* the code; the caller frees it */
};

/*
 * Read the arguments of a call of @name: {"code": …, "language": …} in the spellings that models
 * use; arguments that are not JSON are taken as the code itself.
 * Returns: 1: the call is code; 0: it is not, or its language is unknown; -ENOMEM.
 */
int block_read(struct block_call *out, const char *name, const char *arguments, size_t bytes);

/*
 * Find the first call at the beginning of a line of @text: functions.run_code({…}), run_code({…}),
 * {"language": …, "code": …}, {"thought": …, "code": …}, {"name": "run_code", "arguments": {…}}.
 * *@at and *@end are the limits of the call.
 * Returns: 1: found; 0: no call; -EINVAL: an incomplete call; -ENOMEM.
 */
int block_find(struct block_call *out, const char *text, size_t bytes, size_t *at, size_t *end);

/*
 * Convert @reply to the only form that the loop reads: its text, then its first tool call that is
 * code, as a block. A text that already has a block is not changed.
 * Owns:    the caller frees; NULL without memory. *@is_other: the reply calls tools, but none that
 *          runs code.
 */
char *block_text(const struct reply *reply, bool *is_other);
