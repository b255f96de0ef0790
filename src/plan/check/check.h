/*
 * Check a plan against a policy before the plan runs: data of an origin must reach a parameter of a
 * tool only if the policy allows it. Flows through termination and timing are not checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/policy/ground.h"
#include "plan/policy/policy.h"
#include "plan/syntax/resolve.h"

enum { CHECK_PATH_MAX = 32 };

/* One step of a witness. A witness shows how data gets from its source to a sink, which is the
 * call of a tool. */
enum step_kind { STEP_SOURCE, STEP_THROUGH, STEP_GUARD, STEP_SINK };
struct witness_step {
	enum step_kind kind;
	uint32_t start, end; /* byte range in the text of the plan */
	uint32_t label;	     /* label of the data at this step */
	const char *tool;    /* name of the tool that this step calls; NULL for other steps */
};

/* The policy's answer to one question about one place in the plan. If several calling contexts
 * reach this place, this is the worst of their answers. */
struct finding {
	struct policy_answer answer;
	/* Label of the data that the policy judged in its answer. If the answer is about one
	 * argument of a call: the label of this argument. If the answer is about the whole call:
	 * the label of the guard, the data that decides whether the call is made. */
	uint32_t label;
	uint32_t event;
	/* Syntax node of the place that the policy judged in its answer. If the answer is about
	 * one argument of a call: the node of this argument. If the answer is about the whole
	 * call: the node of the call. */
	const struct node *node;
	struct witness_step *path;
	uint32_t n_path; /* number of steps in `path`; 0 if the policy's answer is "proved" */
	/* The condition whose data violates the rule. If there are several such conditions, this
	 * is the one nearest to the sink. If there is none, branch.end is 0. */
	struct witness_step branch;
};

/* A place in the plan where a tool is called, with what the check found for all calls there.
 * struct check lists these places in the order in which the check first evaluated them. */
struct check_call {
	const struct node *node;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, result, context;
	struct finding *finding;
	uint32_t n_findings;
	bool is_repeated; /* the place is in a loop, or several calling contexts reach it */
};

/* A place where the plan assigns to a variable. `at` is the offset of the variable's name there.
 * `label` is the join of the labels of all values that are assigned there. */
struct margin {
	uint32_t at;
	uint32_t label;
};

struct check {
	struct heap *heap;
	struct source src;
	const struct node *tree;
	const struct policy *policy;
	const char *request; /* text of the user's request; NULL if unknown */
	struct diags *diags;
	struct check_call **calls;
	uint32_t n_calls;
	/* n_denied: number of findings that make the policy deny a call. n_asked: number of
	 * findings for which a person must be asked. n_depends: number of findings that can be
	 * decided only at the call. */
	uint32_t n_denied, n_asked, n_depends;
	/* Input: true to collect in `margin` the labels of assigned values, which
	 * check_explain() prints. */
	bool has_margin;
	struct margin *margin;
	uint32_t n_margins;
};

/*
 * Check a plan that was already parsed and resolved. The caller sets the members from `heap` to
 * `diags`, and `has_margin`.
 * Returns: 0, even if the policy denies a call (see n_denied); -1 with diagnostics if the plan
 * cannot be checked and therefore must not run.
 */
int check_plan(struct check *c);

/*
 * Append the result of a check to @out. check_text() appends the findings with their witnesses, for
 * people. check_explain() appends the plan with its labels, all calls and all answers of the
 * policy. check_json() appends the calls, answers, witnesses and diagnostics as one JSON object. No
 * output contains a value of a run.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int check_text(const struct check *c, struct buf *out);
int check_explain(const struct check *c, struct buf *out);
int check_json(const struct check *c, struct buf *out);
