/* A stream of bytes, cut into lines. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* Line ends besides "\n" and "\r\n". */
enum lines_end {
	LINES_LF, /* no others: newline-delimited JSON */
	LINES_CR, /* also a lone "\r": server-sent events */
};

/* Done with buf_done(&part). */
struct lines {
	struct buf part; /* the beginning of an unfinished line; its maximum bounds a line */
	enum lines_end end;
	bool was_cr; /* the last byte was a "\r" that ended a line */
};

#define LINES_INIT(how, max_bytes) ((struct lines){.part = BUF_INIT(max_bytes), .end = (how)})

/* Called with one line without its end, borrowed for the call. Returns: 0 to go on. */
typedef int lines_fn(void *arg, const char *line, size_t bytes);

/*
 * Take more of the stream and call @line for each complete line. Limits: a line is at most as
 * long as the maximum of `part`.
 * Returns: 0; what @line returned; or negative errno with @err: ERR_LIMIT, ERR_NO_MEMORY.
 */
int lines_feed(struct lines *l, const char *data, size_t bytes, lines_fn *line, void *arg,
	struct err *err);

/* End the stream: an unfinished line counts as a line, unless it is empty. Returns: 0, or what
 * @line returned. */
int lines_finish(struct lines *l, lines_fn *line, void *arg);
