/* A stream of bytes, cut into lines. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* What ends a line: "\n" and "\r\n" always. */
enum lines_end {
	LINES_LF, /* nothing else: newline-delimited JSON */
	LINES_CR, /* a lone "\r", too: server-sent events */
};

/* Done with buf_done(&part). */
struct lines {
	struct buf part; /* of a line whose end has not come; its maximum is that of a line */
	enum lines_end end;
	bool was_cr; /* the last byte was a "\r" that ended a line */
};

#define LINES_INIT(how, max_bytes) ((struct lines){.part = BUF_INIT(max_bytes), .end = (how)})

/* One line without its end, borrowed until it returns. Not 0: no more of them. */
typedef int lines_fn(void *arg, const char *line, size_t bytes);

/*
 * Take more of the stream and call @line for each line that is whole.
 * Limits:  a line holds at most what `part` may.
 * Returns: 0; what @line returned; or negative errno with @err: ERR_LIMIT, ERR_NO_MEMORY.
 */
int lines_feed(struct lines *l, const char *data, size_t bytes, lines_fn *line, void *arg,
	struct err *err);

/* The stream is over: what has no end yet is a line as well, unless it is empty. Returns: 0, or
 * what
 * @line returned. */
int lines_finish(struct lines *l, lines_fn *line, void *arg);
