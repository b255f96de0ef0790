/* The clauses greatest(…) and least(…). A word of the request, such as "the largest file", names
 * one item of a list. The policy defines the word, a tool lists the items, and the plan cannot
 * influence the choice. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The data of CLAUSE_GREATEST and CLAUSE_LEAST. The allowed value is `field` of the item, among
 * those that `tool` lists, whose field `by` is the greatest or least. */
struct extreme {
	struct extreme *next;
	const struct tool *tool;
	struct val by, field; /* names of fields */
	struct val said;      /* tuple of strings: the words of a request that ask for the item */
	bool is_least;
	uint32_t index; /* index in the arrays of struct policy_listed */
};

/* The state of the clauses greatest(…) and least(…) in one run. */
struct policy_listed {
	bool *is_said;	  /* by clause: the request contains one of the clause's words */
	struct val *item; /* by clause: `field` of the item; T_UNSET: not listed yet */
	bool is_late;	  /* the run has changed data, and later lists may show its changes */
};

/*
 * Follow a run. @hears answers whether the request contains a word. If policy_lists() is true for a
 * call, policy_list() must get its result; policy_change() must get the tool of each call before
 * the call. Texts are copied into @h.
 *
 * Returns: 0; -1 if memory is exhausted. policy_lists(): is the result of the call a list for a
 * clause?
 */
int policy_listed_init(struct policy_listed *l, const struct policy *p, struct heap *h,
	bool (*hears)(const void *arg, struct val word), const void *arg);
bool policy_lists(const struct policy *p, const struct policy_call *call);
int policy_list(struct policy_listed *l, const struct policy *p, const struct tool *tool,
	struct heap *h, struct val result);
void policy_change(struct policy_listed *l, const struct policy *p, const struct tool *tool);
