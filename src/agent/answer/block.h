/* Code that a model sent as a tool call, although the prompt asks for a block of Markdown.
 * Models that are trained on tools do this. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/reply.h"

#include <stdbool.h>

/* A tool call that runs code. */
struct block_call {
	const char *runtime; /* static text that names the language; NULL if the call names none */
	char *code;	     /* the code; the caller frees it */
};

/*
 * Read a call of the tool @name. Its arguments are {"code": …, "language": …}; some models use
 * other names for these two members. If @arguments is not JSON, it is taken as the code itself.
 * Returns: 1: the call runs code; 0: it does not, or its language is unknown; -ENOMEM.
 */
int block_read(struct block_call *out, const char *name, const char *arguments, size_t bytes);

/*
 * Find the first call in @text that begins a line: functions.run_code({…}), run_code({…}),
 * {"language": …, "code": …}, {"thought": …, "code": …} or {"name": "run_code", "arguments": {…}}.
 * The text of the call extends from *@at to *@end.
 * Returns: 1: found; 0: no call; -EINVAL: the call is incomplete, and only *@at is set; -ENOMEM.
 */
int block_find(struct block_call *out, const char *text, size_t bytes, size_t *at, size_t *end);

/*
 * Return @reply in the only form that the loop reads: the text of the reply, followed by a block
 * with the code of its first tool call that runs code. If the text already has a block of code,
 * return the text alone. Set *@is_other if the reply calls tools, but none that runs code.
 * Owns:    the caller frees; NULL if memory is exhausted.
 */
char *block_text(const struct reply *reply, bool *is_other);
