/* Server-sent events: read from a stream of bytes. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "net/lines.h"

#include <stdint.h>

/* Borrowed until the callback returns; each text ends in NUL. */
struct sse_event {
	const char *name; /* "message" when the stream does not name the event */
	const char *data; /* lines joined by "\n" */
	size_t data_bytes;
	const char *id; /* the last one the stream gave, or "" */
};

/* Returns: 0 to go on. */
typedef int sse_fn(void *arg, const struct sse_event *event);

/* Done with sse_done(). */
struct sse {
	struct lines lines;
	struct buf data, name, id;
	bool has_data, is_begun;
	int64_t retry_ms; /* how long to wait before reconnecting; -1: the stream did not say */
	sse_fn *event;
	void *arg;
	struct err *err; /* set during sse_feed() */
};

/*
 * @max_bytes: the most that one event may hold, and one line.
 * Owns: sse_done().
 */
void sse_init(struct sse *s, size_t max_bytes, sse_fn *event, void *arg);
void sse_done(struct sse *s);

/*
 * Take more of the stream and call back for each complete event. An event without data is
 * ignored.
 * Limits:  @max_bytes; names and ids over 1 KiB are an error as well.
 * Source:  HTML Living Standard, 9.2 "Server-sent events": lines end in LF, CR LF or CR; a colon
 *          begins a comment; one space after the colon of a field goes; a byte order mark at the
 *          beginning goes; an event that is cut off by the end of the stream is ignored.
 * Returns: 0; what the callback returned; or negative errno with @err: ERR_LIMIT, ERR_NO_MEMORY.
 */
int sse_feed(struct sse *s, const char *data, size_t bytes, struct err *err);

/* Did the stream stop inside an event? */
bool sse_is_inside(const struct sse *s);
