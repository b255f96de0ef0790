/* What the parts of the parser share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum { PARSE_DEPTH_MAX = 250 }; /* of expressions, and of blocks, within each other */

struct parser {
	struct lexer lex;
	struct heap *h;
	const struct source *src;
	struct dialect dialect;
	struct token token; /* the next one */
	uint32_t last_end;  /* of the one before */
	uint32_t depth;
	uint32_t n_functions; /* that are being parsed */
	bool no_if; /* `if … else` does not belong to the lambda: a comprehension's condition */
	bool no_in; /* `in` ends the expression: a loop variable */
};

/* Kids while they are being counted. */
struct kids {
	struct node **item;
	uint32_t n, room;
};
int kids_add(struct parser *p, struct kids *kids, struct node *node);

/* Each returns NULL on failure, with a diagnostic or the failure of the heap. */
struct node *node_new(struct parser *p, enum node_kind kind, uint32_t start, struct kids *kids);
struct node *node_of(struct parser *p, enum node_kind kind, uint32_t start, size_t n, ...);
struct node *node_name(struct parser *p);

/* Expressions: a single one; loop variables and targets; a tuple without parentheses. */
struct node *parse_test(struct parser *p);
struct node *parse_binary(struct parser *p, int least);
struct node *parse_exprs(struct parser *p);
struct node *parse_targets(struct parser *p);
struct node *parse_f_string(struct parser *p);
struct node *parse_display(struct parser *p);
int parse_arguments(struct parser *p, struct kids *kids);
int parse_params(struct parser *p, struct kids *kids, enum token_kind end, bool has_types);

/* May it be assigned to? Returns: 0 or -1. */
int check_target(struct parser *p, const struct node *node, bool is_augmented);

/* Tokens. Returns: 0 or -1. */
int advance(struct parser *p);
bool is_at(const struct parser *p, enum token_kind kind);
int expect(struct parser *p, enum token_kind kind, const char *what);

/* One level deeper, and back. Returns: 0 or -1. */
int deeper(struct parser *p);

/* Report an unexpected token; for a construct of Python, with the rewrite. Returns: -1. */
int unexpected(struct parser *p, const char *want);

/* A keyword of Python that begins a statement or an expression: the rewrite. Returns: -1. */
int python_construct(struct parser *p);
int fail_at(struct parser *p, int code, const struct node *node, const char *msg, const char *hint);
int fail_token(struct parser *p, int code, const char *msg, const char *hint);
