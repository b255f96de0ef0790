/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/json.h"

#include "base/json.h"
#include "base/utf8.h"
#include "session/box/json_dump.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The estimated size of a JSON value is this number plus the length of its text. */
enum { NODE_BYTES = 64 };

enum { NUMBER_BYTES_MAX = 40, EXACT_DIGITS = 17, SHORT_DIGITS = 15 };

static size_t number_bytes(const char *at)
{
	return strspn(at, "0123456789+-.eE");
}

/* Write a real number to @to with fewer digits, if that keeps its value; otherwise copy it.
 * @from has @bytes. Returns: the number of bytes written. */
static size_t shorten(char *to, const char *from, size_t bytes)
{
	char text[NUMBER_BYTES_MAX], shorter[NUMBER_BYTES_MAX];
	memcpy(text, from, bytes);
	text[bytes] = '\0';
	double value = strtod(text, NULL);
	for (int digits = SHORT_DIGITS; digits < EXACT_DIGITS; digits++) {
		int n = snprintf(shorter, sizeof shorter, "%.*g", digits, value);
		/* Without ".0", the real 2.0 would be read back as an integer. */
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

/* Shorten all reals in @text. This works in place, because no real gets longer. */
static void shorten_reals(char *text)
{
	char *to = text;
	for (const char *at = text; *at;) {
		size_t bytes = 1;
		if (*at == '"') {
			while (at[bytes += strcspn(at + bytes, "\"\\")] != '"')
				bytes += 2;
			bytes++;
		} else if (number_bytes(at) > 0) {
			bytes = number_bytes(at);
			if (bytes < NUMBER_BYTES_MAX && memchr(at, '.', bytes)) {
				to += shorten(to, at, bytes);
				at += bytes;
				continue;
			}
		}
		if (to != at)
			memmove(to, at, bytes);
		to += bytes;
		at += bytes;
	}
	*to = '\0';
}

char *json_text(const json_t *json, size_t flags)
{
	char *text = json_dump_text(json, flags);
	if (text)
		shorten_reals(text);
	return text;
}

int json_put(struct buf *out, const json_t *json)
{
	size_t before = out->bytes;
	int r = json_dump_put(out, json);
	if (r == 0) {
		char *text = out->data + before;
		shorten_reals(text);
		out->bytes = before + strlen(text);
	} else {
		buf_cut(out, before);
	}
	return r;
}

/* Subtract the sizes of @json and of the values in it from @left, until nothing is left.
 * Returns: whether something is left. */
static bool spend(const json_t *json, size_t *left)
{
	const char *name;
	json_t *value;
	size_t i, bytes = NODE_BYTES + json_string_length(json);
	if (bytes >= *left)
		return false;
	*left -= bytes;
	json_object_foreach(json_unconst(json), name, value) if (!spend(value, left)) return false;
	json_array_foreach(json, i, value) if (!spend(value, left)) return false;
	return true;
}

bool json_is_long(const json_t *json, size_t bytes)
{
	return json && !spend(json, &bytes);
}

size_t json_bytes(const json_t *json)
{
	size_t left = SIZE_MAX;
	return json && spend(json, &left) ? SIZE_MAX - left : 0;
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
