/* A growable buffer; every buffer has a maximum size. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>

/*
 * A buffer remembers its first error and ignores all writes after it. So a writer may make many
 * calls and check buf_error() once at the end, and a buffer never holds a text with a gap.
 *
 * Invariant: data[bytes] is '\0' whenever `data` is not NULL, so the bytes can be read as a C
 * string. `data` may be NULL in an empty buffer; buf_str() then returns "".
 */
struct buf {
	char *data;
	size_t bytes;
	size_t room;
	size_t max_bytes;
	int error; /* negative errno of the first failure, or 0; read it with buf_error() */
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *b);
#define cleanup_buf cleanup(buf_done)

/* The same, for what nobody may find in memory: overwrite the bytes first. Those that stood in
 * smaller memory, before the buffer grew, are not overwritten: make room for all with
 * buf_reserve(). */
void buf_wipe(struct buf *b);
#define cleanup_wipe_buf cleanup(buf_wipe)

/* Return 0 if everything was written, otherwise the first error: -E2BIG over the maximum,
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

/*
 * Append like buf_append(), but do not record a failure, because the caller may leave the data out
 * or retry.
 * Returns: 0, -E2BIG, -ENOMEM; or the error recorded before.
 */
int buf_try(struct buf *b, const void *data, size_t bytes);

/*
 * Reserve room for @bytes more and return where to write them. Afterwards, call buf_grown() with
 * the number of bytes that were written. A failure is not recorded, because the caller may ask for
 * less, or retry when data has been consumed.
 * Returns: NULL if the maximum would be exceeded, if memory is exhausted, or if the buffer has an
 * error.
 */
char *buf_reserve(struct buf *b, size_t bytes);
void buf_grown(struct buf *b, size_t bytes);

/* Drop the first @bytes, or all if the buffer has fewer. */
void buf_consume(struct buf *b, size_t bytes);

/* Keep only the first @bytes and clear the error. A writer calls this to remove an element that
 * is incomplete because the buffer is full. */
void buf_cut(struct buf *b, size_t bytes);

/* Drop all bytes and clear the error, but keep the memory for later writes. */
void buf_clear(struct buf *b);

/*
 * Return the bytes as a C string, valid until the next change of the buffer.
 * Returns: "" for an empty buffer, never NULL.
 */
const char *buf_str(const struct buf *b);

/*
 * Return the bytes and leave the buffer empty and without an error.
 * Owns: the caller frees the bytes.
 * Returns: NULL if nothing was ever written.
 */
char *buf_take(struct buf *b);
