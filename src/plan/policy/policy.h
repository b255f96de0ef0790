/*
 * Policies. A policy says which data may reach which parameter of a tool. It is read from a file,
 * or derived from the annotations of the tools. The check and the run use the same functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/policy/policy_rule.h"

/* An argument of a call. The run knows its value; the check often knows only its label. */
struct policy_arg {
	bool is_given;	  /* false if the plan omits it; the tool then uses its default */
	uint32_t label;	  /* join of the labels of everything in the argument */
	struct val value; /* the value; its type is T_UNSET if unknown before the run */
};

struct policy_call {
	const struct tool *tool;
	const struct policy_arg *arg; /* array with an argument for each parameter of the tool */
	uint32_t guard;		      /* label of the program counter at the call */
	/* What the run has used of each limit of the policy so far, such as the number of calls
	 * of a tool or the sum of the amounts paid; see policy_spend(). NULL before the run. */
	const double *spent;
	/* State of the clauses greatest(…) and least(…), see policy_list.h. If NULL, these
	 * clauses do not hold. */
	const struct policy_listed *listed;
};

/*
 * enum policy_proof: the answer to one question about a call, see enum policy_check.
 * enum policy_ruling: the ruling on a whole call, which follows from the answers.
 * The values of both enums are in ascending order of severity.
 */
enum policy_proof { POLICY_PROVED, POLICY_DEPENDS, POLICY_REFUTED };
enum policy_ruling { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };

/* The questions that the policy answers about a call. */
enum policy_check {
	/* Question about the call: does the policy have a rule for the tool, and no deny("…")
	 * that forbids the tool? */
	CHECK_RULE,
	/* Question about the call: may the data in the guard decide whether the call is made? */
	CHECK_WHEN,
	/* Question about an argument: does at least one `allow` clause hold for the argument? */
	CHECK_ALLOW,
	/* Question about an argument: is each part of the argument free from what the `deny`
	 * clauses forbid? */
	CHECK_DENY,
	/* Question about an argument: may all recipients of the argument's value read the value? */
	CHECK_READERS,
	/* Question about the call: does the number of calls of the tool in this run stay within the
	 * limit? Or question about an argument: does the sum of the argument's values in all calls
	 * of this run stay within the limit? */
	CHECK_LIMIT,
};

struct policy_answer {
	enum policy_check check;
	enum policy_proof proof;
	/* Ruling if `proof` is not POLICY_PROVED: POLICY_ASK or POLICY_DENY. */
	enum policy_ruling otherwise;
	/* Index of the parameter that the answer is about. It is 0 for CHECK_RULE and
	 * CHECK_WHEN, which are not about a parameter. If a CHECK_LIMIT is about the number of
	 * calls, `param` is the number of parameters of the tool. */
	uint32_t param;
	/* Offset in the source of the policy: where the rule, its `when` or its entry for the
	 * parameter begins, depending on which of these gave the answer. */
	uint32_t at;
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

/* Run the test(…) declarations of a policy. *n_run is set to their number. Returns: the number
 * of failed tests; each failure adds a diagnostic P520 to @diags. */
size_t policy_test(struct policy *p, struct diags *diags, size_t *n_run);

/* Answer the questions about a call that the tool's rule raises, see enum policy_check. The
 * answers are stored in @out. Returns: the number of answers. */
size_t policy_decide(const struct policy *p, const struct policy_call *call,
	struct policy_answer out[POLICY_ANSWERS_MAX]);

/* Return the ruling on a call of the run. The ruling follows from the @n answers to the
 * questions about the call: deny overrides ask, and ask overrides allow. */
enum policy_ruling policy_ruling(const struct policy_answer *answer, size_t n);

/* Add a call of the run to the sums that the policy limits. @spent is an array of p->n_limits
 * sums, which are 0 before the first call. */
void policy_spend(const struct policy *p, const struct policy_call *call, double *spent);

/* Decide whether every origin of @label is trusted. Returns: POLICY_DEPENDS if this depends on
 * the owners of items, which only the run knows. */
enum policy_proof policy_trusts(const struct policy *p, uint32_t label);

/*
 * policy_result(): return the label of a tool's result.
 * policy_item(): return the label of one element of the result if the rule labels the result item
 * by item, otherwise the label of the result. If the element is unknown, the type of @item is
 * T_UNSET.
 * @inputs is the join of the labels of all arguments.
 * Returns: LABEL_FAILED if memory is exhausted.
 */
uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs);
uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);

/*
 * An item is an element of a tool's result, such as a mail, and may have an owner, such as the
 * sender of the mail. In `says`, a rule names the fields of an item that the owner wrote.
 *
 * policy_said(): return the label of the fields of @item that the owner wrote. If the rule of @tool
 * has no `says`, return the label of the whole item, as policy_item() does.
 *
 * policy_is_said(): return whether the rule of @tool names @field in `says`.
 */
uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);
bool policy_is_said(const struct policy *p, const struct tool *tool, const char *field);
