/* Keeps the first and the last bytes of one stream's output, and counts all bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The output of one stream. The first half of @limit_bytes is in @head, the last half in @tail.
 * Bytes between them are dropped and only counted. Memory is allocated as output arrives, at most
 * @limit_bytes.
 */
struct capture {
	uint64_t limit_bytes;
	uint64_t total_bytes;
	struct buf head;
	struct buf tail; /* a ring buffer once it is full */
	size_t tail_at;	 /* index in @tail of its oldest byte */
};

void capture_init(struct capture *c, uint64_t limit_bytes);
void capture_done(struct capture *c);

/*
 * Append @data.
 * Returns: how many bytes, from the start of @data, are in the head; or -ENOMEM. The other bytes
 * are in the tail and may be dropped later.
 */
int64_t capture_add(struct capture *c, const char *data, size_t bytes);

/*
 * Call capture_settle() when the stream has ended. It drops more of the middle if the output would
 * be too long as JSON, where an invalid byte takes 3 bytes and a control character takes 6. Too
 * long means longer than 5/4 of the limit and longer than CAPTURE_DEAR_BYTES. If memory is
 * exhausted, the output stays as it is.
 */
enum { CAPTURE_DEAR_BYTES = 4 << 20 };
void capture_settle(struct capture *c);

/* Return the number of bytes dropped so far. */
uint64_t capture_cut_bytes(const struct capture *c);

/*
 * Find the kept bytes that begin with the byte at *@offset of the stream. If that byte was dropped,
 * begin with the oldest kept byte after it, and set *@offset to its offset.
 * Returns: where they are, until the next change of @c. *@bytes is how many are there in one piece;
 * more may follow in another. If there are none at *@offset yet, *@bytes is 0.
 */
const char *capture_at(const struct capture *c, uint64_t *offset, size_t *bytes);

/*
 * Copy at most @room bytes of the output to @out, beginning with the byte at *@offset of the
 * stream. If that byte was dropped, begin with the oldest kept byte after it, and set *@offset to
 * its offset. Returns: the number of bytes; 0 if there are none at *@offset yet.
 */
size_t capture_read(const struct capture *c, uint64_t *offset, char *out, size_t room);

/* Append the tail to @out, beginning with its oldest byte. Returns: 0 or negative errno. */
int capture_tail(const struct capture *c, struct buf *out);

/*
 * Append head and tail as valid UTF-8. If bytes were dropped between them, the line "[... N bytes
 * cut ...]" takes their place.
 * @invalid: set to true if bytes of the program were replaced by U+FFFD, else unchanged.
 * Returns: 0 or negative errno.
 */
int capture_text(const struct capture *c, struct buf *out, bool *invalid);
