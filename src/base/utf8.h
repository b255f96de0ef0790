/* Text from outsiders: validation of UTF-8, and escaping for terminals. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX_BYTES = 4, UTF8_REPLACEMENT = 0xfffd };

/*
 * Read one character. Invalid bytes are consumed by maximal subparts: three bytes of a truncated
 * four-byte character are one error.
 *
 * Source:  The Unicode Standard 15, table 3-7 and "U+FFFD Substitution of Maximal Subparts".
 * Returns: how many bytes it took (0 only when @bytes is 0); *@character is -1 when invalid.
 */
size_t utf8_decode(const void *data, size_t bytes, int32_t *character);

/* Is the text valid UTF-8? */
bool utf8_is_valid(const void *data, size_t bytes);

/* Returns: how many characters; each invalid subpart counts as one. */
size_t utf8_count(const void *data, size_t bytes);

/*
 * Append @data with every invalid subpart as U+FFFD. The buffer is untouched on failure.
 * Limits:  that of @out; the result may be three times as long as @data.
 * Returns: 0, -E2BIG, -ENOMEM; *@n_replaced (may be NULL) is raised by what was replaced.
 */
int utf8_repair(struct buf *out, const void *data, size_t bytes, size_t *n_replaced);

/*
 * Append @data as a string of JSON, in its quotes. Invalid subparts become U+FFFD.
 * Source:  RFC 8259, section 7.
 * Returns: buf_error().
 */
int utf8_quote(struct buf *out, const void *data, size_t bytes);

/* Returns: the most bytes of @data, at most @max_bytes, that do not end inside a character. */
size_t utf8_cut(const void *data, size_t bytes, size_t max_bytes);

enum utf8_lines {
	UTF8_KEEP_LINES, /* newline and tab stay */
	UTF8_ONE_LINE,	 /* they are escaped as well */
};

/*
 * Append @data so that a terminal shows it and does not interpret it: controls of C0 and C1, DEL
 * and invalid bytes become \xNN; line and paragraph separators, the bidirectional embeddings,
 * overrides and isolates, and all invisible characters (U+200B, U+FEFF, …) become \uNNNN or
 * \UNNNNNNNN. With UTF8_KEEP_LINES a joiner or a variation selector stays behind a character
 * beyond ASCII, where words and emoji are spelled so. The buffer is untouched on failure.
 *
 * Source:  ECMA-48; Unicode UAX #9; CVE-2021-42574.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int utf8_escape_terminal(struct buf *out, const void *data, size_t bytes, enum utf8_lines lines);

/* Does the text contain an invisible character, by which two different names would look the same?
 */
bool utf8_has_invisible(const void *data, size_t bytes);
