/* Text from outsiders: validation and repair of UTF-8, and escaping for terminals.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX_BYTES = 4, UTF8_REPLACEMENT = 0xfffd };

/*
 * Decode one character. Invalid bytes are consumed by maximal subparts: three bytes of a truncated
 * four-byte character are one error.
 *
 * Source: The Unicode Standard 15, table 3-7 and "U+FFFD Substitution of Maximal Subparts".
 * Returns: the number of bytes consumed (0 only when @bytes is 0); *@character is -1 for invalid
 * bytes.
 */
size_t utf8_decode(const void *data, size_t bytes, int32_t *character);

/* Is the text valid UTF-8? */
bool utf8_is_valid(const void *data, size_t bytes);

/* Count the characters; each invalid subpart is counted as one. */
size_t utf8_count(const void *data, size_t bytes);

/*
 * Append @data with every invalid subpart as U+FFFD. The buffer is unchanged on failure.
 * Limits: that of @out; the result may be three times as long as @data.
 * Returns: 0, -E2BIG, -ENOMEM; *@n_replaced (@n_replaced may be NULL) is increased by the number of
 * replacements.
 */
int utf8_repair(struct buf *out, const void *data, size_t bytes, size_t *n_replaced);

/*
 * Append @data as a JSON string with its quotes. Invalid subparts become U+FFFD.
 * Source: RFC 8259, section 7.
 * Returns: buf_error().
 */
int utf8_quote(struct buf *out, const void *data, size_t bytes);

/* Return the length of the longest prefix of @data, at most @max_bytes, that does not end inside a
 * character. */
size_t utf8_cut(const void *data, size_t bytes, size_t max_bytes);

enum utf8_lines {
	UTF8_KEEP_LINES, /* newline and tab are kept */
	UTF8_ONE_LINE,	 /* newline and tab are escaped, too */
};

/*
 * Append @data so that a terminal shows it without interpreting it: controls of C0 and C1, DEL and
 * invalid bytes become \xNN; line and paragraph separators, the bidirectional embeddings, overrides
 * and isolates, and all invisible characters (U+200B, U+FEFF, …) become \uNNNN or \UNNNNNNNN. With
 * UTF8_KEEP_LINES a joiner or a variation selector is kept after a character beyond ASCII, because
 * some words and emoji contain them. The buffer is unchanged on failure.
 *
 * Source: ECMA-48; Unicode UAX #9; CVE-2021-42574.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int utf8_escape_terminal(struct buf *out, const void *data, size_t bytes, enum utf8_lines lines);

/* Does the text contain an invisible character, which can make two different names look the
 * same? */
bool utf8_has_invisible(const void *data, size_t bytes);
