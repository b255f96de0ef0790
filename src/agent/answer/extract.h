/* Extraction of the code from a model's reply. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum extract_kind {
	EXTRACT_NOTHING, /* only white space, thoughts or an empty block */
	EXTRACT_TEXT,	 /* no code was found, so the text may be the answer */
	EXTRACT_CODE,
};

/* The code that was found. Offsets are in bytes. */
struct extract {
	enum extract_kind kind;
	const char *runtime; /* static text that names the language; NULL if the block names none */
	size_t code_at, code_bytes;
	unsigned indent; /* number of spaces to remove from the beginning of each line */
	bool is_closed;	 /* the block has a closing line */
	bool is_bare;	 /* the code is the whole text, without a fence or tag */
	size_t end;	 /* offset of the end of the block; the text behind it is dropped */
	unsigned n_more; /* number of later blocks of code, which are ignored */
};

/*
 * Find the first block of code.
 *
 * Shape:   a block is one of:
 * - a fence of backticks or tildes with the tag of a runtime;
 * - a fence without a tag around text that looks like Python;
 * - <execute>, <execute_python>, <execute_ipython>, <execute_bash>, <execute_javascript>,
 * <execute_sql>, <code> or <run_code> at the start of a line; there may be a fence inside the tag;
 * - the whole text, if all of it looks like Python.
 * Thoughts (<think>…</think>) at the beginning are skipped. A block without a closing line ends
 * where the text ends or where invented output begins; an incomplete closing tag is dropped.
 * Source:  the fences are those of CommonMark 0.31, section 4.5.
 */
void extract_code(const char *text, size_t bytes, struct extract *out);

/* Find the runtime for the tag of a fence, such as "py" or "JavaScript". Returns: whether it is
 * known. */
bool extract_runtime(const char *tag, size_t bytes, const char **runtime);

/* Append the code to @out. Up to `indent` spaces are removed from the beginning of each line.
 * Returns: 0, -E2BIG, -ENOMEM. */
int extract_write(struct buf *out, const char *text, const struct extract *e);

/* Return whether the first block is complete, so that the rest of the text is not needed. This
 * reads the whole text, so it should be called only when a line or a tag has ended. */
bool extract_is_whole(const char *text, size_t bytes);
