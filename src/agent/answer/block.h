/* Code that a model sent as a tool call instead of a block: models that were trained on tools do
 * that. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"

#include <stdbool.h>

/* One block of code. */
struct block_call {
	const char *runtime; /* static; NULL: the call does not name one */
	char *code;	     /* the caller frees */
};

/*
 * Read the arguments of a call of @name: {"code": …, "language": …} in the spellings that models
 * use; arguments that are not JSON are taken as the code itself. Returns: 1: code; 0: not code, or
 * in an unknown language; -ENOMEM.
 */
int block_read(struct block_call *out, const char *name, const char *arguments, size_t bytes);

/*
 * The first call at the beginning of a line of @text: functions.run_code({…}), run_code({…}),
 * {"language": …, "code": …}, {"thought": …, "code": …}, {"name": "run_code", "arguments": {…}}.
 * *@at and *@end are its place.
 * Returns: 1; 0: no call; -EINVAL: an incomplete call; -ENOMEM.
 */
int block_find(struct block_call *out, const char *text, size_t bytes, size_t *at, size_t *end);

/*
 * Bring @reply into the one form that a loop understands: its text, then its first tool call that
 * is code, as a block. A text that has a block already stays as it is. Owns:    the caller frees;
 * NULL without memory.
 * *@is_other: it calls tools, but none that runs code.
 */
char *block_text(const struct reply *reply, bool *is_other);
