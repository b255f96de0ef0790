/* Labels at run time: every value carries one, and so does the place that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/compile.h"
#include "plan/machine/flow_number.h"

/*
 * Theory of operation. The label of a list, dict or set itself is that of the choice of it; what it
 * holds, and where, is its structure's label, which whoever reads an element gets as well.
 * heap.guard is the label of what decided that this place is reached. A branch that is not taken
 * tells as much as one that is: when a guard is raised, whatever the region may change gets the
 * guard, and at the region's end so do the variables it may write, see struct writes. A value whose
 * structure is below the choice of it must not be changed: whoever holds the others would learn of
 * the choice. Where the compiler does not know what is changed, all there is gets the guard: struct
 * flow_event.
 */

/* Turn labels on. @quiet: origins of the plan itself: they tell nothing when they guard. */
void flow_init(struct vm *vm, struct labels *all, uint32_t quiet, const struct literals *literals);

/* Is @a below @b, when what is presumed of both is so? */
bool flow_is_below(struct vm *vm, uint32_t a, uint32_t b);
uint32_t flow_presumed(struct vm *vm, uint32_t label); /* see label_presumed() */
/* Is it of nobody but the plan, its user, the policy; or of others; or of others if the check says
 * that they may have chosen it? */
enum flow_whose { FLOW_OWN, FLOW_OTHERS, FLOW_PRESUMED };
enum flow_whose flow_whose(struct vm *vm, uint32_t label);
/* Of an f-string whose pieces have @label together: the plan's word, or see label_composed(). */
uint32_t flow_form(struct vm *vm, uint32_t label);
/* What is only presumed of a guard. Where it stays the same, so that a value need not get it to be
 * what it says, it needs this: the check may find it impossible of the calls there, and so nobody
 * would be told of it, though it is possible of what the same data decided of the value within. */
uint32_t flow_unsure(struct vm *vm, uint32_t guard);
/* A condition decides on what comes. Returns: 0 or -1. */
int flow_raise(struct vm *vm, const struct frame *f, uint32_t label);
/* Labels of all that is there now: it may have changed. Returns: 0 or -1. */
int flow_unknown(struct vm *vm, uint32_t label);
/* May what is said of a failure here repeat a value that is not of the plan itself? */
bool flow_may_tell(struct vm *vm);
void flow_merge(struct vm *vm, struct frame *f, uint32_t region); /* the end of a region */
/* Is @v a list, dict or set, and may its structure be changed here? */
bool flow_may_change(struct vm *vm, struct val v);
/* The structure of @v is changed and gets @label. Returns: 0, or -1 where it must not. */
int flow_change(struct vm *vm, struct val v, uint32_t label);

/* Give a result its label: one that is new, and computed; a part of a text, or parts; one that was
 * there. What is computed is the plan's word, and so is a part of a literal; but not a number that
 * the request says. */
void flow_new(struct vm *vm, struct val *out, uint32_t label);
void flow_part(struct vm *vm, struct val *out, uint32_t label);
void flow_old(struct vm *vm, struct val *out, uint32_t label);

/* Instructions, operations and built-ins with labels. Returns: 0 or -1. */
int flow_slow(struct vm *vm, struct frame *f, const struct ins *i);
int flow_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int flow_join_texts(struct vm *vm, const struct val *item, size_t n, struct val *out);
int flow_compare(struct vm *vm, uint32_t op, struct val a, struct val b, uint32_t *label);
int flow_native(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);
