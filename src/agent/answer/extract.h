/* The code in a model's reply. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum extract_kind {
	EXTRACT_NOTHING, /* white space or thoughts only */
	EXTRACT_TEXT,	 /* no code: the text may be the answer */
	EXTRACT_CODE,
};

/* Places are offsets in bytes. */
struct extract {
	enum extract_kind kind;
	const char *runtime; /* static; NULL: the block does not name one */
	size_t code_at, code_bytes;
	unsigned indent; /* this many blanks in front of each line are not part of the code */
	bool is_closed;	 /* its closing line was written */
	bool is_bare;	 /* not in a block: the whole text looks like code */
	size_t end;	 /* the end of what counts: text behind the code is dropped */
	unsigned n_more; /* further blocks of code, which are ignored */
};

/*
 * Find the first block of code.
 *
 * Shape:   a fence of backticks or tildes with the tag of a runtime, or without tag around what
 *          looks like code; <execute>, <execute_python>, <execute_ipython>, <execute_bash>,
 *          <execute_javascript>, <execute_sql>, <code>, <run_code> at the start of a line, with or
 *          without a fence inside; or a text that is nothing but Python. Thoughts in front
 *          (<think>…</think>) are skipped. A block without a closing line ends at the end of the
 * text or before output that was made up, and without half a closing tag. Source:  the fences are
 * those of CommonMark 0.31, section 4.5.
 */
void extract_code(const char *text, size_t bytes, struct extract *out);

/* The runtime that a tag ("py", "JavaScript") stands for. Returns: whether there is one. */
bool extract_runtime(const char *tag, size_t bytes, const char **runtime);

/* Append the code without its indentation. Returns: 0, -E2BIG, -ENOMEM. */
int extract_write(struct buf *out, const char *text, const struct extract *e);

/* Is the first block whole, so that the rest of the text is not needed? Reads the whole text: ask
 * when a line or a tag has ended. */
bool extract_is_whole(const char *text, size_t bytes);
