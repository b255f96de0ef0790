/* The data of a policy: rules, clauses, results. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/tool.h"
#include "plan/policy/policy_clause.h"
#include "plan/syntax/diag.h"

enum rule_role { ROLE_NONE, ROLE_CONTROL, ROLE_PAYLOAD };

struct param_rule {
	enum rule_role role;
	struct clauses allow, deny;
	int covers; /* parameter whose values must all be readers of this one; -1: unset */
	bool asks;  /* true: otherwise = ask; false: otherwise = deny */
	bool has_limit;
	double limit; /* limit of the parameter's sum over one run */
	uint32_t limit_index;
	uint32_t at;
};

enum effect { EFFECT_READ, EFFECT_WRITE, EFFECT_EXTERNAL, EFFECT_DESTRUCTIVE, EFFECT_PAYMENT };

/* The declared label of a result, or with is_each of each item of the result. */
struct result_rule {
	bool is_each;
	struct val origin;  /* is_each: name of the field with the item's owner; or T_UNSET */
	struct val says;    /* is_each: tuple of the fields that the owner wrote; T_UNSET: all */
	struct val readers; /* tuple of field names (is_each) or of readers; T_UNSET: public */
	bool has_kind;
	struct kind kind;
	bool launders; /* the result does not get the labels of the arguments */
};

struct rule {
	const struct tool *tool;
	enum effect effect;
	struct clauses when;
	bool when_asks;
	struct param_rule *param; /* array of tool->n_params rules */
	struct result_rule result;
	bool has_limit; /* is the number of calls limited? */
	double limit;
	uint32_t limit_index;
	uint32_t start, end;
};

struct policy {
	struct heap heap;
	struct source src; /* src.text is NULL if the policy is derived from annotations */
	const struct tool_set *tools;
	struct labels *labels;
	struct rule **rule;	     /* by index of the tool; NULL: the tool has no rule */
	bool *is_denied;	     /* by index of the tool: deny("…") */
	uint32_t trusted;	     /* set of trusted origins */
	struct trusted_items *items; /* list of trust(tool("…", principals = […])) */
	struct val literals;	     /* tuple of strings: literals whose origin is the policy */
	struct policy_case *cases, *last_case;
	struct extreme *extremes;
	uint32_t n_limits, n_extremes;
};
