/* Reading of server-sent events from a stream of bytes. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "net/lines.h"

#include <stdint.h>

/* An event. Its texts are valid until the callback returns, and each ends in NUL. */
struct sse_event {
	const char *name; /* the event's name; "message" if the stream gives it none */
	const char *data; /* the event's data lines, joined by "\n" */
	size_t data_bytes;
	const char *id; /* the last id that the stream has sent, or "" */
};

/* Called with one event. Returns: 0 to go on; anything else ends sse_feed(). */
typedef int sse_fn(void *arg, const struct sse_event *event);

/* Freed by sse_done(). */
struct sse {
	struct lines lines;
	struct buf data, name, id;
	bool has_data, is_begun;
	int64_t retry_ms; /* how long to wait before reconnecting; -1 if the stream did not say */
	sse_fn *event;
	void *arg;
	struct err *err; /* valid during sse_feed() */
};

/*
 * Prepare for a new stream. @max_bytes: maximum of an event's data, and of a line.
 * Owns: the caller ends @s with sse_done().
 */
void sse_init(struct sse *s, size_t max_bytes, sse_fn *event, void *arg);
void sse_done(struct sse *s);

/*
 * Process the next piece of the stream: call the callback for each event that it completes. An
 * event without data is ignored.
 * Limits:  @max_bytes; names and ids over 1 KiB are an error as well.
 * Source:  HTML Living Standard, 9.2 "Server-sent events". Lines end in LF, CR LF or CR. A line
 * that begins with a colon is a comment. One space after the colon of a field is dropped, and so is
 * a byte order mark at the beginning of the stream. An event that is cut off by the end of the
 * stream is ignored.
 * Returns: 0; what the callback returned, if not 0; or negative errno with @err: ERR_LIMIT,
 * ERR_NO_MEMORY.
 */
int sse_feed(struct sse *s, const char *data, size_t bytes, struct err *err);

/* Return whether the stream has stopped inside an event. */
bool sse_is_inside(const struct sse *s);
