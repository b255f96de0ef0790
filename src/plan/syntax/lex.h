/* The lexer: from source text to tokens, with the layout of Python. SPDX-License-Identifier:
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
	uint32_t start, end;	 /* offsets in the source */
	struct val value;	 /* value of a literal, or text of a name */
	uint32_t body, body_end; /* TOK_FSTRING: the text between the quotes */
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
	uint32_t indents[LEX_INDENT_MAX]; /* columns, where a tab advances to a multiple of eight */
	uint32_t alt_indents[LEX_INDENT_MAX]; /* columns, where a tab is one column */
	uint32_t n_indents;
	uint32_t n_outdents; /* number of OUTDENT tokens still to return */
	bool at_line_start;
	bool has_line;	  /* a token was returned since the last newline */
	bool in_f_string; /* the text is a piece of an f-string: newlines are space */
};

/* Begin at the start of the source, which must outlive the tokens. Returns: 0; -1 if the source is
 * too long or is not UTF-8. */
int lex_init(struct lexer *lex, struct heap *h, const struct source *src,
	const struct dialect *dialect, struct diags *diags);

/* Return the next token; at the end, TOK_EOF each time. Returns: 0; -1 with a diagnostic. */
int lex_next(struct lexer *lex, struct token *out);

/* Return the name of a token in error messages. */
const char *token_text(enum token_kind kind);
bool token_is_keyword(enum token_kind kind);
bool token_is_reserved(enum token_kind kind);

/* Read a string literal from its prefix on; @prefix is the length of the prefix. Returns: 0 or -1.
 */
int lex_string(struct lexer *lex, struct token *out, uint32_t prefix);

/* Read the text in [from, to) with its escapes; in an f-string, "{{" and "}}" become one brace.
 * Returns: 0 or -1. */
int lex_unescape(struct lexer *lex, struct token *token, uint32_t from, uint32_t to);

/* Read a number. Returns: 0 or -1. */
int lex_number(struct lexer *lex, struct token *out);

/* Add a diagnostic at [start, end). Returns: -1. */
#define lex_fail(lex, ...) heap_negative(lex_add_diag((lex), __VA_ARGS__))
int lex_add_diag(struct lexer *lex, int code, uint32_t start, uint32_t end, const char *fmt, ...)
	attr_printf(5, 6);
int lex_hint(struct lexer *lex, const char *fmt, ...) attr_printf(2, 3);
