/* Labels of what is computed: asked for at every step, see flow_memo.h. What the plan computes is
 * its word, unless it is a number that the request says. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/flow_memo.h"

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
