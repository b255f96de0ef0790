/* The resolver: find the variable that each name refers to. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum symbol_kind { SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_PREDECLARED };

struct symbol {
	enum symbol_kind kind;
	struct val name;
	uint32_t slot;	   /* index of the variable in its function or, for a global, in the file */
	bool is_cell;	   /* a nested function uses the variable, so it is stored in a cell */
	uint32_t n_bound;  /* number of statements that bind the name */
	uint32_t bound_at; /* position in the source text of the first binding, in bytes */
	struct scope *owner;
	struct val value; /* value of a predeclared name */
	bool is_prefix;
	/* compiled code of the def that the name is bound to; NULL if unknown */
	const struct code *code;
	struct symbol *shadowed; /* symbol of the same name in an enclosing block */
	struct symbol *next;	 /* next symbol of the same block */
	struct name *of;
	struct block *block;
};

/* A function, or the file, with its variables. The variables of a comprehension belong to the scope
 * around it. */
struct scope {
	struct scope *outer; /* enclosing scope; NULL for the file */
	uint32_t n_slots;
	struct symbol **slot_symbols; /* symbol of each of the n_slots variables */
	uint32_t slot_room;
	/* variables of enclosing scopes that are used here, in the order of use */
	struct symbol **captured;
	uint32_t n_captured, captured_room;
};

/* A name that is defined before the program begins. */
struct predeclared {
	const char *name;
	struct val value;
	bool is_prefix; /* the name is a module, or a prefix of tool names such as "mail" */
};

/*
 * Set `symbol` of each NODE_NAME, and `scope` of each function and of the file.
 * Returns: 0; -1 with diagnostics or with a failure of @h.
 */
int tree_resolve(struct heap *h, const struct source *src, const struct dialect *dialect,
	const struct predeclared *names, size_t n_names, struct diags *diags, struct node *file);
