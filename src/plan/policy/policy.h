/* Policies, which say which data may reach which parameter. A policy is read from a file, or
 * derived from the annotations of the tools. The check and the run ask the same functions.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy_rule.h"

/* An argument, as far as it is known: the run knows the value, the check perhaps only a label. */
struct policy_arg {
	bool is_given;	  /* false: the tool uses its own default, which nobody chose */
	uint32_t label;	  /* label of everything in the argument */
	struct val value; /* T_UNSET: not known before the run */
};

struct policy_call {
	const struct tool *tool;
	const struct policy_arg *arg; /* one per parameter of the tool */
	uint32_t guard;		      /* label of the program counter at the call */
	const double *spent; /* by limit, see policy_spend(); NULL: not known before the run */
	const struct policy_listed *listed; /* see policy_list.h; NULL: not known before the run */
};

/* Proofs and rulings, in order of severity. */
enum policy_proof { POLICY_PROVED, POLICY_DEPENDS, POLICY_REFUTED };
enum policy_ruling { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };

/* The questions that the policy answers about a call. */
enum policy_check {
	CHECK_RULE,    /* does a rule exist, and is the tool not denied? */
	CHECK_WHEN,    /* the guard: may it decide that the call happens? */
	CHECK_ALLOW,   /* an argument: does at least one `allow` clause hold? */
	CHECK_DENY,    /* an argument: does no `deny` clause hold? */
	CHECK_READERS, /* an argument: may all recipients read it? */
	CHECK_LIMIT,
};

struct policy_answer {
	enum policy_check check;
	enum policy_proof proof;
	enum policy_ruling otherwise; /* ruling if not proved: POLICY_ASK or POLICY_DENY */
	uint32_t param;		      /* from CHECK_ALLOW on; n_params for a CHECK_LIMIT of calls */
	uint32_t at;		      /* offset in the source of the policy */
};

enum { POLICY_ANSWERS_MAX = 4 * TOOL_PARAMS_MAX + 3 };

/*
 * Read a policy. @tools and @labels are borrowed. If @src is NULL, the policy is derived from the
 * annotations of the tools: a tool that only reads is allowed; any other tool needs trusted
 * arguments and a trusted guard, otherwise a person is asked.
 *
 * Owns:    the caller must call policy_done(), even after a failure.
 * Returns: 0, or -1 with diagnostics P1xx and P5xx.
 */
int policy_parse(struct policy *p, const struct source *src, const struct tool_set *tools,
	struct labels *labels, struct diags *diags);
void policy_done(struct policy *p);

/* Run the test(…) declarations. Returns: the number of failed tests; each adds P520 to @diags. */
size_t policy_test(struct policy *p, struct diags *diags, size_t *n_run);

/* Answer every question about a call, including those that are proved. Returns: the number of
 * answers. */
size_t policy_decide(const struct policy *p, const struct policy_call *call,
	struct policy_answer out[POLICY_ANSWERS_MAX]);

/* Return the final ruling in the run: deny overrides ask, ask overrides allow. */
enum policy_ruling policy_ruling(const struct policy_answer *answer, size_t n);

/* Add a call to the sums that limits bound. @spent: array of policy->n_limits numbers, initially 0.
 */
void policy_spend(const struct policy *p, const struct policy_call *call, double *spent);

/* Is every origin of @label trusted? POLICY_DEPENDS: only the run knows the owners of items. */
enum policy_proof policy_trusts(const struct policy *p, uint32_t label);

/*
 * Return the label of a tool's result. @inputs is the join of the labels of the arguments and the
 * guard. policy_item() returns the label of one element of a result that is labelled by item; @item
 * is T_UNSET for an unknown element. Returns: LABEL_FAILED if memory is exhausted.
 */
uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs);
uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);

/* policy_said() returns the label of the fields of an item that the item's owner wrote (`says`);
 * policy_is_said() answers whether @field is such a field. If the rule names no fields,
 * policy_said() returns the label of the item. */
uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);
bool policy_is_said(const struct policy *p, const struct tool *tool, const char *field);
