/* The code in what a model wrote. No system calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum extract_kind {
	EXTRACT_NOTHING, /* white space, or thoughts only */
	EXTRACT_TEXT,	 /* no code: what it says may be its answer */
	EXTRACT_CODE,
};

/* Places are bytes of the text. */
struct extract {
	enum extract_kind kind;
	const char *runtime; /* static; NULL: not said */
	size_t code_at, code_bytes;
	unsigned indent; /* blanks at most that are not the code's in front of each line */
	bool is_closed;	 /* the end of the code was written too */
	bool is_bare;	 /* it is in no block: all of the text looks like code */
	size_t end; /* what counts of the text: what a model writes behind its code, it invented */
	unsigned n_more; /* blocks of code behind the first, which are not taken */
};

/*
 * Find the first block of code.
 *
 * Shape:   a fence of backticks or tildes with the tag of a runtime, or without tag around what
 *          looks like code; <execute>, <execute_python>, <execute_ipython>, <execute_bash>,
 *          <execute_javascript>, <execute_sql>, <code>, <run_code> at the start of a line, with or
 *          without a fence inside; or a text that is nothing but Python. Thoughts in front
 *          (<think>…</think>) are skipped. A block that does not end goes to the end of the text,
 *          without half a closing tag, and not into an observation that was made up.
 * Source:  the fences are those of CommonMark 0.31, section 4.5.
 */
void extract_code(const char *text, size_t bytes, struct extract *out);

/* The runtime that a tag ("py", "JavaScript") stands for. Returns: whether it is known. */
bool extract_runtime(const char *tag, size_t bytes, const char **runtime);

/* Append the code without its indentation. Returns: 0, -E2BIG, -ENOMEM. */
int extract_write(struct buf *out, const char *text, const struct extract *e);

/* Is the first block whole, so that no more of the text need be waited for? Looks at all of it:
 * worth asking when a line or a tag has ended. */
bool extract_is_whole(const char *text, size_t bytes);
