/* Declarations that the files of the compiler share. SPDX-License-Identifier: Apache-2.0 */
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
	struct jumps continues; /* with labels: jumps to the end of the iteration's region */
	uint32_t start;
	uint32_t n_iterators; /* number of iterators that are open inside the loop */
	uint32_t region, round;
};

/* A compiler of one function. */
struct compiler {
	struct heap *h;
	const struct dialect *dialect;
	const struct scope *scope;
	struct code *code;
	bool is_file;
	uint32_t ins_room, const_room, function_room, shape_room;
	uint32_t top; /* first free register */
	struct loop *loop;
	uint32_t n_iterators;
	bool *is_set;	 /* per slot: is the variable definitely assigned here? */
	uint32_t *trail; /* slots, in the order in which they became assigned */
	uint32_t n_trail;
	struct table *const_index; /* maps a string to a T_INT, its index in `consts` */
	uint32_t at;		   /* source offset of the next instruction, for error messages */
	bool has_failed;
	struct literals *literals; /* NULL: values carry no labels */
	uint32_t region, writes_room;
};

/* Append an instruction. Returns: the index of the instruction. */
uint32_t emit(struct compiler *c, enum op op, uint32_t x, uint32_t a, uint32_t b, uint32_t cc);
uint32_t emit_jump(struct compiler *c, enum op op, uint32_t a, int32_t j);

/* Set the target of the jump at @from: the next instruction, or @to. */
void patch(struct compiler *c, uint32_t from);
void patch_to(struct compiler *c, uint32_t from, uint32_t to);
void patch_all(struct compiler *c, struct jumps *jumps);
void jumps_add(struct compiler *c, struct jumps *jumps, uint32_t at);

/* Add a constant and return its index; reserve @n free registers in a row and return the first. */
uint32_t add_const(struct compiler *c, struct val v);
uint32_t reserve(struct compiler *c, uint32_t n);

/* Mark the variable as definitely assigned from here on; undo all such marks since a trail
 * position. */
void set_slot(struct compiler *c, uint32_t slot);
void unset_since(struct compiler *c, uint32_t mark);

/* Emit code that computes @node. Returns: the register that holds the result. If @node is a
 * plain variable, that is the variable's own register; otherwise @want, or a new register if
 * @want is ANYWHERE. */
uint32_t expr(struct compiler *c, const struct node *node, int64_t want);
uint32_t compile_dest(struct compiler *c, int64_t want);
uint32_t expr_into(struct compiler *c, const struct node *node, uint32_t want);
uint32_t comprehension(struct compiler *c, const struct node *node, int64_t want);
uint32_t call(struct compiler *c, const struct node *node, int64_t want);
uint32_t function(struct compiler *c, const struct node *node, int64_t want);

/* Emit a jump that is taken if the truth of @node is @sense. */
void jump_when(struct compiler *c, const struct node *node, bool sense, struct jumps *out);

/* Emit code that assigns the register @from to a target. */
void compile_assign(struct compiler *c, const struct node *target, uint32_t from);

/* Return the register of a local variable that no nested function uses; -1 for any other
 * expression. */
int64_t plain_slot(const struct compiler *c, const struct node *name);

/* Emit the head and the end of a loop over an iterable. */
uint32_t loop_start(struct compiler *c, const struct node *target, const struct node *iterable,
	uint32_t *start);
void loop_end(struct compiler *c, uint32_t start, uint32_t exit);
void block(struct compiler *c, const struct node *node);

/*
 * Begin and end a region, which is code that depends on a condition. @nodes is the code in the
 * region; its write set is computed from them (compile_flow.c). Without labels, no code is emitted.
 * Returns: the index of the region.
 */
uint32_t guarded_start(struct compiler *c, const struct node *const *nodes, size_t n);
void guarded_end(struct compiler *c, uint32_t region);

/* Add a register that is not a variable to the write set of a region. */
void guarded_writes(struct compiler *c, uint32_t region, enum write_what what, uint32_t reg);

/* Mark all open regions inside the region @to as left by a jump; 0 is the region of the function.
 */
void guarded_left(struct compiler *c, uint32_t to);

/* Create the region of a whole function; its index is 0. Returns: false on failure. */
bool guarded_whole(struct compiler *c, const struct node *body, uint32_t n_params);

/* Compile a def or lambda. Returns: the code; NULL if a limit is exceeded or memory is exhausted.
 */
struct code *compile_function(struct compiler *outer, const struct node *node);
