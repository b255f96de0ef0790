/* A growable buffer; every buffer has a maximum size. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * A buffer remembers its first error: keep writing, and ask buf_error() once at the end. Writes
 * after an error are ignored, so that a buffer never holds a text with a gap.
 *
 * Invariant: `data` is NUL-terminated behind `bytes` whenever it is not NULL, so a buffer without
 * NUL inside is also a C string; use buf_str() when it may be empty.
 */
struct buf {
	char *data;
	size_t bytes;
	size_t room;
	size_t max_bytes;
	int error; /* negative errno of the first failure; read with buf_error() */
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);
#define cleanup_buf cleanup(buf_done)

/* Returns: 0 when everything was written; otherwise the first error: -E2BIG over the maximum,
 * -ENOMEM, or the error given to buf_fail(). */
static inline int buf_error(const struct buf *b)
{
	return b->error;
}

/* Record @error, a negative errno, unless the buffer has an error already. */
void buf_fail(struct buf *b, int error);

/*
 * Append all of the data; on failure append nothing and record the error.
 * Returns: buf_error().
 */
int buf_append(struct buf *b, const void *data, size_t bytes);
int buf_add(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) attr_printf(2, 3);

/* Append like buf_append(), but do not record a failure: for data that may be left out or
 * retried. Returns: 0, -E2BIG, -ENOMEM; or the error recorded before. */
int buf_try(struct buf *b, const void *data, size_t bytes);

/*
 * Reserve room for @bytes more and return where to write them; call buf_grown() afterwards. A
 * failure is not recorded: a reader may ask for less, or wait until data is consumed.
 * Returns: NULL over the maximum, without memory, or after an error.
 */
char *buf_reserve(struct buf *b, size_t bytes);
void buf_grown(struct buf *b, size_t bytes);

/* Drop @bytes from the front, or all if the buffer has fewer. */
void buf_consume(struct buf *b, size_t bytes);

/* Keep only the first @bytes, and clear the error: for a writer that takes back a part that did
 * not fit. */
void buf_cut(struct buf *b, size_t bytes);

/* Drop all bytes, keep the memory, clear the error. */
void buf_clear(struct buf *b);

/* Return the bytes as a C string, valid until the next change. Returns: "" for an empty buffer,
 * never NULL. */
const char *buf_str(const struct buf *b);

/* Hand over the bytes; the buffer is empty afterwards, without an error. Owns: the caller frees. */
char *buf_take(struct buf *b);
