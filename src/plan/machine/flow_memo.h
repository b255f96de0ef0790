/* Labels that are asked for at every step: found here when they were before, made in flow.c when
 * not. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/machine/vm.h"

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
