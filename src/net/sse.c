/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sse.h"

#include "base/num.h"

#include <errno.h>
#include <string.h>

enum { WORD_MAX = 1024, RETRY_DIGITS = 9 };

static const char byte_order_mark[] = {(char)0xef, (char)0xbb, (char)0xbf};

void sse_init(struct sse *s, size_t max_bytes, sse_fn *event, void *arg)
{
	*s = (struct sse){.lines = LINES_INIT(LINES_CR, max_bytes),
		.data = BUF_INIT(max_bytes),
		.name = BUF_INIT(WORD_MAX),
		.id = BUF_INIT(WORD_MAX),
		.retry_ms = -1,
		.event = event,
		.arg = arg};
}

void sse_done(struct sse *s)
{
	buf_done(&s->lines.part);
	buf_done(&s->data);
	buf_done(&s->name);
	buf_done(&s->id);
}

static int add(struct sse *s, struct buf *to, const char *data, size_t bytes)
{
	int r = buf_append(to, data, bytes);
	if (r == -E2BIG)
		return err_set(s->err, ERR_LIMIT, "an event of the stream is over %s",
			num_format_bytes(to->max_bytes).text);
	return r < 0 ? err_set(s->err, ERR_NO_MEMORY, "no memory for an event") : 0;
}

static int dispatch(struct sse *s)
{
	int r = 0;
	if (s->has_data) {
		struct sse_event event = {.name = s->name.bytes > 0 ? s->name.data : "message",
			.data = buf_str(&s->data),
			.data_bytes = s->data.bytes,
			.id = buf_str(&s->id)};
		r = s->event(s->arg, &event);
	}
	buf_clear(&s->data);
	buf_clear(&s->name);
	s->has_data = false;
	return r;
}

static int set_data(struct sse *s, const char *value, size_t bytes)
{
	int r = s->has_data ? add(s, &s->data, "\n", 1) : 0;
	s->has_data = true;
	return r < 0 ? r : add(s, &s->data, value, bytes);
}

static int set_name(struct sse *s, const char *value, size_t bytes)
{
	buf_clear(&s->name);
	/* Ignore a name that contains a NUL, because a C string cannot hold it. */
	return memchr(value, '\0', bytes) ? 0 : add(s, &s->name, value, bytes);
}

static int set_id(struct sse *s, const char *value, size_t bytes)
{
	if (memchr(value, '\0', bytes))
		return 0;
	buf_clear(&s->id);
	return add(s, &s->id, value, bytes);
}

static int set_retry(struct sse *s, const char *value, size_t bytes)
{
	int64_t ms = 0;
	for (size_t i = 0; i < bytes; i++) {
		if (value[i] < '0' || value[i] > '9' || i >= RETRY_DIGITS)
			return 0;
		ms = ms * 10 + (value[i] - '0');
	}
	if (bytes > 0)
		s->retry_ms = ms;
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct sse *s, const char *value, size_t bytes);
} fields[] = {{"data", set_data}, {"event", set_name}, {"id", set_id}, {"retry", set_retry}};

static int on_line(void *arg, const char *line, size_t bytes)
{
	struct sse *s = arg;
	size_t mark = sizeof byte_order_mark;
	if (!s->is_begun && bytes >= mark && memcmp(line, byte_order_mark, mark) == 0) {
		line += mark;
		bytes -= mark;
	}
	s->is_begun = true;
	if (bytes == 0)
		return dispatch(s);
	const char *colon = memchr(line, ':', bytes);
	size_t n = colon ? (size_t)(colon - line) : bytes;
	const char *value = colon ? colon + 1 : line + bytes;
	size_t left = (size_t)(line + bytes - value);
	if (left > 0 && *value == ' ') {
		value++;
		left--;
	}
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (n == strlen(fields[i].name) && memcmp(line, fields[i].name, n) == 0)
			return fields[i].set(s, value, left);
	return 0;
}

int sse_feed(struct sse *s, const char *data, size_t bytes, struct err *err)
{
	s->err = err;
	int r = lines_feed(&s->lines, data, bytes, on_line, s, err);
	s->err = NULL;
	return r;
}

bool sse_is_inside(const struct sse *s)
{
	return s->has_data || s->lines.part.bytes > 0;
}
