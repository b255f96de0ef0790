/* SPDX-License-Identifier: Apache-2.0
 *
 * Nearly all that an engine sends about a program is its output, in events. A parser that looks at
 * each character and copies each string twice would take ten times as long as all else that is done
 * with it. So the one long string is found with memmem(3), and decoded by itself. Its key cannot be
 * found within another string, because there its quotes would be escaped. Whatever is unusual is
 * left to the parser. Of an event with raw output, the few members that a client needs are found in
 * the same way.
 */
#include "cli/process/event_line.h"

#include <stdint.h>
#include <string.h>

enum { BEGIN_BYTES = 512, DIGITS_MAX = 18 };

static const char prefix[] = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{";
static const char key[] = "\"data\":\"";

/* Decode the four digits behind "\u". Returns: -1 if there are none, or the half of a pair. */
static int32_t read_unit(const char *at, const char *end)
{
	int32_t c = 0;
	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *digit = strchr(digits, at[i] | 0x20);
		if (!at[i] || !digit)
			return -1;
		c = c * 16 + (int32_t)(digit - digits);
	}
	return c >= 0xd800 && c < 0xe000 ? -1 : c;
}

/* Write @c in UTF-8. Returns: the number of bytes. */
static size_t write_character(char *out, int32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* Decode the escape sequence at *@at, which is behind the backslash, and move *@at behind it.
 * Returns: the number of bytes written; 0: it is unusual. */
static size_t unescape(const char **at, const char *end, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = *at < end ? *(*at)++ : '\0';
	const char *found = c ? strchr(from, c) : NULL;
	if (found) {
		*out = to[found - from];
		return 1;
	}
	int32_t unit = c == 'u' ? read_unit(*at, end) : -1;
	if (unit < 0)
		return 0;
	*at += 4;
	return write_character(out, unit);
}

/* Decode the string at @at. Returns: its closing quote; NULL: it is unusual. */
static const char *read_string(const char *at, const char *end, struct buf *out)
{
	/* No escape sequence is shorter than what it stands for. */
	char *to = buf_reserve(out, (size_t)(end - at) + 1), *start = to;
	while (to && at < end && *at != '"') {
		if (*at != '\\') {
			*to++ = *at++;
			continue;
		}
		at++;
		size_t n = unescape(&at, end, to);
		if (n == 0)
			return NULL;
		to += n;
	}
	if (!to || at == end)
		return NULL;
	buf_grown(out, (size_t)(to - start));
	return at;
}

/* Find @name in the line, and read the number behind it. Returns: what follows the number; NULL:
 * there is no such number. */
static const char *read_number(const char *line, const char *end, const char *name, uint64_t *out)
{
	const char *at = memmem(line, (size_t)(end - line), name, strlen(name));
	if (!at)
		return NULL;
	const char *first = at += strlen(name);
	for (*out = 0; at < end && *at >= '0' && *at <= '9' && at - first < DIGITS_MAX; at++)
		*out = *out * 10 + (uint64_t)(*at - '0');
	return at > first ? at : NULL;
}

bool event_line_raw(const char *line, size_t bytes, struct event_raw *out)
{
	static const char raw[] = "\"encoding\":\"raw\",\"bytes\":",
			  err[] = "\"stream\":\"stderr\"";
	const size_t n_prefix = sizeof prefix - 1;
	*out = (struct event_raw){0};
	if (bytes < n_prefix || bytes > BEGIN_BYTES || memcmp(line, prefix, n_prefix) != 0)
		return false;
	const char *end = line + bytes, *rest = read_number(line, end, raw, &out->bytes);
	if (!rest || end - rest != 2 || memcmp(rest, "}}", 2) != 0)
		return false;
	(void)read_number(line, end, "\"cut_bytes\":", &out->cut_bytes);
	out->is_stderr = memmem(line, bytes, err, sizeof err - 1) != NULL;
	return true;
}

bool event_line_cut(const char *line, size_t bytes, struct buf *data, struct buf *rest)
{
	const size_t n_prefix = sizeof prefix - 1, n_key = sizeof key - 1;
	if (bytes < n_prefix || memcmp(line, prefix, n_prefix) != 0)
		return false;
	const char *end = line + bytes;
	size_t n_begin = bytes < BEGIN_BYTES ? bytes : BEGIN_BYTES;
	const char *found = memmem(line, n_begin, key, n_key);
	const char *close = found ? read_string(found + n_key, end, data) : NULL;
	if (!close)
		return false;
	return buf_append(rest, line, (size_t)(found - line) + n_key) == 0 &&
		buf_append(rest, close, (size_t)(end - close)) == 0;
}
