/* Labels at run time: every value carries a label, and so does the program counter.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/machine/compile.h"
#include "plan/machine/vm.h"

/* flow.c explains how labels flow. The guard is the label of the program counter. */

/* Start to track labels. @quiet is the set of the plan's own origins: a condition on data with only
 * these origins causes no implicit flow. */
void flow_init(struct vm *vm, struct labels *all, uint32_t quiet, const struct literals *literals);

/* Return whether label @a is below or equal to label @b, when all presumptions are assumed to be
 * true. */
bool flow_is_below(struct vm *vm, uint32_t a, uint32_t b);
uint32_t flow_presumed(struct vm *vm, uint32_t label); /* see label_presumed() */
/*
 * Whose data a label stands for. Foreign data is data that does not come from the plan, its user or
 * the policy, such as the result of a tool.
 * FLOW_OWN: the data is certainly not foreign.
 * FLOW_OTHERS: some of the data is foreign.
 * FLOW_PRESUMED: some of the data is foreign only if a presumption is true (see label/foreseen.h).
 */
enum flow_whose { FLOW_OWN, FLOW_OTHERS, FLOW_PRESUMED };
enum flow_whose flow_whose(struct vm *vm, uint32_t label);
/* Return the label of an f-string whose pieces have the joined label @label. See
 * label_composed(). */
uint32_t flow_form(struct vm *vm, uint32_t label);
/*
 * Return a label that consists only of the presumption in @guard. A presumption is a label that may
 * or may not apply (see label/foreseen.h).
 *
 * At the end of a region, flow_merge() joins this label to the variables that the region may have
 * assigned. It does so even if the region did not raise the guard. The reason: the check decides
 * for each call separately whether the presumption applies. A region may assign a value that a
 * later call uses. For the calls inside the region the presumption may not apply, but for the later
 * call it may.
 */
uint32_t flow_unsure(struct vm *vm, uint32_t guard);
/* Join @label to the guard, because control now depends on a condition with this label. A region
 * is the code that depends on one condition. The code of the region @f->region may change some
 * objects, or leave them unchanged because of the condition. So also join the guard to the
 * labels of these objects, as a presumption. Returns: 0 or -1. */
int flow_raise(struct vm *vm, const struct frame *f, uint32_t label);
/* Record that any existing list, dict or set may have been changed under a condition with the label
 * @label. Returns: 0 or -1. */
int flow_unknown(struct vm *vm, uint32_t label);
/* Return whether the message of a failure at the current instruction may contain data that does
 * not come from the plan, its user or the policy, such as the result of a tool. */
bool flow_may_tell(struct vm *vm);
/* End the region @region, which is code that depends on one condition: restore the guard, and
 * label the variables that the region may have assigned. */
void flow_merge(struct vm *vm, struct frame *f, uint32_t region);
/* Return whether @v is a list, dict or set that may be changed under the current guard. */
bool flow_may_change(struct vm *vm, struct val v);
/* Join @label to the label of the structure of @v, which is about to be changed. Returns: 0; -1
 * with the failure set if the current guard forbids the change. */
int flow_change(struct vm *vm, struct val v, uint32_t label);

/* Label a result. flow_new() is for a computed value, flow_part() for a part of a text or a list of
 * such parts, flow_old() for a value that existed before. A computed value, or a part of a literal,
 * also gets the origin "plan", unless it is a number that occurs in the request. */
void flow_new(struct vm *vm, struct val *out, uint32_t label);
void flow_part(struct vm *vm, struct val *out, uint32_t label);
void flow_old(struct vm *vm, struct val *out, uint32_t label);

/* Run an instruction, an operation or a built-in, and label the result. flow_compare() only
 * computes the label, not the result. Returns: 0 or -1. */
int flow_slow(struct vm *vm, struct frame *f, const struct ins *i);
int flow_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int flow_join_texts(struct vm *vm, const struct val *item, size_t n, struct val *out);
int flow_compare(struct vm *vm, uint32_t op, struct val a, struct val b, uint32_t *label);
int flow_native(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);

/* ---- operations on labels: the fast paths, which use a cache; flow.c has the slow paths ---- */

/* Return the least upper bound of two labels. If memory is exhausted, set the failure of the heap
 * and return LABEL_FAILED. */
uint32_t flow_join_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_join(struct vm *vm, uint32_t a, uint32_t b)
{
	return a == b || b == 0 ? a : a == 0 ? b : flow_join_slow(vm, a, b);
}

/*
 * Return the label of a value that is computed from data with the labels @a and @b. This is the
 * join of both labels, with two changes (see label_made()):
 * - The endorsements are removed. They were given to the data, and the new value is not this data.
 * - Each origin becomes a giver. (A giver is an origin whose data may be in the value. A chooser is
 *   an origin whose data only selected the value, for example as an index.)
 */
uint32_t flow_made_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_made(struct vm *vm, uint32_t a, uint32_t b)
{
	if (a == b && (a == 0 || a == vm->flow.plain))
		return a;
	const struct flow_memo *m = &vm->flow.made[(a * 31 + b) % FLOW_MEMO];
	return m->a == a && m->b == b ? m->result : flow_made_slow(vm, a, b);
}

/* flow_shape(): return the label of a value without its elements: its type, length and keys.
 * flow_whole(): return the join of the labels of everything reachable from the value. Returns:
 * LABEL_FAILED if the value is nested too deeply. */
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

/* Lower the kind of @label to the kind that a value of @type can carry: one bit for a bool, a
 * number for an int. */
uint32_t flow_cap_slow(struct vm *vm, uint32_t label, enum label_kind most);
static inline uint32_t flow_cap(struct vm *vm, uint32_t label, uint32_t type)
{
	enum label_kind most = type == T_BOOL || type == T_NONE ? KIND_BOOL : KIND_NUMBER;
	/* The cache keeps the results for (label, KIND_BOOL) and for (label, KIND_NUMBER) in two
	 * different slots. So if the slot of (label, most) has a result for @label, that is
	 * if m->a == label, this result is also for `most`. m->b need not be compared. */
	const struct flow_memo *m = &vm->flow.caps[(label * 2 + most) % FLOW_MEMO];
	if (label == 0 || type > T_BIG)
		return label;
	return m->a == label ? m->result : flow_cap_slow(vm, label, most);
}

/*
 * Return what a condition with the label @label adds to the guard. This is @label with three
 * changes:
 * - The plan's own origins (plan, user, policy) are removed.
 * - Each other origin becomes a chooser (see label_choice()), because the data only selects a
 *   branch.
 * - The kind becomes that of one bit, because a condition is only true or false.
 */
uint32_t flow_guard_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_guard(struct vm *vm, uint32_t label)
{
	if (label == 0 || label == vm->flow.silent)
		return 0;
	const struct flow_memo *m = &vm->flow.guards[label % FLOW_MEMO];
	return m->a == label ? m->result : flow_guard_slow(vm, label);
}

/*
 * Return what an index or key with the label @label adds to the label of the element that it
 * selects. In x[i], for example, @label is the label of i. The result is @label with three changes:
 * - The plan's own origins (plan, user, policy) are removed.
 * - Each other origin becomes a chooser (see label_choice()), because the data only selects.
 * - A kind above that of a number becomes the kind of a number.
 */
uint32_t flow_choice_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_choice(struct vm *vm, uint32_t label)
{
	return flow_guard(vm, label) ? flow_choice_slow(vm, label) : 0;
}

/* Return the label of a value of @type that is computed from data with the label @label. With
 * @is_part, the value is a part of a text that has the label @label. */
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

/*
 * Return the label of @v, a value that was computed from data with the label @label. @fresh is the
 * label that a computed value usually gets. Foreign data is data that does not come from the plan,
 * its user or the policy, such as the result of a tool. There are four cases:
 * - @label certainly has foreign data: return @fresh.
 * - Neither the request nor the policy contains @v: return @fresh.
 * - The request or the policy contains @v, and @label certainly has no foreign data: return 0.
 * - The request or the policy contains @v, and @label has foreign data only if a presumption is
 *   true (see label/foreseen.h): return @fresh as a presumption.
 */
uint32_t flow_said(struct vm *vm, uint32_t label, uint32_t fresh, struct val v);

/* Return the label of the number @v, which was computed from numbers with the labels @a and @b. */
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
	const uint32_t key = b + 1; /* plus 1, because a free slot has the key 0 */
	return m->a == a && m->b == key ? m->result : flow_number_slow(vm, a, b, v.type);
}
