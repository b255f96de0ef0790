/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/toml.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, KEY_BYTES = 256, BARE_BYTES = 64 };

struct toml {
	const char *at, *end, *name;
	int line;
	/* The parsed document, and the table in it to which new keys are added. Both are
	 * borrowed. */
	json_t *root, *table;
	struct err *err;
};

static int bad(struct toml *t, const char *what)
{
	return err_set(t->err, ERR_USAGE, "%.100s:%d: %s", t->name, t->line, what);
}

static bool is_at(const struct toml *t, char c)
{
	return t->at < t->end && *t->at == c;
}

static bool take(struct toml *t, char c)
{
	bool is = is_at(t, c);
	t->at += is;
	return is;
}

static void skip_blanks(struct toml *t)
{
	while (is_at(t, ' ') || is_at(t, '\t'))
		t->at++;
}

/* Skip blanks, comments and ends of lines. */
static void skip_lines(struct toml *t)
{
	for (;;) {
		skip_blanks(t);
		if (is_at(t, '#'))
			while (t->at < t->end && *t->at != '\n')
				t->at++;
		if (take(t, '\n'))
			t->line++;
		else if (!take(t, '\r'))
			return;
	}
}

static int put_unicode(struct toml *t, struct buf *out, int digits)
{
	uint32_t c = 0;
	for (int i = 0; i < digits; i++, t->at++) {
		int digit = t->at < t->end ? ascii_hex_value(*t->at) : -1;
		if (digit < 0)
			return bad(t, "a \\u that no character follows");
		c = c << 4 | (uint32_t)digit;
	}
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return bad(t, "a \\u that no character follows");
	char text[UTF8_MAX_BYTES];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n; i > 1; i--, c >>= 6)
		text[i - 1] = (char)(0x80 | (c & 0x3f));
	text[0] = (char)(lead[n] | c);
	buf_append(out, text, n);
	return 0;
}

static int put_escape(struct toml *t, struct buf *out)
{
	static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
	char c = '\0';
	if (t->at < t->end)
		c = *t->at++;
	const char *known = c ? strchr(from, c) : NULL;
	if (known) {
		buf_append(out, &to[known - from], 1);
		return 0;
	}
	if (c == 'u' || c == 'U')
		return put_unicode(t, out, c == 'u' ? 4 : 8);
	return bad(t, "an unknown escape");
}

/* Read a quoted string, which may not contain a newline. */
static int read_string(struct toml *t, struct buf *out)
{
	char quote = *t->at++;
	int r = 0;
	if (t->end - t->at >= 2 && t->at[0] == quote && t->at[1] == quote)
		return bad(t, "multi-line strings are not supported");
	while (r == 0 && !take(t, quote)) {
		if (t->at == t->end || (unsigned char)*t->at < ' ')
			return bad(t, "a string without an end");
		if (quote == '"' && take(t, '\\'))
			r = put_escape(t, out);
		else
			buf_append(out, t->at++, 1);
	}
	if (r == 0 && !utf8_is_valid(buf_str(out), out->bytes))
		return bad(t, "a string that is not UTF-8");
	return r;
}

static bool is_bare(char c)
{
	return ascii_is_name(c) || c == '-';
}

static int read_name(struct toml *t, struct buf *out)
{
	skip_blanks(t);
	if (is_at(t, '"') || is_at(t, '\'')) {
		int r = read_string(t, out);
		return r < 0 || out->bytes > 0 ? r : bad(t, "an empty key");
	}
	const char *from = t->at;
	while (t->at < t->end && is_bare(*t->at))
		t->at++;
	if (t->at == from)
		return bad(t, "a key was expected here");
	buf_append(out, from, (size_t)(t->at - from));
	return 0;
}

static int read_key(struct toml *t, struct buf *out)
{
	buf_clear(out);
	int r = read_name(t, out);
	return r == 0 && buf_error(out) < 0 ? bad(t, "too long a key") : r;
}

/* Set *@table to the table @key inside *@table. Create this table if it is missing. If @key is
 * an array of tables, set *@table to the last table of the array. */
static int enter(struct toml *t, json_t **table, const char *key)
{
	json_t *below = json_object_get(*table, key);
	if (!below) {
		below = json_need(json_object());
		json_put_new(*table, key, below);
	}
	if (json_is_array(below))
		below = json_array_get(below, json_array_size(below) - 1);
	if (!json_is_object(below))
		return bad(t, "this key is not a table");
	*table = below;
	return 0;
}

/* Read a dotted key such as a.b.c. *@table becomes the table a.b, and @out the last part, "c". */
static int read_path(struct toml *t, json_t **table, struct buf *out)
{
	int r = read_key(t, out);
	for (int depth = 0; r == 0; depth++) {
		skip_blanks(t);
		if (!take(t, '.'))
			return 0;
		if (depth == DEPTH_MAX)
			return bad(t, "too deep");
		r = enter(t, table, buf_str(out));
		if (r == 0)
			r = read_key(t, out);
	}
	return r;
}

static int read_value(struct toml *t, int depth, json_t **out);

static int read_pair(struct toml *t, json_t *table, int depth)
{
	cleanup_buf struct buf key = BUF_INIT(KEY_BYTES);
	json_t *value = NULL;
	int r = read_path(t, &table, &key);
	if (r < 0)
		return r;
	if (!take(t, '='))
		return bad(t, "= was expected here");
	if (json_object_get(table, buf_str(&key)))
		return bad(t, "this key exists already");
	r = read_value(t, depth, &value);
	if (r == 0)
		json_put_new(table, buf_str(&key), value);
	return r;
}

static int read_array(struct toml *t, int depth, json_t *array)
{
	for (;;) {
		json_t *item = NULL;
		skip_lines(t);
		if (take(t, ']'))
			return 0;
		int r = read_value(t, depth, &item);
		if (r < 0)
			return r;
		json_add_new(array, item);
		skip_lines(t);
		if (!take(t, ',') && !is_at(t, ']'))
			return bad(t, "an array without an end");
	}
}

static int read_inline(struct toml *t, int depth, json_t *table)
{
	skip_blanks(t);
	if (take(t, '}'))
		return 0;
	for (;;) {
		int r = read_pair(t, table, depth);
		if (r < 0)
			return r;
		skip_blanks(t);
		if (take(t, '}'))
			return 0;
		if (!take(t, ','))
			return bad(t, "a table without an end");
	}
}

/* Read a value that has no quotes: a boolean, a number or a date. */
static json_t *read_bare(struct toml *t)
{
	char text[BARE_BYTES], *rest;
	size_t n = 0;
	while (t->at < t->end && n < sizeof text - 1 &&
		(is_bare(*t->at) || *t->at == '+' || *t->at == '.' || *t->at == ':')) {
		if (*t->at != '_')
			text[n++] = *t->at;
		t->at++;
	}
	text[n] = '\0';
	if (n == 0)
		return NULL;
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	errno = 0;
	long long whole = strtoll(text, &rest, 10);
	if (!*rest && errno == 0)
		return json_need(json_integer(whole));
	double real = strtod(text, &rest);
	if (!*rest)
		return json_real(real); /* json_real() returns NULL if the number is infinite */
	return ascii_is_digit(text[0]) && strchr(text, '-') ? json_need(json_string(text)) : NULL;
}

static int read_value(struct toml *t, int depth, json_t **out)
{
	cleanup_json json_t *value = NULL;
	int r = 0;
	skip_blanks(t);
	if (depth == DEPTH_MAX)
		return bad(t, "too deep");
	if (is_at(t, '"') || is_at(t, '\'')) {
		cleanup_buf struct buf text = BUF_INIT((size_t)(t->end - t->at) + 1);
		r = read_string(t, &text);
		value = r < 0 ? NULL : json_need(json_stringn(buf_str(&text), text.bytes));
	} else if (take(t, '[')) {
		value = json_need(json_array());
		r = read_array(t, depth + 1, value);
	} else if (take(t, '{')) {
		value = json_need(json_object());
		r = read_inline(t, depth + 1, value);
	} else {
		value = read_bare(t);
		r = value ? 0 : bad(t, "an invalid value");
	}
	if (r == 0)
		*out = take_ptr(value);
	return r;
}

/* Read the header of a table, [a.b], or of a table in an array, [[a.b]]. The first "[" has
 * already been read. */
static int read_header(struct toml *t)
{
	cleanup_buf struct buf key = BUF_INIT(KEY_BYTES);
	bool is_many = take(t, '[');
	json_t *table = t->root;
	int r = read_path(t, &table, &key);
	if (r < 0)
		return r;
	if (!take(t, ']') || (is_many && !take(t, ']')))
		return bad(t, "] was expected here");
	json_t *there = json_object_get(table, buf_str(&key));
	if (is_many && !there) {
		there = json_need(json_array());
		json_put_new(table, buf_str(&key), there);
	}
	if (is_many && !json_is_array(there))
		return bad(t, "this key is not an array of tables");
	if (is_many)
		json_add_new(there, json_need(json_object()));
	r = enter(t, &table, buf_str(&key));
	t->table = table;
	return r;
}

static int read_all(struct toml *t)
{
	int r = 0;
	for (skip_lines(t); r == 0 && t->at < t->end; skip_lines(t)) {
		r = take(t, '[') ? read_header(t) : read_pair(t, t->table, 0);
		skip_blanks(t);
		if (r == 0 && t->at < t->end && !strchr("#\r\n", *t->at))
			r = bad(t, "unexpected text after the value");
	}
	return r;
}

int toml_read(const char *text, size_t bytes, const char *name, json_t **out, struct err *err)
{
	cleanup_json json_t *root = json_need(json_object());
	struct toml t = {.at = text,
		.end = text + bytes,
		.name = name,
		.line = 1,
		.root = root,
		.table = root,
		.err = err};
	int r = read_all(&t);
	if (r == 0)
		*out = take_ptr(root);
	return r;
}
