/* Extraction of the code from a model's reply. No system call. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum extract_kind {
	EXTRACT_NOTHING, /* only white space or thoughts */
	EXTRACT_TEXT,	 /* no code: the text may be the answer */
	EXTRACT_CODE,
};

/* Offsets are in bytes. */
struct extract {
	enum extract_kind kind;
	const char *runtime; /* language, static; NULL: the block does not name one */
	size_t code_at, code_bytes;
	unsigned indent; /* number of blanks in front of each line that are not part of the code */
	bool is_closed;	 /* the block has a closing line */
	bool is_bare;	 /* no block: the whole text looks like code */
	size_t end;	 /* end of the part that is kept: text behind the code is dropped */
	unsigned n_more; /* number of further blocks of code, which are ignored */
};

/*
 * Find the first block of code.
 *
 * Shape:   a fence of backticks or tildes with the tag of a runtime, or without tag around what
 *          looks like code; <execute>, <execute_python>, <execute_ipython>, <execute_bash>,
 *          <execute_javascript>, <execute_sql>, <code>, <run_code> at the start of a line, with or
 *          without a fence inside; or a text that consists of Python only. Thoughts in front
 *          (<think>…</think>) are skipped. A block without a closing line ends at the end of the
 *          text or before invented output, and without an incomplete closing tag.
 * Source:  the fences are those of CommonMark 0.31, section 4.5.
 */
void extract_code(const char *text, size_t bytes, struct extract *out);

/* Find the runtime of a tag ("py", "JavaScript"). Returns: whether the tag is known. */
bool extract_runtime(const char *tag, size_t bytes, const char **runtime);

/* Append the code without its indentation. Returns: 0, -E2BIG, -ENOMEM. */
int extract_write(struct buf *out, const char *text, const struct extract *e);

/* Is the first block complete, so that the rest of the text is not needed? Reads the whole text:
 * call it when a line or a tag has ended. */
bool extract_is_whole(const char *text, size_t bytes);
