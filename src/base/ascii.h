/* Classes of ASCII characters, independent of the locale. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(int c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Return whether @c may follow the first character of an identifier: a letter, a digit or "_". */
static inline bool ascii_is_name(int c)
{
	return ascii_is_letter(c) || ascii_is_digit(c) || c == '_';
}

/* Return whether @c is white space within a line: a space or a tab. */
static inline bool ascii_is_blank(int c)
{
	return c == ' ' || c == '\t';
}

/* Return whether @c is white space of any kind: a space, "\t", "\n", "\v", "\f" or "\r". */
static inline bool ascii_is_space(int c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Return the value of the hexadecimal digit @c, in either case; -1 if it is none. */
static inline int ascii_hex_value(int c)
{
	if (ascii_is_digit(c))
		return c - '0';
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* Return @c in lower case, if it is a letter of ASCII. */
static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
