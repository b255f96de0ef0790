/* Labels at run time: every value carries one, and so does the place that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/machine/compile.h"
#include "plan/machine/vm.h"

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

/* ---- asked at every step: found here when they were asked before, else made in flow.c ---- */

/* The least above both. Without memory the run fails at its next call. What a branch may have
 * written gets its guard as presumed only: of that the check may know better. */
uint32_t flow_join_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_join(struct vm *vm, uint32_t a, uint32_t b)
{
	return a == b || b == 0 ? a : a == 0 ? b : flow_join_slow(vm, a, b);
}

/* Of what is computed of both: whoever endorsed those has not seen it. */
uint32_t flow_made_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_made(struct vm *vm, uint32_t a, uint32_t b)
{
	if (a == b && (a == 0 || a == vm->flow.plain))
		return a;
	const struct flow_memo *m = &vm->flow.made[(a * 31 + b) % FLOW_MEMO];
	return m->a == a && m->b == b ? m->result : flow_made_slow(vm, a, b);
}

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
	/* The two of one label are not in one place. */
	const struct flow_memo *m = &vm->flow.caps[(label * 2 + most) % FLOW_MEMO];
	if (label == 0 || type > T_BIG)
		return label;
	return m->a == label ? m->result : flow_cap_slow(vm, label, most);
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

/* Of what is computed of @label: a value of @type, or a part of one. */
uint32_t flow_fresh_slow(struct vm *vm, uint32_t label, uint32_t type, bool is_part);
static inline uint32_t flow_fresh(struct vm *vm, uint32_t label, uint32_t type, bool is_part)
{
	uint32_t what = type >= T_STRING ? 3u : type == T_BOOL ? 1u : type == T_NONE ? 0u : 2u;
	uint32_t kind = 1u + is_part + 2u * what;
	struct flow_memo *m = &vm->flow.fresh[(label * 8 + kind) % FLOW_MEMO];
	if (m->a == label && m->b == kind)
		return m->result;
	uint32_t now = flow_fresh_slow(vm, label, type, is_part);
	if (now != LABEL_FAILED)
		*m = (struct flow_memo){label, kind, now};
	return now;
}

/* Of a value computed of @label: @fresh, or 0 if all of that is the plan's own, and the request or
 * the policy says the value. */
uint32_t flow_said(struct vm *vm, uint32_t label, uint32_t fresh, struct val v);

/* Of a number that is computed of what has both labels. */
uint32_t flow_said_number(struct vm *vm, uint32_t a, uint32_t b, struct val v);
uint32_t flow_number_slow(struct vm *vm, uint32_t a, uint32_t b, uint32_t type);
static inline uint32_t flow_number(struct vm *vm, uint32_t a, uint32_t b, struct val v)
{
	uint64_t bit = v.type == T_INT ? UINT64_C(1) << ((uint64_t)v.i & 63) : ~UINT64_C(0);
	if (vm->flow.numbers & bit)
		return flow_said_number(vm, a, b, v);
	if (a == b && a == vm->flow.counted)
		return a;
	const struct flow_memo *m = &vm->flow.counts[(a * 31 + b) % FLOW_MEMO];
	const uint32_t key = b + 1; /* 0 is an empty one */
	return m->a == a && m->b == key ? m->result : flow_number_slow(vm, a, b, v.type);
}
