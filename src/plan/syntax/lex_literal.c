/* Read the literals: numbers and strings. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/lex.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "plan/value/int.h"
#include "plan/value/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX_BYTES = 1 << 20 };

static char at(const struct lexer *lex, uint32_t where)
{
	return where < lex->end ? lex->src->text[where] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Return whether @c continues a number. If the number begins with 0x, 0o or 0b (@has_base), any
 * word character continues it. Otherwise only digits and "_" do. */
static bool is_number_char(char c, bool has_base)
{
	return has_base ? is_word(c) : is_digit(c) || c == '_';
}

/* Copy the digits of a number without "_". Python allows "_" between two digits. */
static int clean(struct lexer *lex, uint32_t from, uint32_t to, char **out, size_t *n)
{
	char *text = heap_alloc(lex->h, to - from + 1);
	if (!text)
		return -1;
	*n = 0;
	for (uint32_t i = from; i < to; i++) {
		char c = at(lex, i);
		if (c != '_') {
			text[(*n)++] = c;
			continue;
		}
		if (!lex->dialect->python_layout || i == from || !is_word(at(lex, i + 1)) ||
			at(lex, i + 1) == '_')
			return lex_fail(lex, P_NUMBER, from, to,
				"invalid number: '_' must stand between digits");
	}
	text[*n] = '\0';
	*out = text;
	return 0;
}

static int read_int(struct lexer *lex, struct token *out, uint32_t end)
{
	static const struct {
		char letter;
		int base;
		const char *name;
	} bases[] = {{'x', 16, "hex"}, {'o', 8, "octal"}, {'b', 2, "binary"}};
	uint32_t start = out->start;
	int base = 10;
	const char *name = "decimal";
	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (at(lex, start) == '0' && (at(lex, start + 1) | 0x20) == bases[i].letter) {
			base = bases[i].base;
			name = bases[i].name;
		}
	char *text;
	size_t n, skip = base == 10 ? 0 : 2;
	if (clean(lex, start, end, &text, &n) < 0)
		return -1;
	bool is_zero = strspn(text, "0") == n;
	if (base == 10 && n > 1 && text[0] == '0' && !is_zero) {
		(void)lex_fail(
			lex, P_NUMBER, start, end, "invalid number: a decimal with a leading zero");
		return lex_hint(
			lex, "write 0o%.40s for an octal number, or leave the zero out", text + 1);
	}
	if (base == 10 && n > 1 && is_zero && !lex->dialect->python_layout)
		return lex_fail(
			lex, P_NUMBER, start, end, "obsolete form of octal literal: use 0o0");
	int r = int_parse(lex->h, text + skip, n - skip, base, &out->value);
	heap_release(lex->h, text, end - start + 1);
	out->kind = TOK_INT;
	if (r > 0)
		return lex_fail(lex, P_NUMBER, start, end, "invalid %s number", name);
	return r;
}

static int read_float(struct lexer *lex, struct token *out, uint32_t end)
{
	char *text, *stop;
	size_t n;
	if (clean(lex, out->start, end, &text, &n) < 0)
		return -1;
	double f = strtod(text, &stop);
	out->kind = TOK_FLOAT;
	out->value = VAL_FLOAT(f);
	if (*stop)
		return lex_fail(lex, P_NUMBER, out->start, end, "invalid float number");
	if (isinf(f))
		return lex_fail(lex, P_NUMBER, out->start, end, "floating-point literal too large");
	return 0;
}

int lex_number(struct lexer *lex, struct token *out)
{
	uint32_t start = lex->at, i = start;
	char base = (char)(at(lex, i + 1) | 0x20);
	bool is_float = false,
	     is_hex = at(lex, i) == '0' && (base == 'x' || base == 'o' || base == 'b');
	for (;; i++) {
		char c = at(lex, i), next = at(lex, i + 1);
		if (c == '.' && !is_hex && !is_float) {
			is_float = true;
		} else if ((c | 0x20) == 'e' && !is_hex &&
			(is_digit(next) || next == '+' || next == '-')) {
			is_float = true;
			i += !is_digit(next);
		} else if (!is_number_char(c, is_hex)) {
			break;
		}
	}
	lex->at = out->end = i;
	if (i - start > NUMBER_MAX_BYTES)
		return lex_fail(lex, P_NUMBER, start, start + 20,
			"a number of %u digits: it is too large", i - start);
	return is_float ? read_float(lex, out, i) : read_int(lex, out, i);
}

/* Find the closing quotes of a literal whose text begins at @from. Returns: 0 or -1. */
static int find_end(struct lexer *lex, struct token *out, uint32_t from, size_t n_quotes)
{
	char quote = at(lex, from - 1);
	uint32_t i = from;
	for (; i < lex->end; i++) {
		char c = at(lex, i);
		if (c == '\\')
			i += at(lex, i + 1) == '\r' && at(lex, i + 2) == '\n' ? 2 : 1;
		else if (c == '\n' && n_quotes == 1)
			break;
		else if (c == quote &&
			(n_quotes == 1 || (at(lex, i + 1) == quote && at(lex, i + 2) == quote))) {
			out->body = from;
			out->body_end = i;
			lex->at = out->end = i + (uint32_t)n_quotes;
			return 0;
		}
	}
	lex->at = MIN(i, lex->end);
	(void)lex_fail(lex, P_STRING, out->start, MIN(i, lex->end),
		n_quotes == 1 ? "this string literal does not end on its line"
			      : "this string literal is never closed");
	return lex_hint(lex,
		n_quotes == 1 ? "close it with %c, or use three quotes for several lines"
			      : "close it with three %c",
		quote);
}

static int check_prefix(struct lexer *lex, struct token *out, uint32_t prefix, bool is_f)
{
	uint32_t end = out->start + prefix;
	for (uint32_t i = out->start; i < end; i++)
		if ((at(lex, i) | 0x20) == 'u') {
			(void)lex_fail(lex, P_STRING, out->start, end, "no such string prefix");
			return lex_hint(lex, "leave it out: every string is Unicode");
		}
	if (is_f && !lex->dialect->f_strings) {
		(void)lex_fail(
			lex, P_PYTHON, out->start, out->end, "f-strings are not in this dialect");
		return lex_hint(lex, "use \"…%%s…\" %% value or \"…{}…\".format(value)");
	}
	return 0;
}

int lex_string(struct lexer *lex, struct token *out, uint32_t prefix)
{
	bool is_bytes = false, is_f = false;
	for (uint32_t i = 0; i < prefix; i++) {
		char c = (char)(at(lex, lex->at + i) | 0x20);
		out->is_raw |= c == 'r';
		is_bytes |= c == 'b';
		is_f |= c == 'f';
	}
	uint32_t from = lex->at + prefix;
	char quote = at(lex, from);
	size_t n_quotes = at(lex, from + 1) == quote && at(lex, from + 2) == quote ? 3 : 1;
	out->kind = is_f ? TOK_FSTRING : is_bytes ? TOK_BYTES : TOK_STRING;
	if (find_end(lex, out, from + (uint32_t)n_quotes, n_quotes) < 0 ||
		check_prefix(lex, out, prefix, is_f) < 0)
		return -1;
	if (is_f)
		return is_bytes ? lex_fail(lex, P_STRING, out->start, out->end,
					  "bytes cannot be an f-string")
				: 0;
	return lex_unescape(lex, out, out->body, out->body_end);
}

/* Read the @n hexadecimal digits of an escape sequence \x, \u or \U. Returns: the value; -1 with a
 * diagnostic. */
static int64_t hex_escape(struct lexer *lex, uint32_t *i, uint32_t to, uint32_t n)
{
	int64_t value = 0;
	uint32_t start = *i;
	for (uint32_t k = 0; k < n; k++) {
		int d = start + 2 + k < to ? ascii_hex_value(at(lex, start + 2 + k)) : -1;
		if (d < 0)
			return lex_fail(lex, P_ESCAPE, start, start + 2 + k,
				"truncated escape sequence \\%c: it has %u hex digits",
				at(lex, start + 1), n);
		value = value * 16 + d;
	}
	*i += 2 + n;
	return value;
}

static int64_t octal_escape(struct lexer *lex, uint32_t *i, uint32_t to)
{
	int64_t value = 0;
	uint32_t start = *i, n = 0;
	while (n < 3 && start + 1 + n < to && at(lex, start + 1 + n) >= '0' &&
		at(lex, start + 1 + n) <= '7')
		value = value * 8 + (at(lex, start + 1 + n++) - '0');
	*i += 1 + n;
	return value;
}

static int code_point(struct lexer *lex, struct text *t, uint32_t from, uint32_t to, int64_t value)
{
	if (value > 0x10ffff)
		return lex_fail(
			lex, P_ESCAPE, from, to, "code point out of range: at most U+10FFFF");
	if (value >= 0xd800 && value <= 0xdfff)
		return lex_fail(lex, P_ESCAPE, from, to, "U+%04X is a surrogate, no character",
			(unsigned)value);
	return text_char(t, (int32_t)value);
}

/* Append @value, which an escape sequence such as \x41 or \101 stands for. In a bytes literal,
 * @value is one byte. In a string, @value is a character: at most U+007F in Starlark, at most
 * U+00FF in Python. */
static int byte_escape(
	struct lexer *lex, struct text *t, const struct token *token, int64_t value, uint32_t from)
{
	bool is_bytes = token->kind == TOK_BYTES;
	if (value > 255 || (value > 127 && !is_bytes && !lex->dialect->python_layout)) {
		(void)lex_fail(lex, P_ESCAPE, from, from + 4,
			"non-ASCII octal or hex escape: \\%.3s", lex->src->text + from + 1);
		return lex_hint(lex, "use \\u%04x for the code point", (unsigned)value & 0xffff);
	}
	if (!is_bytes)
		return text_char(t, (int32_t)value);
	char c = (char)value;
	return text_add(t, &c, 1);
}

static int escape(
	struct lexer *lex, struct text *t, const struct token *token, uint32_t *i, uint32_t to)
{
	static const char from[] = "abfnrtv\\'\"", into[] = "\a\b\f\n\r\t\v\\'\"";
	uint32_t start = *i;
	char c = at(lex, start + 1);
	const char *simple = c ? strchr(from, c) : NULL;
	if (simple && start + 1 < to) {
		*i += 2;
		return text_add(t, &into[simple - from], 1);
	}
	if (c == '\n' || (c == '\r' && at(lex, start + 2) == '\n')) {
		*i += c == '\n' ? 2 : 3;
		return 0;
	}
	int64_t value;
	if (c >= '0' && c <= '7')
		value = octal_escape(lex, i, to);
	else if (c == 'x')
		value = hex_escape(lex, i, to, 2);
	else if (c == 'u' || c == 'U')
		value = hex_escape(lex, i, to, c == 'u' ? 4 : 8);
	else {
		(void)lex_fail(lex, P_ESCAPE, start, start + 2, "invalid escape sequence \\%.1s",
			c > 32 && c < 127 ? lex->src->text + start + 1 : "");
		return lex_hint(lex, "write \\\\ for a backslash, or r\"…\"");
	}
	if (value < 0)
		return -1;
	if (c == 'u' || c == 'U')
		return code_point(lex, t, start, *i, value);
	return byte_escape(lex, t, token, value, start);
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of cases */
int lex_unescape(struct lexer *lex, struct token *token, uint32_t from, uint32_t to)
{
	struct text t = {.h = lex->h};
	bool is_f = token->kind == TOK_FSTRING;
	for (uint32_t i = from; i < to;) {
		char c = at(lex, i);
		uint32_t n = i;
		if (c == '\\' && !token->is_raw) {
			if (escape(lex, &t, token, &i, to) < 0)
				return -1;
			continue;
		}
		while (n < to && at(lex, n) != '\r' && (at(lex, n) != '\\' || token->is_raw) &&
			!(is_f && (at(lex, n) == '{' || at(lex, n) == '}')))
			n++;
		/* In the value of a literal each line ends in "\n", even if the file has "\r\n" or
		 * "\r". */
		uint32_t skip = at(lex, n) == '\r' && n < to ? 1 + (at(lex, n + 1) == '\n') : 0;
		if (text_add(&t, lex->src->text + i, n - i) < 0 ||
			(skip && text_add(&t, "\n", 1) < 0))
			return -1;
		if (is_f && n < to && !skip && (at(lex, n) == '{' || at(lex, n) == '}')) {
			if (text_add(&t, lex->src->text + n, 1) < 0)
				return -1;
			skip = 2;
		}
		i = n + skip;
	}
	return text_take(&t, token->kind == TOK_BYTES ? T_BYTES : T_STRING, &token->value);
}
