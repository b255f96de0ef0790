/*
 * A scanner for SQL. It knows words, strings, quoted names, comments and single characters, which
 * is enough to tell where statements and dot commands begin and which words a statement contains.
 * Whether SQL is valid is left to SQLite's parser: here, a string or comment that is not closed
 * simply extends to the end of the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scan.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *scan_blanks(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n\f\v");
		if (text[0] == '-' && text[1] == '-') {
			text += strcspn(text, "\n");
		} else if (text[0] == '/' && text[1] == '*') {
			const char *end = strstr(text + 2, "*/");
			text = end ? end + 2 : text + strlen(text);
		} else {
			return text;
		}
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/*
 * Skip past the closing quote @close. Two of them stand for a character within the quotes, except
 * for "]", which cannot be doubled.
 */
static const char *skip_quoted(const char *text, char close)
{
	while (*text) {
		if (*text++ != close)
			continue;
		if (close == ']' || *text != close)
			break;
		text++;
	}
	return text;
}

struct token scan_token(const char **text)
{
	const char *at = scan_blanks(*text), *end = at;
	enum scan_kind kind = SCAN_SIGN;
	if (!*at) {
		kind = SCAN_END;
	} else if (is_word(*at)) {
		kind = SCAN_WORD;
		while (is_word(*end))
			end++;
	} else if (*at == '\'') {
		kind = SCAN_STRING;
		end = skip_quoted(at + 1, '\'');
	} else if (*at == '"' || *at == '`' || *at == '[') {
		kind = SCAN_NAME;
		end = skip_quoted(at + 1, *at == '[' ? ']' : *at);
	} else {
		end++;
	}
	*text = end;
	return (struct token){.kind = kind, .text = at, .bytes = (size_t)(end - at)};
}

bool scan_is(const struct token *t, const char *word)
{
	return strlen(word) == t->bytes && strncasecmp(t->text, word, t->bytes) == 0;
}

bool scan_plain(const struct token *t, char *out, size_t max)
{
	const char *p = t->text;
	size_t n = t->bytes, at = 0;
	char quote = '\0';
	if (t->kind == SCAN_STRING || t->kind == SCAN_NAME) {
		quote = *p == '[' ? ']' : *p;
		p++;
		n -= n > 1 && t->text[n - 1] == quote ? 2 : 1;
	}
	for (size_t i = 0; i < n; i++) {
		if (at + 1 >= max)
			return false;
		out[at++] = p[i];
		if (quote && quote != ']' && p[i] == quote)
			i++;
	}
	out[at] = '\0';
	return true;
}
