/* Division of a stream of bytes into lines. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* Which bytes end a line. */
enum lines_end {
	LINES_LF, /* only "\n" and "\r\n"; for newline-delimited JSON */
	LINES_CR, /* "\n", "\r\n" and a "\r" alone; for server-sent events */
};

/* Freed by buf_done(&part). */
struct lines {
	/* The beginning of an unfinished line. The buffer's maximum size is that of a line. */
	struct buf part;
	enum lines_end end;
	bool was_cr; /* the last byte was a "\r" that ended a line */
};

#define LINES_INIT(how, max_bytes) ((struct lines){.part = BUF_INIT(max_bytes), .end = (how)})

/* Called with one line, without its end. @line is valid during the call. Returns: 0 to go on;
 * anything else ends lines_feed(). */
typedef int lines_fn(void *arg, const char *line, size_t bytes);

/*
 * Process the next piece of the stream: call @line for each line that it completes.
 * Limits: a line is at most as long as the maximum of `part`.
 * Returns: 0; what @line returned, if not 0; or negative errno with @err: ERR_LIMIT, ERR_NO_MEMORY.
 */
int lines_feed(struct lines *l, const char *data, size_t bytes, lines_fn *line, void *arg,
	struct err *err);

/*
 * End the stream. If the last line has no line end, call @line for it, too.
 * Returns: 0, or what @line returned.
 */
int lines_finish(struct lines *l, lines_fn *line, void *arg);
