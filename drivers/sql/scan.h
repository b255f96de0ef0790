/*
 * SQL as tokens: enough to find where statements begin. Pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum scan_kind { SCAN_END, SCAN_WORD, SCAN_STRING, SCAN_NAME, SCAN_SIGN };

struct token {
	enum scan_kind kind; /* word, 'string', "name" `name` [name], or one byte */
	const char *text;
	size_t bytes;
};

/* Skip blanks and comments; an unterminated comment extends to the end. */
const char *scan_blanks(const char *text);

/* Read the next token; @text moves past it. */
struct token scan_token(const char **text);

/* Is it this word, regardless of case? */
bool scan_is(const struct token *t, const char *word);

/* Copy a token without its quotes. Returns: false when it is longer than @max. */
bool scan_plain(const struct token *t, char *out, size_t max);
