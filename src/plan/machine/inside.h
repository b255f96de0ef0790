/* What the parts of the compiler share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/compile.h"

enum { REGISTER_MAX = 60000, ANYWHERE = -1 };

struct jumps {
	uint32_t *item;
	uint32_t n, room;
};

struct loop {
	struct loop *outer;
	struct jumps breaks;
	struct jumps continues; /* with labels: to the end of the region of one iteration */
	uint32_t start;
	uint32_t n_iterators; /* the iterators that are open inside */
	uint32_t region, round;
};

/* One function that is being compiled. */
struct compiler {
	struct heap *h;
	const struct dialect *dialect;
	const struct scope *scope;
	struct code *code;
	bool is_file;
	uint32_t ins_room, const_room, function_room, shape_room;
	uint32_t top; /* the first free register */
	struct loop *loop;
	uint32_t n_iterators;
	bool *is_set;	 /* per slot: definitely assigned here */
	uint32_t *trail; /* slots, in the order in which they became assigned */
	uint32_t n_trail;
	struct table *const_index; /* strings and numbers → T_INT, the index in `consts` */
	uint32_t at;		   /* the source offset of the next instruction, for errors */
	bool has_failed;
	struct literals *literals; /* NULL: values carry no labels */
	uint32_t region, writes_room;
};

/* Append an instruction. Returns: its index. */
uint32_t emit(struct compiler *c, enum op op, uint32_t x, uint32_t a, uint32_t b, uint32_t cc);
uint32_t emit_jump(struct compiler *c, enum op op, uint32_t a, int32_t j);

/* Set the target of the jump at @from: the next instruction, or @to. */
void patch(struct compiler *c, uint32_t from);
void patch_to(struct compiler *c, uint32_t from, uint32_t to);
void patch_all(struct compiler *c, struct jumps *jumps);
void jumps_add(struct compiler *c, struct jumps *jumps, uint32_t at);

/* The index of a constant; the first of @n free registers in a row. */
uint32_t add_const(struct compiler *c, struct val v);
uint32_t reserve(struct compiler *c, uint32_t n);

/* Definite assignment: the variable is assigned from here on; undo back to a mark of the trail. */
void set_slot(struct compiler *c, uint32_t slot);
void unset_since(struct compiler *c, uint32_t mark);

/*
 * Emit code that computes @node. Returns: the register of the result: @want; with ANYWHERE the
 * register of a variable, or a new one.
 */
uint32_t expr(struct compiler *c, const struct node *node, int64_t want);
uint32_t compile_dest(struct compiler *c, int64_t want);
uint32_t expr_into(struct compiler *c, const struct node *node, uint32_t want);
uint32_t comprehension(struct compiler *c, const struct node *node, int64_t want);
uint32_t call(struct compiler *c, const struct node *node, int64_t want);
uint32_t function(struct compiler *c, const struct node *node, int64_t want);

/* Emit a jump that is taken if the truth of @node is @sense. */
void jump_when(struct compiler *c, const struct node *node, bool sense, struct jumps *out);

/* Assign the register @from to a target. */
void compile_assign(struct compiler *c, const struct node *target, uint32_t from);

/* The register of a local variable that no nested function uses; -1: another expression. */
int64_t plain_slot(const struct compiler *c, const struct node *name);

/* Emit the head and the end of a loop over an iterable. */
uint32_t loop_start(struct compiler *c, const struct node *target, const struct node *iterable,
	uint32_t *start);
void loop_end(struct compiler *c, uint32_t start, uint32_t exit);
void block(struct compiler *c, const struct node *node);

/*
 * Begin and end a region: code that depends on a condition. @nodes: the code in it, for its write
 * set (compile_flow.c). Without labels nothing is emitted. Returns: the index of the region.
 */
uint32_t guarded_start(struct compiler *c, const struct node *const *nodes, size_t n);
void guarded_end(struct compiler *c, uint32_t region);

/* Add a register that is no variable to the write set of a region. */
void guarded_writes(struct compiler *c, uint32_t region, enum write_what what, uint32_t reg);

/* A jump leaves all regions inside of @to; 0 is that of the whole function. */
void guarded_left(struct compiler *c, uint32_t to);

/* Make the region of a whole function, the first one. Returns: false on failure. */
bool guarded_whole(struct compiler *c, const struct node *body, uint32_t n_params);

/* The code of a def or lambda. Returns: NULL over a limit. */
struct code *compile_function(struct compiler *outer, const struct node *node);
