/* A part of a long text, as step.output gives it. Pure. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUN_PART_LINE_BYTES = 1000, RUN_PART_LEAD_BYTES = 200 };

struct run_part {
	struct buf text;
	size_t offset;	/* where it begins */
	size_t next;	/* where to go on */
	bool is_last;	/* there is no more */
	size_t n_lines; /* found */
};

/*
 * Read at most @limit bytes (but one character at least) from @offset on, which is moved to where
 * its character begins. @text is valid UTF-8.
 * Owns:    the caller buf_done()s out->text.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int run_part_read(
	struct run_part *out, const char *text, size_t bytes, size_t offset, size_t limit);

/*
 * Find lines that hold @word, which has no end of a line in it: "12:the line\n", of a long one the
 * part around its first hit, at most about @limit bytes of them, but one line at least.
 * @is_whole: more text may come behind it otherwise, so that its last line is not searched yet when
 *            it has no end.
 */
struct run_part_search {
	const char *word;
	size_t offset, limit;
	bool is_whole;
};
int run_part_find(
	struct run_part *out, const char *text, size_t bytes, const struct run_part_search *search);
