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
	struct jumps continues; /* with labels: to the end of the region of one round */
	uint32_t start;
	uint32_t n_iterators; /* that go on within it */
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
	bool *is_set;	 /* per slot: surely assigned here */
	uint32_t *trail; /* slots in the order in which they became so */
	uint32_t n_trail;
	struct table *const_index; /* strings and numbers → T_INT, the place in `consts` */
	uint32_t at;		   /* where errors of the next instruction point */
	bool has_failed;
	struct literals *literals; /* NULL: values carry no labels */
	uint32_t region, writes_room;
};

/* Returns: the place of the instruction. */
uint32_t emit(struct compiler *c, enum op op, uint32_t x, uint32_t a, uint32_t b, uint32_t cc);
uint32_t emit_jump(struct compiler *c, enum op op, uint32_t a, int32_t j);

/* Let the jump at @from go to what comes next, or to @to. */
void patch(struct compiler *c, uint32_t from);
void patch_to(struct compiler *c, uint32_t from, uint32_t to);
void patch_all(struct compiler *c, struct jumps *jumps);
void jumps_add(struct compiler *c, struct jumps *jumps, uint32_t at);

/* The place of a constant; that of a free register; of @n in a row. */
uint32_t add_const(struct compiler *c, struct val v);
uint32_t reserve(struct compiler *c, uint32_t n);

/* Which variables are surely assigned: now, and back to what they were then. */
void set_slot(struct compiler *c, uint32_t slot);
void unset_since(struct compiler *c, uint32_t mark);

/*
 * Code that computes @node. Returns: the register it is in: @want, or with ANYWHERE a variable's
 * own or a new one.
 */
uint32_t expr(struct compiler *c, const struct node *node, int64_t want);
uint32_t compile_dest(struct compiler *c, int64_t want);
uint32_t expr_into(struct compiler *c, const struct node *node, uint32_t want);
uint32_t comprehension(struct compiler *c, const struct node *node, int64_t want);
uint32_t call(struct compiler *c, const struct node *node, int64_t want);
uint32_t function(struct compiler *c, const struct node *node, int64_t want);

/* Jump when @node is @sense. */
void jump_when(struct compiler *c, const struct node *node, bool sense, struct jumps *out);

/* Assign what is in @from. */
void compile_assign(struct compiler *c, const struct node *target, uint32_t from);

/* The register of a plain local variable; -1: it is none. */
int64_t plain_slot(const struct compiler *c, const struct node *name);

/* Code that runs before and behind what is done for each element; *dest: see compile_assign(). */
uint32_t loop_start(struct compiler *c, const struct node *target, const struct node *iterable,
	uint32_t *start);
void loop_end(struct compiler *c, uint32_t start, uint32_t exit);
void block(struct compiler *c, const struct node *node);

/*
 * A region that is run or not, or more than once: between the two the guards are those of it.
 * @nodes: what may be run. Without labels nothing is emitted. Returns: the number of the region.
 */
uint32_t guarded_start(struct compiler *c, const struct node *const *nodes, size_t n);
void guarded_end(struct compiler *c, uint32_t region);

/* A register that the region writes beside the variables: the value in it changes, or it does. */
void guarded_writes(struct compiler *c, uint32_t region, enum write_what what, uint32_t reg);

/* A jump leads from here out of all regions within @to; 0 is the whole. */
void guarded_left(struct compiler *c, uint32_t to);

/* The region of the whole of a function, the first. Returns: false on failure. */
bool guarded_whole(struct compiler *c, const struct node *body, uint32_t n_params);

/* The code of a def or lambda. Returns: NULL over a limit. */
struct code *compile_function(struct compiler *outer, const struct node *node);
