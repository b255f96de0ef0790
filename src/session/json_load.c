/* SPDX-License-Identifier: Apache-2.0 */
#include "session/json_load.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * In the text that jansson is given each long string is a short one that nobody could have written:
 * SOH, random digits, its number.
 */
enum {
	LONG_BYTES = 64 << 10,
	RANDOM_BYTES = 16,
	MARK_BYTES = 1 + 2 * RANDOM_BYTES,
	NUMBER_DIGITS = 8
};

struct loading {
	struct buf rest;
	char mark[MARK_BYTES + 1];
	json_t *strings;
};

static int digit_of(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns: -1: it is none. */
static int32_t unit_at(const unsigned char *at, const unsigned char *end)
{
	int32_t unit = 0;
	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = digit_of(at[i]);
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static char *put_character(char *to, int32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* What is escaped at *@from, which is moved behind it. Returns: NULL: nothing that may stand there.
 */
static char *put_escaped(char *to, const unsigned char **from, const unsigned char *end)
{
	static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const unsigned char *at = *from;
	const char *name = at[1] ? strchr(names, at[1]) : NULL;
	if (name) {
		*to = meant[name - names];
		*from = at + 2;
		return to + 1;
	}
	int32_t c = unit_at(at, end);
	*from = at + 6;
	if (c >= 0xd800 && c < 0xdc00) {
		int32_t low = unit_at(at + 6, end);
		if (low < 0xdc00 || low > 0xdfff)
			return NULL;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*from = at + 12;
	} else if (c < 0 || (c >= 0xdc00 && c <= 0xdfff)) {
		return NULL;
	}
	return put_character(to, c);
}

/* What stands between the quotes. What is escaped is whole characters: so the text is UTF-8 if all
 * of it is. Returns: NULL: no string, or no memory. */
static json_t *read_string(const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
	char *out = malloc(bytes + 1), *to = out;
	json_t *string = NULL;
	while (to && at < end) {
		const unsigned char *next = memchr(at, '\\', (size_t)(end - at));
		size_t n = (size_t)((next ? next : end) - at);
		memcpy(to, at, n);
		to += n;
		at += n;
		while (to && at < end && *at == '\\')
			to = put_escaped(to, &at, end);
	}
	if (to && utf8_is_valid(out, (size_t)(to - out)))
		string = json_stringn_nocheck(out, (size_t)(to - out));
	free(out);
	return string;
}

/* Of the string that begins behind a quote: where its last quote is. NULL: it does not end, or has
 * what must be escaped. */
static const char *end_of(const char *at, const char *end)
{
	while (at < end && *at != '"') {
		if ((unsigned char)*at < ' ')
			return NULL;
		/* Four digits follow \u, or it is none. */
		size_t bytes = *at != '\\' ? 1 : end - at > 1 && at[1] == 'u' ? 6 : 2;
		if (bytes > (size_t)(end - at))
			return NULL;
		at += bytes;
	}
	return at < end ? at : NULL;
}

static bool is_name(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) && *at)
		at++;
	return at < end && *at == ':';
}

static int take_out(struct loading *l, const char *text, size_t bytes)
{
	json_t *string = read_string(text, bytes);
	int r = buf_addf(&l->rest, "\"\\u0001%s%0*zu\"", l->mark + 1, NUMBER_DIGITS,
		json_array_size(l->strings));
	if (!string || r < 0 || json_array_append(l->strings, string) < 0)
		r = -EINVAL;
	json_decref(string);
	return r;
}

/* Fill `rest` and `strings`. What is no JSON outside of long strings is left to jansson. */
static int split(struct loading *l, const char *data, size_t bytes)
{
	const char *end = data + bytes, *at = data;
	int r = 0;
	for (const char *p = data; r == 0 && (p = memchr(p, '"', (size_t)(end - p))); p++) {
		const char *text = p + 1;
		p = end_of(text, end);
		if (!p)
			break;
		if (p - text < LONG_BYTES || is_name(p + 1, end))
			continue;
		r = buf_append(&l->rest, at, (size_t)(text - 1 - at));
		if (r == 0)
			r = take_out(l, text, (size_t)(p - text));
		at = p + 1;
	}
	return r < 0 ? r : buf_append(&l->rest, at, (size_t)(end - at));
}

/* The string that stands for @value; NULL: it is one itself. */
static json_t *meant_by(const struct loading *l, const json_t *value)
{
	const char *text = json_string_value(value);
	if (json_string_length(value) != MARK_BYTES + NUMBER_DIGITS ||
		memcmp(text, l->mark, MARK_BYTES) != 0)
		return NULL;
	return json_array_get(l->strings, strtoul(text + MARK_BYTES, NULL, 10));
}

static void put_back(const struct loading *l, json_t *json)
{
	const char *name;
	json_t *value, *meant;
	size_t i;
	json_object_foreach(json, name, value)
	{
		meant = meant_by(l, value);
		if (meant)
			(void)json_object_set_nocheck(json, name, meant);
		else
			put_back(l, value);
	}
	json_array_foreach(json, i, value)
	{
		meant = meant_by(l, value);
		if (meant)
			(void)json_array_set(json, i, meant);
		else
			put_back(l, value);
	}
}

json_t *json_load_text(const char *data, size_t bytes, json_error_t *error)
{
	static const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES;
	unsigned char random[RANDOM_BYTES];
	struct loading l = {.rest = BUF_INIT(SIZE_MAX / 4), .mark = "\001"};
	json_t *json = NULL;
	if (bytes < LONG_BYTES)
		return json_loadb(data, bytes, flags, error);
	randombytes_buf(random, sizeof random);
	(void)sodium_bin2hex(l.mark + 1, sizeof l.mark - 1, random, sizeof random);
	l.strings = json_array();
	if (split(&l, data, bytes) < 0)
		(void)snprintf(error->text, sizeof error->text, "a long string is none");
	else
		json = json_loadb(buf_str(&l.rest), l.rest.bytes, flags, error);
	if (json_array_size(l.strings) > 0)
		put_back(&l, json);
	json_decref(l.strings);
	buf_done(&l.rest);
	return json;
}
