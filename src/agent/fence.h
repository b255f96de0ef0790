/* The first block of code in a text that still comes. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { FENCE_LINE_BYTES = 64 };

struct fence {
	char line[FENCE_LINE_BYTES]; /* the beginning of the line that comes */
	size_t line_bytes;	     /* of all of it */
	size_t at, line_at;	     /* how much was seen; where the line began */
	char mark;		     /* of the block we are in: '`', '~', or 0 */
	size_t n_marks, indent;
	const char *closing; /* of the tag we are in, or NULL */
	size_t n_matched;    /* of it */
	const char *runtime; /* of the block of code we are in or have found, or NULL */
	size_t begin, end;   /* of the code; `end` when it is closed */
	bool is_closed;
	bool is_plain, has_plain; /* a block of no language: we are in it; one was there */
	size_t plain_begin, plain_end;
};

#define FENCE_INIT ((struct fence){0})

/*
 * Look at more of the text.
 * Shape:   a line of at least three "`" or "~" and the name of a language opens a block; one with
 * as many or more of them and nothing else closes it (CommonMark 0.30, 4.5, but for any
 *          indentation). Blocks of other names are passed over. At the beginning of a line <code>,
 *          <execute>, <execute_python>, <execute_ipython>, <execute_bash> open one, too.
 * Returns: how many bytes of @text belong to what ends with the block; -1: it goes on.
 */
ssize_t fence_feed(struct fence *f, const char *text, size_t bytes);

/* The runtime that a language's name means: "py" is "python". NULL: none. */
const char *fence_runtime(const char *name, size_t bytes);
