/* The lexer: newlines and indentation, names, punctuation. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/lex.h"

#include "base/utf8.h"
#include "plan/value/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TAB_COLUMNS = 8 };

struct word {
	enum token_kind kind;
	const char *text;
};

#define NOTHING(symbol, text)
#define ROW(symbol, text) {symbol, text},

static const struct word keywords[] = {
#define X(symbol, text)
#define KEYWORD	 ROW
#define RESERVED ROW
#define PUNCT	 NOTHING
#include "plan/syntax/token.def"
};

static const struct word puncts[] = {
#define X(symbol, text)
#define KEYWORD	 NOTHING
#define RESERVED NOTHING
#define PUNCT	 ROW
#include "plan/syntax/token.def"
};

const char *token_text(enum token_kind kind)
{
	static const char *const texts[] = {
#define X(symbol, text) text,
#include "plan/syntax/token.def"
	};
	return (size_t)kind < ARRAY_LEN(texts) ? texts[kind] : "?";
}

bool token_is_keyword(enum token_kind kind)
{
	return kind >= TOK_AND && kind <= TOK_YIELD;
}

bool token_is_reserved(enum token_kind kind)
{
	return kind >= TOK_AS && kind <= TOK_YIELD;
}

int lex_add_diag(struct lexer *lex, int code, uint32_t start, uint32_t end, const char *fmt, ...)
{
	struct diag d = {.code = code, .start = start, .end = end};
	va_list args;
	va_start(args, fmt);
	vsnprintf(d.msg, sizeof d.msg, fmt, args);
	va_end(args);
	return diag_add(lex->diags, lex->src, &d);
}

int lex_hint(struct lexer *lex, const char *fmt, ...)
{
	va_list args;
	if (lex->diags->n == 0 || lex->diags->n_all > lex->diags->n)
		return -1;
	struct diag *d = &lex->diags->item[lex->diags->n - 1];
	va_start(args, fmt);
	vsnprintf(d->hint, sizeof d->hint, fmt, args);
	va_end(args);
	return -1;
}

int lex_init(struct lexer *lex, struct heap *h, const struct source *src,
	const struct dialect *dialect, struct diags *diags)
{
	*lex = (struct lexer){.h = h,
		.src = src,
		.dialect = dialect,
		.diags = diags,
		.end = (uint32_t)MIN(src->bytes, (size_t)LEX_SOURCE_MAX_BYTES),
		.n_indents = 1,
		.at_line_start = true};
	if (src->bytes > LEX_SOURCE_MAX_BYTES)
		return lex_fail(lex, P_LIMIT, 0, 0, "the source has %zu bytes, the limit is %d",
			src->bytes, LEX_SOURCE_MAX_BYTES);
	if (src->bytes >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0)
		lex->at = 3;
	for (size_t i = 0; i < src->bytes;) {
		int32_t c;
		size_t n = utf8_decode(src->text + i, src->bytes - i, &c);
		if (c <= 0)
			return lex_fail(lex, P_CHARACTER, (uint32_t)i, (uint32_t)(i + n),
				c < 0 ? "the source is not UTF-8 here"
				      : "a NUL character in the source");
		i += n;
	}
	return 0;
}

static char peek(const struct lexer *lex, uint32_t ahead)
{
	uint32_t at = lex->at + ahead;
	return at < lex->end ? lex->src->text[at] : '\0';
}

/* Skip the indentation of a line and measure it in columns. Returns: whether the line has code, not
 * only white space or a comment. */
static bool skip_indent(struct lexer *lex, uint32_t *column, uint32_t *alt)
{
	*column = *alt = 0;
	for (;; lex->at++) {
		char c = peek(lex, 0);
		if (c == ' ')
			*column += 1;
		else if (c == '\t')
			*column += TAB_COLUMNS - *column % TAB_COLUMNS;
		else if (c == '\f')
			*column = *alt = 0;
		else
			return !(c == '\n' || c == '#' || c == '\0' ||
				(c == '\r' && peek(lex, 1) == '\n'));
		*alt += c != '\f';
	}
}

static int check_tabs(struct lexer *lex, uint32_t column, uint32_t alt, uint32_t level)
{
	bool is_same = (column > lex->indents[level]) == (alt > lex->alt_indents[level]) &&
		(column < lex->indents[level]) == (alt < lex->alt_indents[level]);
	if (is_same || !lex->dialect->python_layout)
		return 0;
	(void)lex_fail(lex, P_INDENT, lex->at, lex->at + 1,
		"tabs and spaces are mixed in the indentation");
	return lex_hint(lex, "indent with four spaces");
}

/* Compare the indentation of a line of code with that of the open blocks. Returns: 1 with an INDENT
 * token in *out; 0, with the number of ended blocks in n_outdents; -1. */
static int indentation(struct lexer *lex, uint32_t column, uint32_t alt, struct token *out)
{
	uint32_t top = lex->n_indents - 1;
	if (check_tabs(lex, column, alt, top) < 0)
		return -1;
	if (column > lex->indents[top]) {
		if (lex->n_indents == LEX_INDENT_MAX) {
			(void)lex_fail(lex, P_LIMIT, lex->at, lex->at + 1,
				"blocks are nested deeper than %d levels", LEX_INDENT_MAX);
			return lex_hint(lex, "put the inner blocks into a function");
		}
		lex->indents[lex->n_indents] = column;
		lex->alt_indents[lex->n_indents++] = alt;
		*out = (struct token){.kind = TOK_INDENT, .start = lex->at, .end = lex->at};
		return 1;
	}
	while (column < lex->indents[lex->n_indents - 1]) {
		lex->n_indents--;
		lex->n_outdents++;
	}
	if (column != lex->indents[lex->n_indents - 1]) {
		(void)lex_fail(lex, P_INDENT, lex->at, lex->at + 1,
			"unindent does not match any outer indentation level");
		return lex_hint(lex, "align it with the block that it belongs to");
	}
	return check_tabs(lex, column, alt, lex->n_indents - 1);
}

static void skip_comment(struct lexer *lex)
{
	const char *end = memchr(lex->src->text + lex->at, '\n', lex->end - lex->at);
	lex->at = end ? (uint32_t)(end - lex->src->text) : lex->end;
}

/* Skip empty lines and comments, whose indentation has no meaning, up to a line of code.
 * Returns: 1 with an INDENT token in *out if a new block begins with this line; 0 if not; -1
 * with a diagnostic. */
static int line_start(struct lexer *lex, struct token *out)
{
	uint32_t column, alt;
	while (!skip_indent(lex, &column, &alt)) {
		if (peek(lex, 0) == '#')
			skip_comment(lex);
		if (peek(lex, 0) == '\r')
			lex->at++;
		if (lex->at >= lex->end) {
			column = alt = 0;
			break;
		}
		lex->at++;
	}
	lex->at_line_start = false;
	return indentation(lex, column, alt, out);
}

static int bad_backslash(struct lexer *lex)
{
	return lex_fail(
		lex, P_CHARACTER, lex->at, lex->at + 1, "a stray backslash: it must end its line");
}

/* Skip what may be between two tokens: white space, comments, line ends within brackets or an
 * f-string, and line ends after a backslash. Returns: 1 at a line end that ends a statement; 0
 * at a token or at the end of the text; -1 with a diagnostic, after a backslash that does not
 * end its line. */
static int skip_space(struct lexer *lex)
{
	for (;;) {
		char c = peek(lex, 0);
		bool is_inside = lex->n_brackets > 0 || lex->in_f_string;
		if (c == ' ' || c == '\t' || c == '\f' || c == '\r') {
			lex->at++;
		} else if (c == '#' && !lex->in_f_string) {
			skip_comment(lex);
		} else if (c == '\\') {
			uint32_t cr = peek(lex, 1) == '\r';
			if (peek(lex, 1 + cr) != '\n')
				return bad_backslash(lex);
			lex->at += 2 + cr;
		} else if (c == '\n' && !is_inside) {
			return 1;
		} else if (c == '\n') {
			lex->at++;
		} else {
			return 0;
		}
	}
}

static bool is_name_byte(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static int name(struct lexer *lex, struct token *out)
{
	uint32_t start = lex->at;
	while (is_name_byte(peek(lex, 0)))
		lex->at++;
	const char *text = lex->src->text + start;
	uint32_t n = lex->at - start;
	out->kind = TOK_NAME;
	out->end = lex->at;
	for (size_t i = 0; i < ARRAY_LEN(keywords) && n <= 8; i++)
		if (strlen(keywords[i].text) == n && memcmp(keywords[i].text, text, n) == 0)
			out->kind = keywords[i].kind;
	if (out->kind == TOK_LOAD && !lex->dialect->load)
		out->kind = TOK_NAME;
	for (uint32_t i = 0; i < n;) {
		int32_t c;
		size_t used = utf8_decode(text + i, n - i, &c);
		/* Reject Unicode punctuation, symbols and spaces, which models copy from prose. */
		if ((c >= 0x80 && c < 0xaa) || c == 0xd7 || c == 0xf7 ||
			(c >= 0x2000 && c <= 0x206f) || (c >= 0x20a0 && c <= 0x20cf) ||
			(c >= 0x2190 && c <= 0x2bff) || (c >= 0x3000 && c <= 0x3004) ||
			(c >= 0xff01 && c <= 0xff0f) || c >= 0xe0000 ||
			(c >= 0x1f000 && c <= 0x1faff) || (c >= 0xfe00 && c <= 0xfe0f) ||
			c == 0xfeff) {
			(void)lex_fail(lex, P_CHARACTER, start + i, start + i + (uint32_t)used,
				"unexpected character U+%04X in a name", (unsigned)c);
			return lex_hint(
				lex, "write it within quotes, or replace it by an ASCII character");
		}
		i += (uint32_t)used;
	}
	return out->kind == TOK_NAME ? str_new(lex->h, text, n, &out->value) : 0;
}

/* Return the length of the prefix of a string literal, such as 1 for r"…"; -1 if the next token is
 * not a string literal. The prefix u is found too, so that lex_string() can report it. */
static int string_prefix(const struct lexer *lex)
{
	for (uint32_t n = 0; n < 3; n++) {
		char c = peek(lex, n);
		if (c == '"' || c == '\'')
			return (int)n;
		if (!c || !strchr("rRbBfFuU", c))
			return -1;
	}
	return -1;
}

static int open_bracket(struct lexer *lex)
{
	if (lex->n_brackets < LEX_DEPTH_MAX) {
		lex->brackets[lex->n_brackets++] = lex->at;
		return 0;
	}
	(void)lex_fail(lex, P_LIMIT, lex->at, lex->at + 1,
		"brackets are nested deeper than %d levels", LEX_DEPTH_MAX);
	return lex_hint(lex, "give the inner parts names");
}

static int close_bracket(struct lexer *lex, char c)
{
	if (lex->n_brackets == 0)
		return lex_fail(lex, P_BRACKET, lex->at, lex->at + 1,
			"unexpected '%c': nothing is open", c);
	uint32_t from = lex->brackets[--lex->n_brackets], line, column;
	char open = lex->src->text[from];
	if ((c == ')' && open == '(') || (c == ']' && open == '[') || (c == '}' && open == '{'))
		return 0;
	source_place(lex->src, from, &line, &column);
	return lex_fail(lex, P_BRACKET, lex->at, lex->at + 1,
		"unexpected '%c': '%c' of line %u is open", c, open, line);
}

static int punct(struct lexer *lex, struct token *out)
{
	int32_t c;
	const char *text = lex->src->text + lex->at;
	size_t left = lex->end - lex->at;
	for (size_t i = 0; i < ARRAY_LEN(puncts); i++) {
		size_t n = strlen(puncts[i].text);
		if (n > left || memcmp(puncts[i].text, text, n) != 0)
			continue;
		if (n == 1 && strchr("([{", *text) && open_bracket(lex) < 0)
			return -1;
		if (n == 1 && strchr(")]}", *text) && close_bracket(lex, *text) < 0)
			return -1;
		lex->at += (uint32_t)n;
		out->kind = puncts[i].kind;
		out->end = lex->at;
		return 0;
	}
	uint32_t n = (uint32_t)utf8_decode(text, left, &c);
	if (c > 32 && c < 127)
		return lex_fail(lex, P_CHARACTER, lex->at, lex->at + n, "unexpected character '%c'",
			(char)c);
	return lex_fail(
		lex, P_CHARACTER, lex->at, lex->at + n, "unexpected character U+%04X", (unsigned)c);
}

static int unclosed(struct lexer *lex)
{
	uint32_t at = lex->brackets[--lex->n_brackets];
	return lex_fail(lex, P_BRACKET, at, at + 1, "'%c' is never closed", lex->src->text[at]);
}

/* Return the tokens at the end of the source, one in each call: a NEWLINE for the last line, an
 * OUTDENT for each open block, then EOF. */
static int at_end(struct lexer *lex, struct token *out)
{
	*out = (struct token){.kind = TOK_EOF, .start = lex->end, .end = lex->end};
	if (lex->n_brackets > 0)
		return unclosed(lex);
	if (lex->has_line) {
		lex->has_line = false;
		out->kind = TOK_NEWLINE;
	} else if (lex->n_indents > 1) {
		lex->n_indents--;
		out->kind = TOK_OUTDENT;
	}
	return 0;
}

int lex_next(struct lexer *lex, struct token *out)
{
	if (lex->at_line_start) {
		int r = line_start(lex, out);
		if (r)
			return r < 0 ? -1 : 0;
	}
	if (lex->n_outdents > 0) {
		lex->n_outdents--;
		*out = (struct token){.kind = TOK_OUTDENT, .start = lex->at, .end = lex->at};
		return 0;
	}
	int ends = skip_space(lex);
	if (ends < 0)
		return -1;
	*out = (struct token){.kind = TOK_NEWLINE, .start = lex->at, .end = lex->at + 1};
	if (ends) {
		lex->at++;
		lex->at_line_start = true;
		lex->has_line = false;
		return 0;
	}
	if (lex->at >= lex->end)
		return at_end(lex, out);
	lex->has_line = true;
	char c = peek(lex, 0), next = peek(lex, 1);
	int prefix = string_prefix(lex);
	if (prefix >= 0)
		return lex_string(lex, out, (uint32_t)prefix);
	if ((c >= '0' && c <= '9') || (c == '.' && next >= '0' && next <= '9'))
		return lex_number(lex, out);
	return is_name_byte(c) ? name(lex, out) : punct(lex, out);
}
