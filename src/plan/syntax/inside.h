/* Declarations that the files of the parser share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum { PARSE_DEPTH_MAX = 250 }; /* how deeply expressions and blocks may be nested */

struct parser {
	struct lexer lex;
	struct heap *h;
	const struct source *src;
	struct dialect dialect;
	struct token token; /* the next token */
	uint32_t last_end;  /* end offset of the token before `token` */
	uint32_t depth;
	uint32_t n_functions; /* how many functions enclose the current place */
	/* Do not parse `x if c else y`. This is set for a lambda in the condition of a
	 * comprehension. */
	bool no_if;
	/* Do not parse `in` as an operator. This is set for loop variables, which end at `in`. */
	bool no_in;
};

/* The children of a node that is being built. */
struct kids {
	struct node **item;
	uint32_t n, room;
};
int kids_add(struct parser *p, struct kids *kids, struct node *node);

/* Create a node. Returns: NULL with a diagnostic or with the failure of the heap set. */
struct node *node_new(struct parser *p, enum node_kind kind, uint32_t start, struct kids *kids);
struct node *node_of(struct parser *p, enum node_kind kind, uint32_t start, size_t n, ...);
struct node *node_name(struct parser *p);

/*
 * Parse what begins at the next token:
 * parse_test(): one expression.
 * parse_binary(): an expression whose operators have at least the precedence @least.
 * parse_exprs(): one expression, or a tuple without parentheses.
 * parse_targets(): the loop variables before `in`.
 */
struct node *parse_test(struct parser *p);
struct node *parse_binary(struct parser *p, int least);
struct node *parse_exprs(struct parser *p);
struct node *parse_targets(struct parser *p);
struct node *parse_f_string(struct parser *p);
struct node *parse_display(struct parser *p);
int parse_arguments(struct parser *p, struct kids *kids);
int parse_params(struct parser *p, struct kids *kids, enum token_kind end, bool has_types);

/* Check that @node can be assigned to. With @is_augmented, check that it can be the target of an
 * operator such as +=. Returns: 0 or -1. */
int check_target(struct parser *p, const struct node *node, bool is_augmented);

/* advance(): read the next token. is_at(): return whether the next token is of @kind. expect():
 * read a token, which must be of @kind. Returns: 0 or -1. */
int advance(struct parser *p);
bool is_at(const struct parser *p, enum token_kind kind);
int expect(struct parser *p, enum token_kind kind, const char *what);

/* Increase the nesting depth, which is limited. The caller decreases p->depth afterwards. Returns:
 * 0 or -1. */
int deeper(struct parser *p);

/* Report that the next token is unexpected. For a construct of Python that the language lacks, also
 * suggest a rewrite. Returns: -1. */
int unexpected(struct parser *p, const char *want);

/* Report a keyword of Python that the language lacks, with a suggested rewrite. Returns: -1. */
int python_construct(struct parser *p);
int fail_at(struct parser *p, int code, const struct node *node, const char *msg, const char *hint);
int fail_token(struct parser *p, int code, const char *msg, const char *hint);
