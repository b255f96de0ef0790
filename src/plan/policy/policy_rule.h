/*
 * The data of a policy: its rules and the declared labels of results.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/tool.h"
#include "plan/policy/policy_clause.h"
#include "plan/syntax/diag.h"

enum rule_role { ROLE_NONE, ROLE_CONTROL, ROLE_PAYLOAD };

struct param_rule {
	enum rule_role role;
	struct clauses allow, deny;
	/* For readers = covers("to"): the index of the parameter "to", which names the
	 * recipients. Each recipient must be allowed to read the value of the parameter that
	 * this rule is about. It is -1 if the rule has no covers(…). */
	int covers;
	bool asks; /* ruling if a check fails: true to ask a person, false to deny */
	bool has_limit;
	double limit; /* limit of the sum of the parameter's values in one run */
	uint32_t limit_index;
	uint32_t at;
};

enum effect { EFFECT_READ, EFFECT_WRITE, EFFECT_EXTERNAL, EFFECT_DESTRUCTIVE, EFFECT_PAYMENT };

/* The declared label of a result or, if is_each is true, of each item of the result. */
struct result_rule {
	bool is_each;
	/* If is_each is true: name of the field that contains the owner of an item, such as
	 * "sender" if the items of the result are mails. T_UNSET if the items have no such
	 * field. */
	struct val origin;
	/* If is_each is true: tuple with the names of the fields that the owner of an item
	 * wrote, such as "text" if the items of the result are mails. T_UNSET if the owner wrote
	 * all fields. */
	struct val says;
	/*
	 * Who may read the result:
	 * - If is_each is false: tuple with the names of the readers.
	 * - If is_each is true: tuple with names of fields. In each item, these fields name those
	 *   who may read the item.
	 * - T_UNSET if everybody may read the result.
	 */
	struct val readers;
	bool has_kind;
	struct kind kind;
	bool launders; /* true if the result does not get the labels of the arguments */
};

struct rule {
	const struct tool *tool;
	enum effect effect;
	struct clauses when;
	bool when_asks;
	struct param_rule *param; /* array of tool->n_params rules */
	struct result_rule result;
	bool has_limit; /* true if the number of calls is limited */
	double limit;
	uint32_t limit_index;
	uint32_t start, end;
};

struct policy {
	struct heap heap;
	struct source src; /* src.text is NULL if the policy is derived from annotations */
	const struct tool_set *tools;
	struct labels *labels;
	struct rule **rule; /* rules by index of the tool; NULL for a tool without a rule */
	bool *is_denied;    /* by index of the tool: true if the policy contains deny("…") */
	uint32_t *hosts;    /* by index of the tool: set of its origins "tool:net:HOST" */
	uint32_t trusted;   /* set of trusted origins */
	struct trusted_items *items; /* list of all trust(tool("…", principals = […])) */
	struct val literals;	     /* tuple of strings: literals whose origin is the policy */
	struct policy_case *cases, *last_case;
	struct extreme *extremes;
	uint32_t n_limits, n_extremes;
};
