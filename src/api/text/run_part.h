/* A page of a long output, for step.output. Functions without side effects.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUN_PART_LINE_BYTES = 1000, RUN_PART_LEAD_BYTES = 200 };

struct run_part {
	struct buf text;
	size_t offset;	/* where this page begins */
	size_t next;	/* where the next page begins */
	bool is_last;	/* is this the last page? */
	size_t n_lines; /* number of lines found */
};

/*
 * Read at most @limit bytes (but one character at least) from @offset on; an offset within a
 * character is moved back to its beginning. @text is valid UTF-8.
 * Owns: the caller buf_done()s
 * out->text. Returns: 0, -E2BIG, -ENOMEM.
 */
int run_part_read(
	struct run_part *out, const char *text, size_t bytes, size_t offset, size_t limit);

/* Find lines that contain @word, which has no line end: "12:the line\n". Of a long line, only the
 * part around its first hit is returned. At most about @limit bytes are returned, but at least one
 * line. @is_whole: the text is complete; otherwise an unfinished last line is not searched yet. */
struct run_part_search {
	const char *word;
	size_t offset, limit;
	bool is_whole;
};
int run_part_find(
	struct run_part *out, const char *text, size_t bytes, const struct run_part_search *search);
