/* Text from outsiders: validation and repair of UTF-8, and escaping for terminals.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX_BYTES = 4, UTF8_REPLACEMENT = 0xfffd };

/*
 * Decode one character. Invalid bytes are consumed as the standard recommends: the first three
 * bytes of a four-byte character that is cut off are one error ("maximal subpart"), not three.
 *
 * Source: The Unicode Standard 15, table 3-7 and "U+FFFD Substitution of Maximal Subparts".
 * Returns: the number of bytes consumed (0 only when @bytes is 0); *@character is -1 for invalid
 * bytes.
 */
size_t utf8_decode(const void *data, size_t bytes, int32_t *character);

/* Return whether @data is valid UTF-8. */
bool utf8_is_valid(const void *data, size_t bytes);

/* Count the characters of @data. Each invalid subpart is counted as one. */
size_t utf8_count(const void *data, size_t bytes);

/*
 * Append @data to @out, with U+FFFD in place of every invalid subpart. On failure @out is unchanged
 * except for its error. Unless @n_replaced is NULL, add the number of replacements to *@n_replaced.
 * Limits: that of @out; the result may be three times as long as @data.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int utf8_repair(struct buf *out, const void *data, size_t bytes, size_t *n_replaced);

/*
 * Append @data as a JSON string with its quotes, and with U+FFFD in place of invalid bytes.
 * Source: RFC 8259, section 7.
 * Returns: buf_error().
 */
int utf8_quote(struct buf *out, const void *data, size_t bytes);

/* Return the length of the longest prefix of @data, at most @max_bytes, that does not end inside
 * a character. */
size_t utf8_cut(const void *data, size_t bytes, size_t max_bytes);

/* Return the number of bytes at the end of @data that are the beginning of an incomplete character.
 */
size_t utf8_unfinished(const void *data, size_t bytes);

enum utf8_lines {
	UTF8_KEEP_LINES, /* newline and tab are kept */
	UTF8_ONE_LINE,	 /* newline and tab are escaped like other controls */
};

/*
 * Append @data so that a terminal shows it without interpreting it.
 *
 * Control characters (C0, C1 and DEL) and invalid bytes become \xNN. Line and paragraph separators,
 * characters that change the writing direction, and all invisible characters (U+200B, U+FEFF, …)
 * become \uNNNN or \UNNNNNNNN. Some words and emoji contain joiners and variation selectors, so
 * with UTF8_KEEP_LINES these are kept after a character beyond ASCII. On failure @out is unchanged
 * except for its error.
 *
 * Source: ECMA-48; Unicode UAX #9; CVE-2021-42574.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int utf8_escape_terminal(struct buf *out, const void *data, size_t bytes, enum utf8_lines lines);

/*
 * Append the JSON text @data so that a terminal shows it without interpreting it, and so that it
 * means the same: what utf8_escape_terminal() escapes with UTF8_KEEP_LINES becomes \uNNNN, in
 * surrogate pairs beyond U+FFFF. On failure @out is unchanged except for its error.
 *
 * Source: RFC 8259, section 7.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int utf8_escape_json(struct buf *out, const void *data, size_t bytes);

/* Return whether @data has an invisible character, which can make two different names look the
 * same. */
bool utf8_has_invisible(const void *data, size_t bytes);
