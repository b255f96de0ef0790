/* Check all flows of a plan against a policy before the plan runs: data of an origin must reach a
 * parameter only as the policy allows. Flows through termination and timing are excluded.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/ground.h"
#include "plan/policy/policy.h"
#include "plan/syntax/resolve.h"

enum { CHECK_PATH_MAX = 32 };

/* One step of a witness, which is a path from a source to a sink. */
enum step_kind { STEP_SOURCE, STEP_THROUGH, STEP_GUARD, STEP_SINK };
struct witness_step {
	enum step_kind kind;
	uint32_t start, end; /* byte range in the plan */
	uint32_t label;	     /* label of the data at this step */
	const char *tool;    /* name of the tool that this step calls, or NULL */
};

/* The policy's answer to one question about one place in the plan: the worst over all contexts. */
struct finding {
	struct policy_answer answer;
	uint32_t label; /* label of the argument; for a question about the call: of the guard */
	uint32_t event;
	const struct node *node; /* the argument, or the call */
	struct witness_step *path;
	uint32_t n_path;	    /* number of steps; 0 if the policy's answer is "proved" */
	struct witness_step branch; /* nearest condition on the path; `end` 0: none */
};

/* A call of a tool at one place of the plan. The calls are stored in the order of evaluation. */
struct check_call {
	const struct node *node;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, result, context;
	struct finding *finding;
	uint32_t n_findings;
	bool is_repeated; /* the call is in a loop, or several contexts reach it */
};

/* The label of the value that the expression at `at` assigns or that a call there returns. */
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
	uint32_t n_denied, n_asked, n_depends; /* numbers of findings */
	bool has_margin; /* keep the labels of assigned values for check_explain() */
	struct margin *margin;
	uint32_t n_margins;
};

/*
 * Check a plan that was already parsed and resolved. The caller sets all members up to `diags`, and
 * `has_margin`. Returns: 0, even if the policy denies a call (see n_denied); -1 with diagnostics if
 * the plan cannot be checked. Such a plan must not run.
 */
int check_plan(struct check *c);

/*
 * Append the result of a check. check_text() appends the findings with their witnesses, for people;
 * check_explain() appends the plan with its labels, all calls and all answers of the policy;
 * check_json() appends all of that as one JSON object. No output contains a value of a run.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int check_text(const struct check *c, struct buf *out);
int check_explain(const struct check *c, struct buf *out);
int check_json(const struct check *c, struct buf *out);
