/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST_BYTES = 64 };

void buf_done(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->max_bytes);
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->room);
	buf_done(b);
}

char *buf_reserve(struct buf *b, size_t bytes)
{
	if (b->error || bytes > b->max_bytes || b->bytes > b->max_bytes - bytes)
		return NULL;
	if (bytes >= SIZE_MAX - b->bytes)
		return NULL;
	size_t need = b->bytes + bytes + 1, most = MAX(b->max_bytes, b->max_bytes + 1);
	if (need > b->room || !b->data) {
		size_t room = MAX(b->room, (size_t)BUF_FIRST_BYTES);
		while (room < need)
			room = room > most / 2 ? most : room * 2;
		char *data = realloc(b->data, room);
		if (!data)
			return NULL;
		b->data = data;
		b->room = room;
		b->data[b->bytes] = '\0'; /* for buf_str(), if nothing is written */
	}
	return b->data + b->bytes;
}

void buf_grown(struct buf *b, size_t bytes)
{
	b->bytes += bytes;
	b->data[b->bytes] = '\0';
}

void buf_fail(struct buf *b, int error)
{
	if (!b->error)
		b->error = error;
}

/* Reserve room like buf_reserve(), but also record a failure. */
static char *need_room(struct buf *b, size_t bytes)
{
	char *at = buf_reserve(b, bytes);
	if (!at)
		buf_fail(b,
			bytes > b->max_bytes || b->bytes > b->max_bytes - bytes ? -E2BIG : -ENOMEM);
	return at;
}

int buf_append(struct buf *b, const void *data, size_t bytes)
{
	char *at = need_room(b, bytes);
	if (!at)
		return b->error;
	if (bytes > 0)
		memcpy(at, data, bytes);
	buf_grown(b, bytes);
	return 0;
}

int buf_try(struct buf *b, const void *data, size_t bytes)
{
	int before = b->error, r = buf_append(b, data, bytes);
	b->error = before;
	return r;
}

int buf_add(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	if (b->error)
		return b->error;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		buf_fail(b, -EINVAL);
	char *at = n < 0 ? NULL : need_room(b, (size_t)n);
	if (!at)
		return b->error;
	va_start(ap, fmt);
	vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_grown(b, (size_t)n);
	return 0;
}

void buf_consume(struct buf *b, size_t bytes)
{
	if (bytes >= b->bytes) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + bytes, b->bytes - bytes);
	b->bytes -= bytes;
	b->data[b->bytes] = '\0';
}

void buf_cut(struct buf *b, size_t bytes)
{
	b->error = 0;
	b->bytes = MIN(b->bytes, bytes);
	if (b->data)
		b->data[b->bytes] = '\0';
}

void buf_clear(struct buf *b)
{
	buf_cut(b, 0);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *data = b->data;
	*b = BUF_INIT(b->max_bytes);
	return data;
}
