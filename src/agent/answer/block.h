/* Code that a model wrote as a call of a tool: what those do that were taught to. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"

#include <stdbool.h>

/* Whole, with the runtime it is in. */
struct block_call {
	const char *runtime; /* static; NULL: not said */
	char *code;	     /* the caller frees */
};

/*
 * Read the arguments of a call of @name: {"code": …, "language": …} in the spellings that models
 * have for them, or what is no JSON as the code itself.
 * Returns: 1: it is one; 0: it is none, or in no language that is known; -ENOMEM.
 */
int block_read(struct block_call *out, const char *name, const char *arguments, size_t bytes);

/*
 * The first call at the beginning of a line of @text: functions.run_code({…}), run_code({…}),
 * {"language": …, "code": …}, {"thought": …, "code": …}, {"name": "run_code", "arguments": {…}}.
 * *@at and *@end are its place.
 * Returns: 1; 0: there is none; -EINVAL: one that is not whole; -ENOMEM.
 */
int block_find(struct block_call *out, const char *text, size_t bytes, size_t *at, size_t *end);

/*
 * What @reply says, calls included, in the one form that a loop knows: text, and behind it the
 * first call that is code, as a block. A text with a block stays as it is.
 * Owns:    the caller frees; NULL without memory.
 * *@is_other: it calls something, and nothing that is code.
 */
char *block_text(const struct reply *reply, bool *is_other);
