/* Policies: which data may reach which parameter. A policy is read from a file, or derived from the
 * annotations of the tools. The check and the run ask the same function. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy_rule.h"

/* An argument, as far as it is known: in the run the value, in the check perhaps only a label. */
struct policy_arg {
	bool is_given;	  /* false: the tool uses its own default, which nobody chose */
	uint32_t label;	  /* of everything in it */
	struct val value; /* T_UNSET: not known before the run */
};

struct policy_call {
	const struct tool *tool;
	const struct policy_arg *arg; /* of each parameter of the tool */
	uint32_t guard;		      /* the program counter label at the call */
	const double *spent; /* by limit, see policy_spend(); NULL: not known before the run */
	const struct policy_listed *listed; /* see policy_list.h; NULL: not known before the run */
};

/* In order of severity. */
enum policy_proof { POLICY_PROVED, POLICY_DEPENDS, POLICY_REFUTED };
enum policy_ruling { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };

/* The questions about a call. */
enum policy_check {
	CHECK_RULE,    /* does a rule exist, and is the tool not denied? */
	CHECK_WHEN,    /* the guard: who decided that the call happens? */
	CHECK_ALLOW,   /* an argument: does one of the `allow` clauses hold? */
	CHECK_DENY,    /* an argument: does no `deny` clause hold? */
	CHECK_READERS, /* an argument: may all recipients read it? */
	CHECK_LIMIT,
};

struct policy_answer {
	enum policy_check check;
	enum policy_proof proof;
	enum policy_ruling otherwise; /* if not proved: POLICY_ASK or POLICY_DENY */
	uint32_t param;		      /* from CHECK_ALLOW on; CHECK_LIMIT of calls: n_params */
	uint32_t at;		      /* offset in the source of the policy */
};

enum { POLICY_ANSWERS_MAX = 4 * TOOL_PARAMS_MAX + 3 };

/*
 * Read a policy. @tools and @labels are borrowed. If @src is NULL, the annotations of the tools
 * decide: a tool that only reads is allowed; any other tool needs trusted arguments and a trusted
 * guard, else a person is asked.
 *
 * Owns:    policy_done() also after a failure.
 * Returns: 0, or -1 with diagnostics P1xx and P5xx.
 */
int policy_parse(struct policy *p, const struct source *src, const struct tool_set *tools,
	struct labels *labels, struct diags *diags);
void policy_done(struct policy *p);

/* Run the test(…) declarations. Returns: the number that failed, each with P520 in @diags. */
size_t policy_test(struct policy *p, struct diags *diags, size_t *n_run);

/* Answer every question about a call, also those that are proved. Returns: the number of answers.
 */
size_t policy_decide(const struct policy *p, const struct policy_call *call,
	struct policy_answer out[POLICY_ANSWERS_MAX]);

/* The final ruling, in the run: deny overrides ask, ask overrides allow. */
enum policy_ruling policy_ruling(const struct policy_answer *answer, size_t n);

/* Add a call to what its limits count. @spent: policy->n_limits numbers, 0 at first. */
void policy_spend(const struct policy *p, const struct policy_call *call, double *spent);

/* Is every origin trusted? POLICY_DEPENDS: only the run knows whose the items are. */
enum policy_proof policy_trusts(const struct policy *p, uint32_t label);

/*
 * The label of a tool's result; @inputs: the join of arguments and guard. policy_item(): of one
 * element of a result that is labelled by item; @item is T_UNSET for any element.
 * Returns: LABEL_FAILED without memory.
 */
uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs);
uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);

/* The label of those fields of an item that its owner wrote (`says`), and whether @field is one. If
 * the rule names none, it is the label of the item. */
uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);
bool policy_is_said(const struct policy *p, const struct tool *tool, const char *field);
