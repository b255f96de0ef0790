/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/number.h"

#include "base/ascii.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The parser has no type for an integer beyond 64 bits. Therefore number_hide() writes the integer
 * 123456789012345678901 as the string "\u0002int 123456789012345678901".
 * mark: the beginning of such a string in JSON text.
 * parsed: the beginning of such a string after the parser has read it.
 */
static const char mark[] = "\"\\u0002int ", parsed[] = "\002int ";

/* Return the index after the string that begins at @at: after its closing quote, or at the end of
 * the text if the quote is missing. */
static size_t string_end(const char *text, size_t at, size_t bytes)
{
	for (at++; at < bytes && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at < bytes ? at + 1 : bytes;
}

static size_t number_end(const char *text, size_t at, size_t bytes)
{
	while (at < bytes && (ascii_is_digit(text[at]) || (text[at] && strchr("+-.eE", text[at]))))
		at++;
	return at;
}

/* Return whether the number is an integer beyond 64 bits. Return false for a malformed number:
 * the parser reports it. */
static bool is_big(const char *text, size_t bytes)
{
	enum { ALWAYS_FITS = 18, FITS = 20 };
	char copy[FITS + 1];
	size_t sign = text[0] == '-';
	if (bytes - sign <= ALWAYS_FITS || text[sign] == '0')
		return false;
	for (size_t i = sign; i < bytes; i++)
		if (!ascii_is_digit(text[i]))
			return false;
	if (bytes > FITS)
		return true;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	errno = 0;
	(void)strtoll(copy, NULL, 10);
	return errno == ERANGE;
}

int number_hide(const char *text, size_t bytes, struct buf *out)
{
	size_t done = 0, end;
	for (size_t at = 0; at < bytes; at = end) {
		end = at + 1;
		if (text[at] == '"')
			end = string_end(text, at, bytes);
		if (!ascii_is_digit(text[at]) && text[at] != '-')
			continue;
		end = number_end(text, at + 1, bytes);
		if (!is_big(text + at, end - at))
			continue;
		buf_append(out, text + done, at - done);
		buf_append(out, mark, sizeof mark - 1);
		buf_append(out, text + at, end - at);
		buf_append(out, "\"", 1);
		done = end;
	}
	buf_append(out, text + done, bytes - done);
	return buf_error(out);
}

/* If number_hide() wrote the string from @at to @end in place of an integer, return the length
 * of the integer in this string. For any other string, return 0. */
static size_t hidden(const char *text, size_t at, size_t end)
{
	size_t first = at + sizeof mark - 1;
	if (end < first + 2 || memcmp(text + at, mark, sizeof mark - 1) != 0)
		return 0;
	return is_big(text + first, end - 1 - first) ? end - 1 - first : 0;
}

int number_show(const char *text, size_t bytes, struct buf *out)
{
	size_t done = 0, end;
	for (size_t at = 0; at < bytes; at = end) {
		end = text[at] == '"' ? string_end(text, at, bytes) : at + 1;
		size_t n = text[at] == '"' ? hidden(text, at, end) : 0;
		if (n == 0)
			continue;
		buf_append(out, text + done, at - done);
		buf_append(out, text + at + sizeof mark - 1, n);
		done = end;
	}
	buf_append(out, text + done, bytes - done);
	return buf_error(out);
}

bool number_is_hidden(const json_t *v)
{
	const char *text = json_string_value(v);
	return text && strncmp(text, parsed, sizeof parsed - 1) == 0 &&
		is_big(text + sizeof parsed - 1, strlen(text) - (sizeof parsed - 1));
}
