/*
 * Split SQL into tokens, which is enough to find where statements begin. These are pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum scan_kind { SCAN_END, SCAN_WORD, SCAN_STRING, SCAN_NAME, SCAN_SIGN };

struct token {
	enum scan_kind
		kind; /* a word, a 'string', a name ("name", `name`, [name]), or a single byte */
	const char *text;
	size_t bytes;
};

/* Skip blanks and comments. A comment that is not closed extends to the end. */
const char *scan_blanks(const char *text);

/* Read the next token. *@text moves past it. */
struct token scan_token(const char **text);

/* Return whether the token is @word, regardless of case. */
bool scan_is(const struct token *t, const char *word);

/* Copy a token to @out, without its quotes. Returns: false when it does not fit into @max bytes. */
bool scan_plain(const struct token *t, char *out, size_t max);
