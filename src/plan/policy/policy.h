/* What may be done with what: read from a policy or from what tools say of themselves, and decided
 * the same way before a plan runs and at each of its calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy_rule.h"

/* An argument, or what is known of it. */
struct policy_arg {
	bool is_given;	  /* else the tool's own default: nobody chose it */
	uint32_t label;	  /* of all that is in it */
	struct val value; /* T_UNSET: not known yet; containers are walked */
};

struct policy_call {
	const struct tool *tool;
	const struct policy_arg *arg; /* of each parameter of the tool */
	uint32_t guard;		      /* of what decided that the call happens */
	const double *spent; /* by number of the limit, see policy_spend(); NULL: not known yet */
	const struct policy_listed *listed; /* see policy_list.h; NULL: not known yet */
};

/* In order of severity. */
enum policy_proof { POLICY_PROVED, POLICY_DEPENDS, POLICY_REFUTED };
enum policy_ruling { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };

/* What was asked of a call. */
enum policy_check {
	CHECK_RULE,    /* that there is a rule, and nothing denies the tool */
	CHECK_WHEN,    /* of the guard */
	CHECK_ALLOW,   /* of an argument: where it is from, what it is */
	CHECK_DENY,    /* of an argument: that it is none of those */
	CHECK_READERS, /* of an argument: who may read it */
	CHECK_LIMIT,
};

struct policy_answer {
	enum policy_check check;
	enum policy_proof proof;
	enum policy_ruling otherwise; /* POLICY_ASK or POLICY_DENY: when it is not proved */
	uint32_t param;		      /* from CHECK_ALLOW on; CHECK_LIMIT: n_params for calls */
	uint32_t at;		      /* in the source of the policy */
};

enum { POLICY_ANSWERS_MAX = 4 * TOOL_PARAMS_MAX + 3 };

/*
 * Read a policy. @tools and @labels are borrowed. With no @src (NULL) the annotations of the tools
 * decide: reads are allowed, whatever has an effect needs trusted arguments and a trusted guard,
 * or a person is asked.
 *
 * Owns:    policy_done() also after a failure.
 * Returns: 0, or -1 with diagnostics P1xx and P5xx.
 */
int policy_parse(struct policy *p, const struct source *src, const struct tool_set *tools,
	struct labels *labels, struct diags *diags);
void policy_done(struct policy *p);

/* Run the tests of the policy. Returns: how many failed, each with P520 in @diags. */
size_t policy_test(struct policy *p, struct diags *diags, size_t *n_run);

/* Decide. Every answer is given, those that are proved as well. Returns: how many. */
size_t policy_decide(const struct policy *p, const struct policy_call *call,
	struct policy_answer out[POLICY_ANSWERS_MAX]);

/* What the answers come to when nothing more will be known: deny overrides ask overrides allow. */
enum policy_ruling policy_ruling(const struct policy_answer *answer, size_t n);

/* Count a call that is made against its limits. @spent: policy->n_limits numbers, at first 0. */
void policy_spend(const struct policy *p, const struct policy_call *call, double *spent);

/* Is every origin trusted? POLICY_DEPENDS: it depends on whose items they are. */
enum policy_proof policy_trusts(const struct policy *p, uint32_t label);

/*
 * The label of what a tool returns, given that of its arguments and guard. With @item, an element
 * of it (or T_UNSET: any element), of a result that is labelled by item. Returns: LABEL_FAILED.
 */
uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs);
uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);

/* Of an item, the label of the fields that are its owner's word, and which those are. Else it is
 * that of the whole. */
uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);
bool policy_is_said(const struct policy *p, const struct tool *tool, const char *field);
