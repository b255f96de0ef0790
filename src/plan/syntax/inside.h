/* Declarations that the files of the parser share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum { PARSE_DEPTH_MAX = 250 }; /* levels of nested expressions and blocks */

struct parser {
	struct lexer lex;
	struct heap *h;
	const struct source *src;
	struct dialect dialect;
	struct token token; /* the next token */
	uint32_t last_end;  /* end of the token before `token` */
	uint32_t depth;
	uint32_t n_functions; /* number of functions that are being parsed */
	bool no_if; /* a lambda in a comprehension's condition does not include `if … else` */
	bool no_in; /* `in` ends the expression, which is a loop variable */
};

/* The kids of a node under construction. */
struct kids {
	struct node **item;
	uint32_t n, room;
};
int kids_add(struct parser *p, struct kids *kids, struct node *node);

/* Create a node. Returns: NULL on failure, with a diagnostic or the failure of the heap. */
struct node *node_new(struct parser *p, enum node_kind kind, uint32_t start, struct kids *kids);
struct node *node_of(struct parser *p, enum node_kind kind, uint32_t start, size_t n, ...);
struct node *node_name(struct parser *p);

/* Parse expressions: one expression; loop variables and targets; a tuple without parentheses. */
struct node *parse_test(struct parser *p);
struct node *parse_binary(struct parser *p, int least);
struct node *parse_exprs(struct parser *p);
struct node *parse_targets(struct parser *p);
struct node *parse_f_string(struct parser *p);
struct node *parse_display(struct parser *p);
int parse_arguments(struct parser *p, struct kids *kids);
int parse_params(struct parser *p, struct kids *kids, enum token_kind end, bool has_types);

/* Check that @node may be assigned to. Returns: 0 or -1. */
int check_target(struct parser *p, const struct node *node, bool is_augmented);

/* Read and check tokens. Returns: 0 or -1. */
int advance(struct parser *p);
bool is_at(const struct parser *p, enum token_kind kind);
int expect(struct parser *p, enum token_kind kind, const char *what);

/* Increase the nesting depth; the caller decreases p->depth afterwards. Returns: 0 or -1. */
int deeper(struct parser *p);

/* Report an unexpected token; for a construct of Python, with the rewrite. Returns: -1. */
int unexpected(struct parser *p, const char *want);

/* Report a keyword of Python that begins a statement or an expression, with the rewrite. Returns:
 * -1. */
int python_construct(struct parser *p);
int fail_at(struct parser *p, int code, const struct node *node, const char *msg, const char *hint);
int fail_token(struct parser *p, int code, const char *msg, const char *hint);
