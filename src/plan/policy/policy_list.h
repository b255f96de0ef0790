/* greatest(…) and least(…): a word of the request, such as "the largest file", names one item of a
 * list. The policy defines what the word means, a tool lists the items; the plan has no say in it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* CLAUSE_GREATEST, CLAUSE_LEAST: `field` of the item, among those that `tool` lists, whose `by` is
 * the greatest or least. */
struct extreme {
	struct extreme *next;
	const struct tool *tool;
	struct val by, field; /* names of fields */
	struct val said;      /* tuple of strings: the words of a request that ask for it */
	bool is_least;
	uint32_t index; /* in struct policy_listed */
};

/* What the clauses mean in one run. */
struct policy_listed {
	bool *is_said;	  /* by clause: the request contains one of its words */
	struct val *item; /* by clause: the item meant; T_UNSET: not listed yet */
	bool is_late;	  /* the run has changed data: later lists may contain its own items */
};

/*
 * Follow a run. @hears: does the request contain a word? policy_list() has to get the result of
 * each call without arguments, policy_change() each call before it is made. Texts are copied into
 * @h.
 *
 * Returns: 0, or -1 without memory.
 */
int policy_listed_init(struct policy_listed *l, const struct policy *p, struct heap *h,
	bool (*hears)(const void *arg, struct val word), const void *arg);
bool policy_lists(const struct policy *p, const struct policy_call *call);
int policy_list(struct policy_listed *l, const struct policy *p, const struct tool *tool,
	struct heap *h, struct val result);
void policy_change(struct policy_listed *l, const struct policy *p, const struct tool *tool);
