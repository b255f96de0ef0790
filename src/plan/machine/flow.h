/* Labels at run time: every value carries a label, and so does the program counter.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/machine/compile.h"
#include "plan/machine/vm.h"

/* flow.c explains how labels flow. The guard is the label of the program counter. */

/* Turn labels on. @quiet: set of the plan's own origins, which cause no implicit flow as
 * conditions. */
void flow_init(struct vm *vm, struct labels *all, uint32_t quiet, const struct literals *literals);

/* Is label @a below or equal to label @b, if the presumptions of both are taken as true? */
bool flow_is_below(struct vm *vm, uint32_t a, uint32_t b);
uint32_t flow_presumed(struct vm *vm, uint32_t label); /* see label_presumed() */
/* Is the data only of the plan, its user or the policy (FLOW_OWN); of others (FLOW_OTHERS); or of
 * others only if a presumption is true (FLOW_PRESUMED)? */
enum flow_whose { FLOW_OWN, FLOW_OTHERS, FLOW_PRESUMED };
enum flow_whose flow_whose(struct vm *vm, uint32_t label);
/* Return the label of an f-string; @label is the join of its pieces. See label_composed(). */
uint32_t flow_form(struct vm *vm, uint32_t label);
/* Return only the presumed part of @guard. A region needs this part even if the guard did not
 * change inside the region: the check may rule the presumption out for calls in the region, but not
 * for values that the region returns. */
uint32_t flow_unsure(struct vm *vm, uint32_t guard);
/* Raise the guard, because control now depends on a condition with the label @label. Returns: 0 or
 * -1. */
int flow_raise(struct vm *vm, const struct frame *f, uint32_t label);
/* Record an event: any existing object may have been changed under @label. Returns: 0 or -1. */
int flow_unknown(struct vm *vm, uint32_t label);
/* May the message of a failure at the current instruction contain data of others? */
bool flow_may_tell(struct vm *vm);
/* End a region: restore the guard, and label everything that the region may have written. */
void flow_merge(struct vm *vm, struct frame *f, uint32_t region);
/* Is @v a list, dict or set whose structure may be changed under the current guard? */
bool flow_may_change(struct vm *vm, struct val v);
/* Join @label to the structure of @v before a change of @v. Returns: 0; -1 if @v must not be
 * changed. */
int flow_change(struct vm *vm, struct val v, uint32_t label);

/* Label a result: flow_new() a computed value, flow_part() a part of a text or a list of parts,
 * flow_old() a value that existed before. A computed value, or a part of a literal, also gets the
 * origin "plan", unless the value is a number that occurs in the request. */
void flow_new(struct vm *vm, struct val *out, uint32_t label);
void flow_part(struct vm *vm, struct val *out, uint32_t label);
void flow_old(struct vm *vm, struct val *out, uint32_t label);

/* Run an instruction, an operation or a built-in, and label the result. Returns: 0 or -1. */
int flow_slow(struct vm *vm, struct frame *f, const struct ins *i);
int flow_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int flow_join_texts(struct vm *vm, const struct val *item, size_t n, struct val *out);
int flow_compare(struct vm *vm, uint32_t op, struct val a, struct val b, uint32_t *label);
int flow_native(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);

/* ---- called at every step: a memoised fast path here, the slow path in flow.c ---- */

/* Return the least upper bound of two labels. If memory is exhausted, the run fails at its next
 * call. */
uint32_t flow_join_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_join(struct vm *vm, uint32_t a, uint32_t b)
{
	return a == b || b == 0 ? a : a == 0 ? b : flow_join_slow(vm, a, b);
}

/* Return the label of a value computed from both: the join without endorsements. */
uint32_t flow_made_slow(struct vm *vm, uint32_t a, uint32_t b);
static inline uint32_t flow_made(struct vm *vm, uint32_t a, uint32_t b)
{
	if (a == b && (a == 0 || a == vm->flow.plain))
		return a;
	const struct flow_memo *m = &vm->flow.made[(a * 31 + b) % FLOW_MEMO];
	return m->a == a && m->b == b ? m->result : flow_made_slow(vm, a, b);
}

/* Return the label of a value without its elements (type, length, keys), or of everything reachable
 * from the value. Returns: LABEL_FAILED if the value is nested too deeply. */
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

/* Lower the kind to the one that a value of @type can express. */
uint32_t flow_cap_slow(struct vm *vm, uint32_t label, enum label_kind most);
static inline uint32_t flow_cap(struct vm *vm, uint32_t label, uint32_t type)
{
	enum label_kind most = type == T_BOOL || type == T_NONE ? KIND_BOOL : KIND_NUMBER;
	/* The two caps of one label have different slots. */
	const struct flow_memo *m = &vm->flow.caps[(label * 2 + most) % FLOW_MEMO];
	if (label == 0 || type > T_BIG)
		return label;
	return m->a == label ? m->result : flow_cap_slow(vm, label, most);
}

/* Return the guard that a condition with the label @label imposes: at most a bool, as a choice,
 * without the plan's own origins. */
uint32_t flow_guard_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_guard(struct vm *vm, uint32_t label)
{
	if (label == 0 || label == vm->flow.silent)
		return 0;
	const struct flow_memo *m = &vm->flow.guards[label % FLOW_MEMO];
	return m->a == label ? m->result : flow_guard_slow(vm, label);
}

/* Return the label of the selection that an index or key with the label @label makes. */
uint32_t flow_choice_slow(struct vm *vm, uint32_t label);
static inline uint32_t flow_choice(struct vm *vm, uint32_t label)
{
	return flow_guard(vm, label) ? flow_choice_slow(vm, label) : 0;
}

/* Return the label of a value of @type computed from @label; with @is_part, of a part of a text. */
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

/* Return the label of the value @v that was computed from @label: @fresh, or 0 if @label is the
 * plan's own and the request or the policy contains @v. */
uint32_t flow_said(struct vm *vm, uint32_t label, uint32_t fresh, struct val v);

/* Return the label of a number computed from two labels. */
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
	const uint32_t key = b + 1; /* 0 marks a free slot */
	return m->a == a && m->b == key ? m->result : flow_number_slow(vm, a, b, v.type);
}
