/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/json_dump.h"

#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 400 };

/* the escape sequence of each byte within a JSON string, or NULL if the byte needs no escape */
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

static void put_string(struct buf *out, const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
	size_t need = bytes + 2;
	if (!utf8_is_valid(text, bytes)) {
		buf_fail(out, -EILSEQ);
		return;
	}
	for (const unsigned char *p = at; p < end; p++)
		need += escapes[*p] ? strlen(escapes[*p]) - 1 : 0;
	char *to = buf_reserve(out, need);
	if (!to) {
		buf_fail(out, need > out->max_bytes - out->bytes ? -E2BIG : -ENOMEM);
		return;
	}
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
}

static void put_number(struct buf *out, const json_t *json)
{
	char text[NUMBER_BYTES];
	size_t n = json_dumpb(json, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT);
	if (n > 0 && n <= sizeof text)
		buf_append(out, text, n);
	else
		buf_fail(out, -EINVAL);
}

static void put(struct buf *out, const json_t *json, size_t flags);

static void put_array(struct buf *out, const json_t *json, size_t flags)
{
	buf_add(out, "[");
	for (size_t i = 0; buf_error(out) == 0 && i < json_array_size(json); i++) {
		buf_add(out, i > 0 ? "," : "");
		put(out, json_array_get(json, i), flags);
	}
	buf_add(out, "]");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_object(struct buf *out, const json_t *json, size_t flags)
{
	const char **names = calloc(json_object_size(json) + 1, sizeof *names);
	size_t n = 0;
	if (!names) {
		buf_fail(out, -ENOMEM);
		return;
	}
	void *at = json_object_iter(json_unconst(json));
	for (; at; at = json_object_iter_next(json_unconst(json), at))
		names[n++] = json_object_iter_key(at);
	if (flags & JSON_SORT_KEYS)
		qsort(names, n, sizeof *names, by_name);
	buf_add(out, "{");
	for (size_t i = 0; buf_error(out) == 0 && i < n; i++) {
		buf_add(out, i > 0 ? "," : "");
		put_string(out, names[i], strlen(names[i]));
		buf_add(out, ":");
		put(out, json_object_get(json, names[i]), flags);
	}
	buf_add(out, "}");
	free(names);
}

/* Append any JSON value. The recursion is bounded: the JSON parser allows a depth of 2048, and
 * values that retort makes are flat. */
static void put(struct buf *out, const json_t *json, size_t flags)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		put_object(out, json, flags);
		break;
	case JSON_ARRAY:
		put_array(out, json, flags);
		break;
	case JSON_STRING:
		put_string(out, json_string_value(json), json_string_length(json));
		break;
	case JSON_TRUE:
		buf_add(out, "true");
		break;
	case JSON_FALSE:
		buf_add(out, "false");
		break;
	case JSON_NULL:
		buf_add(out, "null");
		break;
	case JSON_INTEGER:
	case JSON_REAL:
	default:
		put_number(out, json);
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
	put(&out, json, flags);
	return buf_error(&out) == 0 ? buf_take(&out) : NULL;
}

int json_dump_put(struct buf *out, const json_t *json)
{
	put(out, json, JSON_COMPACT);
	return buf_error(out);
}
