/* The output of one stream: all of it counted, head and tail of it kept. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps the first and the last half of @limit_bytes; the middle is counted and dropped. Memory: at
 * most
 * @limit_bytes, taken as output arrives.
 */
struct capture {
	uint64_t limit_bytes;
	uint64_t total_bytes;
	struct buf head;
	struct buf tail; /* a ring once it is full */
	size_t tail_at;	 /* the oldest byte of the ring */
};

void capture_init(struct capture *c, uint64_t limit_bytes);
void capture_done(struct capture *c);

/*
 * Take more output.
 * Returns: how many of the first bytes of @data went to the head (the rest may still be dropped),
 * or -ENOMEM.
 */
int64_t capture_add(struct capture *c, const char *data, size_t bytes);

/*
 * All output has come. Some bytes become several when they are written as JSON (invalid UTF-8: 3;
 * control characters: 6) and are counted so. If the sum is over five quarters of the limit, and
 * over CAPTURE_DEAR_BYTES, more of the middle is dropped. Without memory nothing changes.
 */
enum { CAPTURE_DEAR_BYTES = 4 << 20 };
void capture_settle(struct capture *c);

/* How many bytes were dropped so far. */
uint64_t capture_cut_bytes(const struct capture *c);

/* Append the tail, in order, to @out. Returns: 0 or negative errno. */
int capture_tail(const struct capture *c, struct buf *out);

/*
 * Append the kept bytes as valid UTF-8, with a line "[... N bytes cut ...]" where the middle is
 * missing.
 * @invalid: set to true when bytes were replaced by U+FFFD, else untouched.
 * Returns: 0 or negative errno.
 */
int capture_text(const struct capture *c, struct buf *out, bool *invalid);
