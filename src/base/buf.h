/* Growable bytes that cannot be made without a maximum. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * Invariant: `data` is NUL-terminated behind `bytes` whenever it is not NULL, so a buffer without
 * NUL inside is also a C string; use buf_str() when it may be empty.
 */
struct buf {
	char *data;
	size_t bytes;
	size_t room;
	size_t max_bytes;
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);
#define cleanup_buf cleanup(buf_done)

/*
 * Append. Outputs untouched on failure.
 * Returns: 0, -E2BIG over the maximum, -ENOMEM.
 */
int buf_append(struct buf *b, const void *data, size_t bytes);
int buf_add(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) attr_printf(2, 3);

/*
 * Make room for @bytes more and return where they go; follow with buf_grown().
 * Returns: NULL over the maximum or without memory.
 */
char *buf_reserve(struct buf *b, size_t bytes);
void buf_grown(struct buf *b, size_t bytes);

/* Drop @bytes from the front (at most what there is). */
void buf_consume(struct buf *b, size_t bytes);

/* Drop all, keep the room. */
void buf_clear(struct buf *b);

/* The bytes as a C string, valid until the next change. Returns: "" when there are none, never
 * NULL. */
const char *buf_str(const struct buf *b);

/* Hand over the bytes; the buffer is empty afterwards. Owns: the caller frees. */
char *buf_take(struct buf *b);
