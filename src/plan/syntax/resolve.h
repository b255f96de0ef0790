/* The resolver: find the variable that each name refers to. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum symbol_kind { SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_PREDECLARED };

struct symbol {
	enum symbol_kind kind;
	struct val name;
	uint32_t slot;	   /* local: slot in its function; global: slot in the file */
	bool is_cell;	   /* nested functions use the variable */
	uint32_t n_bound;  /* number of statements that bind the name */
	uint32_t bound_at; /* offset of the first binding */
	struct scope *owner;
	struct val value; /* value of a predeclared name */
	bool is_prefix;
	const struct code *code; /* compiled code of the def that the name is bound to; else NULL */
	struct symbol *shadowed; /* symbol of the same name in an enclosing block */
	struct symbol *next;	 /* next symbol of the same block */
	struct name *of;
	struct block *block;
};

/* A function, or the file. The variables of a comprehension are slots of the enclosing scope. */
struct scope {
	struct scope *outer; /* enclosing scope; NULL for the file */
	uint32_t n_slots;
	struct symbol **slot_symbols; /* the symbol of each of the n_slots slots */
	uint32_t slot_room;
	struct symbol **captured; /* variables of enclosing scopes, in the order of use */
	uint32_t n_captured, captured_room;
};

/* A name that exists before the program begins. */
struct predeclared {
	const char *name;
	struct val value;
	bool is_prefix; /* the name is a prefix of tool names, or a module */
};

/*
 * Set `symbol` of each name and `scope` of each function and of the file.
 * Returns: 0; -1 with diagnostics or with a failure of @h.
 */
int tree_resolve(struct heap *h, const struct source *src, const struct dialect *dialect,
	const struct predeclared *names, size_t n_names, struct diags *diags, struct node *file);
