/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/json_dump.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 400 };

/* The escape of each byte, or NULL. */
static const char *const escapes[256] = {
	"\\u0000",
	"\\u0001",
	"\\u0002",
	"\\u0003",
	"\\u0004",
	"\\u0005",
	"\\u0006",
	"\\u0007",
	"\\b",
	"\\t",
	"\\n",
	"\\u000B",
	"\\f",
	"\\r",
	"\\u000E",
	"\\u000F",
	"\\u0010",
	"\\u0011",
	"\\u0012",
	"\\u0013",
	"\\u0014",
	"\\u0015",
	"\\u0016",
	"\\u0017",
	"\\u0018",
	"\\u0019",
	"\\u001A",
	"\\u001B",
	"\\u001C",
	"\\u001D",
	"\\u001E",
	"\\u001F",
	['"'] = "\\\"",
	['\\'] = "\\\\",
};

static int put_string(struct buf *out, const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
	size_t need = bytes + 2;
	if (!utf8_is_valid(text, bytes))
		return -EILSEQ;
	for (const unsigned char *p = at; p < end; p++)
		need += escapes[*p] ? strlen(escapes[*p]) - 1 : 0;
	char *to = buf_reserve(out, need);
	if (!to)
		return need > out->max_bytes - out->bytes ? -E2BIG : -ENOMEM;
	*to++ = '"';
	while (at < end) {
		const unsigned char *plain = at;
		while (at < end && !escapes[*at])
			at++;
		memcpy(to, plain, (size_t)(at - plain));
		to += at - plain;
		for (; at < end && escapes[*at]; at++)
			to = stpcpy(to, escapes[*at]);
	}
	*to = '"';
	buf_grown(out, need);
	return 0;
}

static int put_number(struct buf *out, const json_t *json)
{
	char text[NUMBER_BYTES];
	size_t n = json_dumpb(json, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT);
	return n > 0 && n <= sizeof text ? buf_append(out, text, n) : -EINVAL;
}

static int put(struct buf *out, const json_t *json, size_t flags);

static int put_array(struct buf *out, const json_t *json, size_t flags)
{
	int r = buf_add(out, "[");
	for (size_t i = 0; r == 0 && i < json_array_size(json); i++) {
		r = i > 0 ? buf_add(out, ",") : 0;
		if (r == 0)
			r = put(out, json_array_get(json, i), flags);
	}
	return r < 0 ? r : buf_add(out, "]");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int put_members(struct buf *out, const json_t *json, const char **names, size_t flags)
{
	size_t n = 0;
	void *at = json_object_iter((json_t *)(uintptr_t)json);
	for (; at; at = json_object_iter_next((json_t *)(uintptr_t)json, at))
		names[n++] = json_object_iter_key(at);
	if (flags & JSON_SORT_KEYS)
		qsort(names, n, sizeof *names, by_name);
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = i > 0 ? buf_add(out, ",") : 0;
		if (r == 0)
			r = put_string(out, names[i], strlen(names[i]));
		if (r == 0)
			r = buf_add(out, ":");
		if (r == 0)
			r = put(out, json_object_get(json, names[i]), flags);
	}
	return r;
}

static int put_object(struct buf *out, const json_t *json, size_t flags)
{
	const char **names = calloc(json_object_size(json) + 1, sizeof *names);
	int r = names ? buf_add(out, "{") : -ENOMEM;
	if (r == 0)
		r = put_members(out, json, names, flags);
	free(names);
	return r < 0 ? r : buf_add(out, "}");
}

/* The depth is bounded: the JSON parser allows 2048, and our own values are flat. */
static int put(struct buf *out, const json_t *json, size_t flags)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return put_object(out, json, flags);
	case JSON_ARRAY:
		return put_array(out, json, flags);
	case JSON_STRING:
		return put_string(out, json_string_value(json), json_string_length(json));
	case JSON_TRUE:
		return buf_add(out, "true");
	case JSON_FALSE:
		return buf_add(out, "false");
	case JSON_NULL:
		return buf_add(out, "null");
	case JSON_INTEGER:
	case JSON_REAL:
	default:
		return put_number(out, json);
	}
}

char *json_dump_text(const json_t *json, size_t flags)
{
	cleanup_buf struct buf out = BUF_INIT(SIZE_MAX / 4);
	if ((flags | JSON_SORT_KEYS | JSON_ENCODE_ANY) !=
			(JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) ||
		!json ||
		(!(flags & JSON_ENCODE_ANY) && !json_is_object(json) && !json_is_array(json)))
		return json_dumps(json, flags);
	return put(&out, json, flags) == 0 ? buf_take(&out) : NULL;
}

int json_dump_put(struct buf *out, const json_t *json)
{
	return put(out, json, JSON_COMPACT);
}
