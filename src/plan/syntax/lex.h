/* The lexer: split source text into tokens, with the layout of Python. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/syntax/diag.h"
#include "plan/syntax/dialect.h"
#include "plan/value/value.h"

enum token_kind {
#define X(symbol, text) symbol,
#include "plan/syntax/token.def"
	N_TOKENS
};

enum {
	LEX_DEPTH_MAX = 200,  /* nested brackets */
	LEX_INDENT_MAX = 100, /* nested blocks */
	LEX_SOURCE_MAX_BYTES = 16 << 20,
};

struct token {
	enum token_kind kind;
	uint32_t start, end;	 /* byte offsets in the source */
	struct val value;	 /* value of a literal, or text of a name */
	uint32_t body, body_end; /* string literals: offsets of the text between the quotes */
	bool is_raw;
};

struct lexer {
	struct heap *h;
	const struct source *src;
	const struct dialect *dialect;
	struct diags *diags;
	uint32_t at, end;
	uint32_t brackets[LEX_DEPTH_MAX]; /* offset of each open bracket */
	uint32_t n_brackets;
	/* For each open block, the column at which its lines begin. A tab advances to the next
	 * multiple of eight. */
	uint32_t indents[LEX_INDENT_MAX];
	/* For each open block, the column at which its lines begin if a tab counts as one
	 * column. If `indents` and `alt_indents` lead to different results, tabs and spaces are
	 * mixed. */
	uint32_t alt_indents[LEX_INDENT_MAX];
	uint32_t n_indents;
	uint32_t n_outdents; /* number of OUTDENT tokens that are still to be returned */
	bool at_line_start;
	bool has_line; /* whether a token of the current line was returned */
	/* the text is an expression in an f-string, where newlines are white space */
	bool in_f_string;
};

/* Start to read the source, which must outlive the tokens. Returns: 0; -1 if the source is too long
 * or is not UTF-8. */
int lex_init(struct lexer *lex, struct heap *h, const struct source *src,
	const struct dialect *dialect, struct diags *diags);

/* Read the next token into *out. At the end of the source it is TOK_EOF, in each call. Returns: 0;
 * -1 with a diagnostic. */
int lex_next(struct lexer *lex, struct token *out);

/* Return the name that error messages use for a token. */
const char *token_text(enum token_kind kind);
bool token_is_keyword(enum token_kind kind);
bool token_is_reserved(enum token_kind kind);

/* Read a string literal. @prefix is the length of its prefix, such as r or f. Returns: 0 or -1. */
int lex_string(struct lexer *lex, struct token *out, uint32_t prefix);

/* Set the value of @token to the source text in [@from, @to), with escape sequences replaced. In an
 * f-string, "{{" and "}}" become one brace. Returns: 0 or -1. */
int lex_unescape(struct lexer *lex, struct token *token, uint32_t from, uint32_t to);

/* Read a number. Returns: 0 or -1. */
int lex_number(struct lexer *lex, struct token *out);

/* lex_fail(): add a diagnostic for the source text in [start, end). lex_hint(): add a suggested
 * rewrite to the last diagnostic. Returns: -1. */
#define lex_fail(lex, ...) heap_negative(lex_add_diag((lex), __VA_ARGS__))
int lex_add_diag(struct lexer *lex, int code, uint32_t start, uint32_t end, const char *fmt, ...)
	attr_printf(5, 6);
int lex_hint(struct lexer *lex, const char *fmt, ...) attr_printf(2, 3);
