/* Where the first block of code ends, while the text still comes. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { FENCE_LINE_BYTES = 64 };

struct fence {
	char line[FENCE_LINE_BYTES]; /* the beginning of the line that comes */
	size_t line_bytes;	     /* of all of it */
	char mark;		     /* of the block we are in: '`', '~', or 0 */
	size_t n_marks;
	bool is_closed;
};

#define FENCE_INIT ((struct fence){0})

/*
 * Look at more of the text.
 * Shape:   a line of at least three "`" or "~", indented by at most three blanks, opens a block;
 * one with as many or more of them and nothing else closes it. Source: CommonMark 0.30, 4.5.
 * Returns: how many bytes of @text belong to what ends with the block's last line; -1: it goes on.
 */
ssize_t fence_feed(struct fence *f, const char *text, size_t bytes);
