/* Keeps head and tail of the output of one stream, and counts all of it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The first half of @limit_bytes of output, and the last half; bytes between them are counted and
 * dropped. Memory: at most @limit_bytes, allocated as output arrives.
 */
struct capture {
	uint64_t limit_bytes;
	uint64_t total_bytes;
	struct buf head;
	struct buf tail; /* a ring buffer once it is full */
	size_t tail_at;	 /* index of the oldest byte in the ring */
};

void capture_init(struct capture *c, uint64_t limit_bytes);
void capture_done(struct capture *c);

/*
 * Append output.
 * Returns: how many of the first bytes of @data are in the head (the rest may be dropped later), or
 * -ENOMEM.
 */
int64_t capture_add(struct capture *c, const char *data, size_t bytes);

/*
 * Shorten complete output whose JSON is much longer: invalid UTF-8 needs 3 bytes for each, control
 * characters need 6. If the JSON is longer than five quarters of the limit and than
 * CAPTURE_DEAR_BYTES, more of the middle is dropped. Without memory the output stays as it is.
 */
enum { CAPTURE_DEAR_BYTES = 4 << 20 };
void capture_settle(struct capture *c);

/* Return the number of bytes dropped so far. */
uint64_t capture_cut_bytes(const struct capture *c);

/* Append the tail to @out, oldest byte first. Returns: 0 or negative errno. */
int capture_tail(const struct capture *c, struct buf *out);

/*
 * Append head and tail as valid UTF-8, with a line "[... N bytes cut ...]" between them if bytes
 * were dropped.
 * @invalid: set to true if bytes were replaced by U+FFFD, else unchanged.
 * Returns: 0 or negative errno.
 */
int capture_text(const struct capture *c, struct buf *out, bool *invalid);
