/* What a model wants to have run. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/reply.h"

#include "base/buf.h"

enum extract_kind {
	EXTRACT_NONE, /* it said nothing */
	EXTRACT_CODE,
	EXTRACT_TEXT, /* no code: what it says may be the answer */
};

enum { EXTRACT_CODE_BYTES = 4 << 20 };

/* Done with extract_done(). */
struct extract {
	enum extract_kind kind;
	const char *runtime; /* "python", "javascript", "sql", "shell" */
	struct buf text;     /* the code; or the text, without reasoning and invented results */
	size_t kept_bytes;   /* of the reply's text, up to the end of the code: what to remember */
	bool has_more; /* something followed, and was dropped: more blocks, invented results */
	const char *call_id; /* of the tool call that it was, borrowed from the reply; or NULL */
};

/*
 * Find the first piece of code in what a model answered.
 *
 * Shape:   in this order: a call of a tool with a parameter `code`; a block that agent/fence.h
 * finds, whole or to the end of the text; {"code": …} as text; a fence of no language, or all of
 * the text, when it looks like Python. What stands in <think> at the beginning does not count.
 *          Without an end of its own, code ends where a line begins with "Observation:" or the
 * like. Limits:  EXTRACT_CODE_BYTES. Owns:    extract_done(), also after a failure. Returns: 0;
 * -E2BIG, -ENOMEM.
 */
int extract_reply(struct extract *out, const struct reply *reply);
void extract_done(struct extract *e);

/* Does it look like Python rather than prose: no line that is none, and one that does something. */
bool extract_is_python(const char *text, size_t bytes);
