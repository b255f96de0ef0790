/* Which variable each name means. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/tree.h"

enum symbol_kind { SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_PREDECLARED };

struct symbol {
	enum symbol_kind kind;
	struct val name;
	uint32_t slot;	   /* local: of its function; global: of the file */
	bool is_cell;	   /* nested functions use it */
	uint32_t n_bound;  /* how often a statement binds it */
	uint32_t bound_at; /* where first */
	struct scope *owner;
	struct val value; /* of a predeclared name */
	bool is_prefix;
	const struct code *code; /* of the def it is bound to, once that is compiled */
	struct symbol *shadowed; /* the symbol of the same name outside */
	struct symbol *next;	 /* of the same block */
	struct name *of;
	struct block *block;
};

/* A function, or the file. The variables of a comprehension are slots of the scope around it. */
struct scope {
	struct scope *outer; /* NULL: the file */
	uint32_t n_slots;
	struct symbol **slot_symbols; /* n_slots of them */
	uint32_t slot_room;
	struct symbol **captured; /* from outside, in the order of use */
	uint32_t n_captured, captured_room;
};

/* A name that is there before the program begins. */
struct predeclared {
	const char *name;
	struct val value;
	bool is_prefix; /* of the names of tools, or of a module */
};

/*
 * Set `symbol` of each name and `scope` of each function and of the file.
 * Returns: 0, or -1: with diagnostics, or with a failure of @h.
 */
int tree_resolve(struct heap *h, const struct source *src, const struct dialect *dialect,
	const struct predeclared *names, size_t n_names, struct diags *diags, struct node *file);
