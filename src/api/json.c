/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 40, EXACT_DIGITS = 17, SHORT_DIGITS = 15, DEPTH_MAX = 4096 };

static size_t number_bytes(const char *at)
{
	return strspn(at, "0123456789+-.eE");
}

/* Write the number at @from, @bytes long, to @to in as few digits as keep its value. Returns:
 * bytes. */
static size_t shorten(char *to, const char *from, size_t bytes)
{
	char text[NUMBER_BYTES_MAX], shorter[NUMBER_BYTES_MAX];
	memcpy(text, from, bytes);
	text[bytes] = '\0';
	double value = strtod(text, NULL);
	for (int digits = SHORT_DIGITS; digits < EXACT_DIGITS; digits++) {
		int n = snprintf(shorter, sizeof shorter, "%.*g", digits, value);
		/* Still a real: "2" would read back as an integer. */
		if (n > 0 && !strpbrk(shorter, ".e"))
			n = snprintf(shorter, sizeof shorter, "%.*g.0", digits, value);
		if (n > 0 && (size_t)n < bytes && strtod(shorter, NULL) == value) {
			memcpy(to, shorter, (size_t)n);
			return (size_t)n;
		}
	}
	memmove(to, from, bytes);
	return bytes;
}

/* What is written is never longer than what is read, so one buffer holds both. */
static void shorten_reals(char *text)
{
	char *to = text;
	for (const char *at = text; *at;) {
		size_t bytes = 1;
		if (*at == '"') {
			while (at[bytes] != '"')
				bytes += at[bytes] == '\\' ? 2 : 1;
			bytes++;
		} else if (number_bytes(at) > 0) {
			bytes = number_bytes(at);
			if (bytes < NUMBER_BYTES_MAX && memchr(at, '.', bytes)) {
				to += shorten(to, at, bytes);
				at += bytes;
				continue;
			}
		}
		memmove(to, at, bytes);
		to += bytes;
		at += bytes;
	}
	*to = '\0';
}

char *json_text(const json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags);
	if (text)
		shorten_reals(text);
	return text;
}

/* ---- the same, for what is sent at every step: in a third of the time ---- */

static int put_char(struct buf *out, char c)
{
	if (out->bytes + 1 >= out->room || out->bytes >= out->max_bytes)
		return buf_append(out, &c, 1);
	out->data[out->bytes] = c;
	buf_grown(out, 1);
	return 0;
}

static int put_escape(struct buf *out, char c)
{
	static const char escaped[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
	const char *is = c ? strchr(escaped, c) : NULL;
	return is ? buf_addf(out, "\\%c", letters[is - escaped])
		  : buf_addf(out, "\\u%04X", (unsigned char)c);
}

static bool is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != '"' && c != '\\';
}

static int put_string(struct buf *out, const char *text, size_t bytes)
{
	int r = put_char(out, '"');
	for (size_t at = 0; r == 0 && at < bytes;) {
		size_t from = at;
		while (at < bytes && is_plain(text[at]))
			at++;
		r = buf_append(out, text + from, at - from);
		if (r == 0 && at < bytes)
			r = put_escape(out, text[at++]);
	}
	return r < 0 ? r : put_char(out, '"');
}

static int put_integer(struct buf *out, const json_t *json)
{
	char text[NUMBER_BYTES_MAX];
	int n = snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
	return buf_append(out, text, (size_t)n);
}

static int put_real(struct buf *out, const json_t *json)
{
	char text[NUMBER_BYTES_MAX];
	double value = json_real_value(json);
	(void)snprintf(text, sizeof text, "%.*g", SHORT_DIGITS, value);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	/* As nearly all are. */
	if (!strchr(text, 'e') && strtod(text, NULL) == value)
		return buf_add(out, text);
	size_t bytes = json_dumpb(json, text, sizeof text, JSON_ENCODE_ANY);
	if (bytes == 0 || bytes >= sizeof text)
		return -EINVAL;
	return buf_append(out, text, shorten(text, text, bytes));
}

static int put_any(struct buf *out, const json_t *json, int depth);

static int put_object(struct buf *out, const json_t *json, int depth)
{
	const char *key;
	json_t *value;
	char before = '{';
	int r = json_object_size(json) == 0 ? put_char(out, before) : 0;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		r = r < 0 ? r : put_char(out, before);
		r = r < 0 ? r : put_string(out, key, strlen(key));
		r = r < 0 ? r : put_char(out, ':');
		r = r < 0 ? r : put_any(out, value, depth);
		before = ',';
	}
	return r < 0 ? r : put_char(out, '}');
}

static int put_array(struct buf *out, const json_t *json, int depth)
{
	int r = put_char(out, '[');
	for (size_t i = 0; r == 0 && i < json_array_size(json); i++) {
		r = i > 0 ? put_char(out, ',') : 0;
		r = r < 0 ? r : put_any(out, json_array_get(json, i), depth);
	}
	return r < 0 ? r : put_char(out, ']');
}

static int put_any(struct buf *out, const json_t *json, int depth)
{
	if (depth == 0)
		return -E2BIG;
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return put_object(out, json, depth - 1);
	case JSON_ARRAY:
		return put_array(out, json, depth - 1);
	case JSON_STRING:
		return put_string(out, json_string_value(json), json_string_length(json));
	case JSON_INTEGER:
		return put_integer(out, json);
	case JSON_REAL:
		return put_real(out, json);
	case JSON_TRUE:
		return buf_append(out, "true", 4);
	case JSON_FALSE:
		return buf_append(out, "false", 5);
	case JSON_NULL:
		break;
	}
	return buf_append(out, "null", 4);
}

int json_put(struct buf *out, const json_t *json)
{
	return put_any(out, json, DEPTH_MAX);
}

json_t *json_safe_text(const char *text, size_t max_bytes)
{
	size_t bytes = strnlen(text, max_bytes + 1);
	bytes = utf8_cut(text, bytes, max_bytes);
	cleanup_buf struct buf b = BUF_INIT(3 * max_bytes + 1);
	if (utf8_repair(&b, text, bytes, NULL) < 0)
		return NULL;
	return json_stringn(buf_str(&b), b.bytes);
}
