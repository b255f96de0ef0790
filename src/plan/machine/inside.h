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
	/* If values carry labels: the jumps of the continue statements in this loop. Each of
	 * these jumps goes to the end of the current iteration, where the guard is restored. If
	 * values carry no labels, the list is empty, because a continue then jumps to the start
	 * of the loop. */
	struct jumps continues;
	uint32_t start;
	uint32_t n_iterators; /* number of iterators that are open inside the loop */
	uint32_t region, round;
};

/* The state of the compilation of one function. */
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
	bool *is_set;	 /* per variable: whether it is definitely assigned at this point */
	uint32_t *trail; /* slots of the assigned variables, in the order of assignment */
	uint32_t n_trail;
	struct table *const_index; /* maps a string constant to its index in `consts`, a T_INT */
	uint32_t at;		   /* source offset of the next instruction, for error messages */
	bool has_failed;
	struct literals *literals; /* how literals are labelled; NULL if values carry no labels */
	uint32_t region, writes_room;
};

/* Append an instruction. Returns: the index of the instruction. */
uint32_t emit(struct compiler *c, enum op op, uint32_t x, uint32_t a, uint32_t b, uint32_t cc);
uint32_t emit_jump(struct compiler *c, enum op op, uint32_t a, int32_t j);

/*
 * The target of a jump is set when it is known:
 * patch(): the jump at the index @from goes to the next instruction that will be emitted.
 * patch_to(): the jump at the index @from goes to the instruction at the index @to.
 * patch_all(): each jump in the list @jumps goes to the next instruction that will be emitted. Then
 * the list is emptied.
 * jumps_add(): add the jump at the index @at to the list @jumps.
 */
void patch(struct compiler *c, uint32_t from);
void patch_to(struct compiler *c, uint32_t from, uint32_t to);
void patch_all(struct compiler *c, struct jumps *jumps);
void jumps_add(struct compiler *c, struct jumps *jumps, uint32_t at);

/* add_const(): add a constant and return its index. reserve(): reserve @n consecutive registers and
 * return the first. */
uint32_t add_const(struct compiler *c, struct val v);
uint32_t reserve(struct compiler *c, uint32_t n);

/*
 * set_slot(): mark the variable in @slot as definitely assigned from here on. The trail lists the
 * marked variables in the order in which they were marked.
 * unset_since(): remove the newest marks, until the trail has only @mark entries. A caller takes
 * @mark from n_trail before a branch, and removes the marks of the branch after the branch.
 */
void set_slot(struct compiler *c, uint32_t slot);
void unset_since(struct compiler *c, uint32_t mark);

/* Emit code that computes @node. Returns: the register that holds the result. This is the
 * variable's own register if @node is a plain variable; otherwise @want, or a new register if @want
 * is ANYWHERE. */
uint32_t expr(struct compiler *c, const struct node *node, int64_t want);
uint32_t compile_dest(struct compiler *c, int64_t want);
uint32_t expr_into(struct compiler *c, const struct node *node, uint32_t want);
uint32_t comprehension(struct compiler *c, const struct node *node, int64_t want);
uint32_t call(struct compiler *c, const struct node *node, int64_t want);
uint32_t function(struct compiler *c, const struct node *node, int64_t want);

/* Emit a jump that is taken if the truth value of @node equals @sense. */
void jump_when(struct compiler *c, const struct node *node, bool sense, struct jumps *out);

/* Emit code that assigns the value of the register @from to a target. */
void compile_assign(struct compiler *c, const struct node *target, uint32_t from);

/* Return the register of @name if it is a local variable that no nested function captures; -1 for
 * any other expression. */
int64_t plain_slot(const struct compiler *c, const struct node *name);

/*
 * loop_start(): emit the head of a loop, and set *start to its first instruction. Returns: the jump
 * that leaves the loop.
 * loop_end(): emit the jump back to @start, and set the target of the jump @exit to the next
 * instruction.
 */
uint32_t loop_start(struct compiler *c, const struct node *target, const struct node *iterable,
	uint32_t *start);
void loop_end(struct compiler *c, uint32_t start, uint32_t exit);
void block(struct compiler *c, const struct node *node);

/*
 * Begin or end a region, which is code that depends on a condition. @nodes are the parts of the
 * tree in the region. compile_flow.c computes from @nodes the write set of the region: the list of
 * what the region may change. If values carry no labels, no code is emitted.
 * Returns: the index of the region.
 */
uint32_t guarded_start(struct compiler *c, const struct node *const *nodes, size_t n);
void guarded_end(struct compiler *c, uint32_t region);

/* Add a register that is not a variable to the write set of a region, which lists what the
 * region may change. */
void guarded_writes(struct compiler *c, uint32_t region, enum write_what what, uint32_t reg);

/* Mark the open regions that a jump leaves: the innermost region and those around it, but not
 * the region @to. The region of the whole function has the index 0 and is never marked. */
void guarded_left(struct compiler *c, uint32_t to);

/*
 * Begin the region of the whole function. (A region is code that depends on a condition. The code
 * of a function depends on whether the function is called.) Its index is 0, because it is the first
 * region of the function. @body is the body of the function. Compute from @body the write set: the
 * list of what the function may change. If values carry no labels, do nothing and return true.
 * Returns: false on failure.
 */
bool guarded_whole(struct compiler *c, const struct node *body, uint32_t n_params);

/* Compile a def or lambda. Returns: the code; NULL if a limit is exceeded or memory is exhausted.
 */
struct code *compile_function(struct compiler *outer, const struct node *node);
