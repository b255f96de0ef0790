/* Find a page of a long output, for step.output. Functions without side effects.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUN_PART_LINE_BYTES = 1000, RUN_PART_LEAD_BYTES = 200 };

struct run_part {
	struct buf text;
	size_t offset;	/* offset in the output where this page begins */
	size_t next;	/* offset in the output where the next page begins */
	bool is_last;	/* this page reaches the end of the output */
	size_t n_lines; /* number of lines that run_part_find() has found */
};

/*
 * Read a page of at most @limit bytes, but at least one character, from @offset on. An offset
 * inside a character is moved to the character's beginning. @text must be valid UTF-8.
 * Owns: the caller calls buf_done() for out->text.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int run_part_read(
	struct run_part *out, const char *text, size_t bytes, size_t offset, size_t limit);

/* Find the lines that contain @word, from @offset on. Each is returned with its number: "12:the
 * line\n". Of a long line, only the part around the first hit is returned. A page has about
 * @limit bytes, but at least one line. @word must not contain a line end. @is_whole: no output
 * will follow; otherwise a last line without a line end is not searched yet. */
struct run_part_search {
	const char *word;
	size_t offset, limit;
	bool is_whole;
};
int run_part_find(
	struct run_part *out, const char *text, size_t bytes, const struct run_part_search *search);
