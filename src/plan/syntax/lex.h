/* Source text to tokens, with the layout of Python. SPDX-License-Identifier: Apache-2.0 */
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
	LEX_DEPTH_MAX = 200,  /* brackets within brackets */
	LEX_INDENT_MAX = 100, /* blocks within blocks */
	LEX_SOURCE_MAX_BYTES = 16 << 20,
};

struct token {
	enum token_kind kind;
	uint32_t start, end;	 /* offsets in the source */
	struct val value;	 /* of a literal; the text of a name */
	uint32_t body, body_end; /* TOK_FSTRING: the text between the quotes */
	bool is_raw;
};

struct lexer {
	struct heap *h;
	const struct source *src;
	const struct dialect *dialect;
	struct diags *diags;
	uint32_t at, end;
	uint32_t brackets[LEX_DEPTH_MAX]; /* where each open one is */
	uint32_t n_brackets;
	uint32_t indents[LEX_INDENT_MAX];     /* columns, tabs to eight */
	uint32_t alt_indents[LEX_INDENT_MAX]; /* columns, tabs as one */
	uint32_t n_indents;
	uint32_t n_outdents; /* still to be given */
	bool at_line_start;
	bool has_line;	  /* a token was given since the last newline */
	bool in_f_string; /* a piece of one: newlines are space */
};

/* Over the whole source, which outlives the tokens. Returns: 0, or -1: too long, or no UTF-8. */
int lex_init(struct lexer *lex, struct heap *h, const struct source *src,
	const struct dialect *dialect, struct diags *diags);

/* The next token; at the end TOK_EOF again and again. Returns: 0, or -1 with a diagnostic. */
int lex_next(struct lexer *lex, struct token *out);

/* How errors call a token. */
const char *token_text(enum token_kind kind);
bool token_is_keyword(enum token_kind kind);
bool token_is_reserved(enum token_kind kind);

/* Read a literal from its first quote on, prefix included. Returns: 0 or -1. */
int lex_string(struct lexer *lex, struct token *out, uint32_t prefix);

/* Read the escapes of [from, to); in an f-string "{{" and "}}" are halved. Returns: 0 or -1. */
int lex_unescape(struct lexer *lex, struct token *token, uint32_t from, uint32_t to);

/* Read a number. Returns: 0 or -1. */
int lex_number(struct lexer *lex, struct token *out);

/* A diagnostic at [start, end). Returns: -1. */
#define lex_fail(lex, ...) heap_negative(lex_add_diag((lex), __VA_ARGS__))
int lex_add_diag(struct lexer *lex, int code, uint32_t start, uint32_t end, const char *fmt, ...)
	attr_printf(5, 6);
int lex_hint(struct lexer *lex, const char *fmt, ...) attr_printf(2, 3);
