/* Labels at run time: every value carries one, and so does the place that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/vm.h"

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
void flow_init(struct vm *vm, struct labels *all, uint32_t quiet, const uint32_t number[4]);

/* The least above both. Without memory the run fails at its next call. What a branch may have
 * written gets its guard as presumed only: of that the check may know better. */
uint32_t flow_join_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_join(struct vm *vm, uint32_t a, uint32_t b)
{
	return a == b || b == 0 ? a : a == 0 ? b : flow_join_slow(vm, a, b);
}
bool flow_is_below(struct vm *vm, uint32_t a, uint32_t b);
uint32_t flow_presumed(struct vm *vm, uint32_t label); /* see label_presumed() */
/* Of what is computed of both: whoever endorsed those has not seen it. */
uint32_t flow_made_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_made(struct vm *vm, uint32_t a, uint32_t b)
{
	if (a == b && (a == 0 || a == vm->flow.plain))
		return a;
	const struct flow_memo *m = &vm->flow.made[(a * 31 + b) % FLOW_MEMO];
	return m->a == a && m->b == b ? m->result : flow_made_slow(vm, a, b);
}
bool flow_is_own(struct vm *vm, uint32_t label); /* of nobody but the plan, its user, the policy */
uint32_t flow_composed(struct vm *vm, uint32_t label); /* see label_composed() */
/* Of a value: without its elements; with all that is reachable. Returns: LABEL_FAILED: too deep. */
uint32_t flow_shape_slow(struct vm *vm, struct val v);
static inline uint32_t flow_shape(struct vm *vm, struct val v)
{
	return v.type < T_LIST ? v.label : flow_shape_slow(vm, v);
}
uint32_t flow_whole_slow(struct vm *vm, struct val v);
static inline uint32_t flow_whole(struct vm *vm, struct val v)
{
	return v.type < T_LIST ? v.label : flow_whole_slow(vm, v);
}
/* Nobody chooses more than a value of the type can say. */
uint32_t flow_cap_slow(struct vm *vm, uint32_t label, enum label_kind most);
static inline uint32_t flow_cap(struct vm *vm, uint32_t label, uint32_t type)
{
	enum label_kind most = type == T_BOOL || type == T_NONE ? KIND_BOOL : KIND_NUMBER;
	const struct flow_memo *m = &vm->flow.caps[(label * 2 + most) % FLOW_MEMO];
	if (label == 0 || type > T_BIG)
		return label;
	return m->a == label && m->b == most ? m->result : flow_cap_slow(vm, label, most);
}
/* What a condition of that label guards. */
uint32_t flow_guard_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_guard(struct vm *vm, uint32_t label)
{
	if (label == 0 || label == vm->flow.silent)
		return 0;
	const struct flow_memo *m = &vm->flow.guards[label % FLOW_MEMO];
	return m->a == label ? m->result : flow_guard_slow(vm, label);
}
/* What the choice of a place says. */
uint32_t flow_choice_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_choice(struct vm *vm, uint32_t label)
{
	return flow_guard(vm, label) ? flow_choice_slow(vm, label) : 0;
}
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
 * there. A text that is put together is the plan's word, and so is a part of a literal. */
void flow_new(struct vm *vm, struct val *out, uint32_t label);
void flow_part(struct vm *vm, struct val *out, uint32_t label);
void flow_old(struct vm *vm, struct val *out, uint32_t label);
/* Label all that is reachable, which is new. Returns: 0 or -1. */
int flow_paint(struct vm *vm, struct val *v, uint32_t label);

/* Instructions, operations and built-ins with labels. Returns: 0 or -1. */
int flow_slow(struct vm *vm, struct frame *f, const struct ins *i);
int flow_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int flow_join_texts(struct vm *vm, const struct val *item, size_t n, struct val *out);
int flow_compare(struct vm *vm, uint32_t op, struct val a, struct val b, uint32_t *label);
int flow_native(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);
