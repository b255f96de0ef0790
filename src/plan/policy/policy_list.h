/* The clauses greatest(…) and least(…). A word of the request, such as "the largest file", names
 * one item of a list. The policy defines the word, a tool lists the items, and the plan cannot
 * influence the choice. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The data of CLAUSE_GREATEST and CLAUSE_LEAST. `tool` returns a list of items. One item has the
 * greatest or least value in its field `by`, and the clause allows only the value in the field
 * `field` of this item. For example, if `tool` lists files, `by` is "size" and `field` is
 * "name", then the clause allows the name of the largest file. */
struct extreme {
	struct extreme *next;
	const struct tool *tool;
	struct val by, field; /* names of fields */
	/* Tuple of strings, such as "largest". If the user's request contains one of these
	 * words, the request asks for the item with the greatest or least value in the field
	 * `by`. */
	struct val said;
	bool is_least;
	uint32_t index; /* index in the arrays of struct policy_listed */
};

/* The state of the clauses greatest(…) and least(…) in one run. */
struct policy_listed {
	/* Array with one bool for each clause: whether the user's request contains one of the
	 * words of the clause, such as "largest". */
	bool *is_said;
	/* Array with one value for each clause: the only value that the clause allows. The type of
	 * the value is T_UNSET until the run has called the tool that lists the items. */
	struct val *item;
	/* True once the run has called a tool that may change data. After that, no further
	 * result of a tool is used as a list of items, because the plan may have changed
	 * the items. */
	bool is_late;
};

/*
 * A clause greatest(…) or least(…) allows only one value: a field of one item in the list that a
 * tool returns. These functions follow a run to find this value.
 * policy_listed_init(): initialise @l before the run. For each word of a clause, @hears(@arg, word)
 * is called; it must return whether the request contains the word. Returns: 0; -1 if memory is
 * exhausted.
 * policy_change(): call this function before each call of a tool, with that tool. If the tool may
 * change data, later lists are ignored.
 * policy_lists(): return whether the result of @call is a list that a clause needs. This is so if
 * the clause names the tool and the call has no arguments. The caller must then pass the result to
 * policy_list().
 * policy_list(): find the values that the clauses allow in @result, the result of @tool, and store
 * them in @l. Texts are copied into @h. Returns: 0; -1 if memory is exhausted.
 */
int policy_listed_init(struct policy_listed *l, const struct policy *p, struct heap *h,
	bool (*hears)(const void *arg, struct val word), const void *arg);
bool policy_lists(const struct policy *p, const struct policy_call *call);
int policy_list(struct policy_listed *l, const struct policy *p, const struct tool *tool,
	struct heap *h, struct val result);
void policy_change(struct policy_listed *l, const struct policy *p, const struct tool *tool);
