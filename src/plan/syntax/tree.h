/* The syntax tree of a program. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/lex.h"

enum node_kind {
#define X(symbol, text, kids) symbol,
#include "plan/syntax/tree.def"
	N_NODES
};

enum compare {
	CMP_EQ,
	CMP_NE,
	CMP_LT,
	CMP_LE,
	CMP_GT,
	CMP_GE,
	CMP_IN,
	CMP_NOT_IN,
	CMP_IS,
	CMP_IS_NOT
};

/* how deeply expressions may be nested; each + in a chain is a level */
enum { TREE_DEPTH_MAX = 1000 };

struct symbol;
struct scope;

struct node {
	uint8_t kind;	     /* enum node_kind */
	uint8_t op;	     /* see tree.def */
	uint16_t depth;	     /* height of the subtree */
	uint32_t start, end; /* byte offsets in the source */
	uint32_t at;	     /* offset to which errors point, such as that of the operator */
	uint32_t n;
	uint32_t n_params;
	bool in_parens;
	struct node **kid;
	uint8_t *ops;
	struct val value;
	struct symbol *symbol; /* NODE_NAME: the variable, set by the resolver */
	struct scope *scope;   /* function or file: its scope, set by the resolver */
};

/*
 * Parse a file into one NODE_BLOCK. After a mistake, the parser continues with the next statement,
 * so that all mistakes are reported at once.
 *
 * Owns:    the tree is in the heap; @src must outlive it.
 * Returns: 0; -1 with diagnostics or with a failure of @h.
 */
int tree_parse(struct heap *h, const struct source *src, const struct dialect *dialect,
	struct diags *diags, struct node **out);

/* Join the literal parts of an f-string to one text, with a NUL in place of each value, as
 * ground_label() expects. Returns: 0 or -1. */
int tree_form(struct heap *h, const struct node *f_string, struct val *out);

/* Return the name that error messages use for a node. */
const char *node_text(enum node_kind kind);
