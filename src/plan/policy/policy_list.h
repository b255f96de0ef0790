/* greatest(…) and least(…): a word of the request names one of what a tool lists. What the word
 * means stands in the policy, what there is the tool says: nothing of it is the plan's.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* CLAUSE_GREATEST, CLAUSE_LEAST: `field` of that item of what `tool` lists that has the most `by`.
 */
struct extreme {
	struct extreme *next;
	const struct tool *tool;
	struct val by, field; /* names of fields */
	struct val said;      /* tuple of strings: words of a request that mean it */
	bool is_least;
	uint32_t index; /* in struct policy_listed */
};

/* What greatest(…) and least(…) mean: what the request says, and what a run has listed. */
struct policy_listed {
	bool *is_said;	  /* by number of the clause: the request has a word for it */
	struct val *item; /* and what it means; T_UNSET: nothing yet */
	bool is_late;	  /* the run has changed something: what it lists now may be its own */
};

/*
 * What a run knows of lists. policy_hears() is asked of each word that means something in a
 * request; policy_list() is told each result of a call without arguments, policy_change() each call
 * before it is made. Texts are copied into @h.
 *
 * Returns: 0, or -1 without memory.
 */
int policy_listed_init(struct policy_listed *l, const struct policy *p, struct heap *h,
	bool (*hears)(const void *arg, struct val word), const void *arg);
bool policy_lists(const struct policy *p, const struct policy_call *call);
int policy_list(struct policy_listed *l, const struct policy *p, const struct tool *tool,
	struct heap *h, struct val result);
void policy_change(struct policy_listed *l, const struct policy *p, const struct tool *tool);
