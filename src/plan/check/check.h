/* The check of all flows of a plan against a policy, before it runs: data of an origin reaches a
 * parameter only as the policy allows. Flows through termination and timing are excluded.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/ground.h"
#include "plan/policy/policy.h"
#include "plan/syntax/resolve.h"

enum { CHECK_PATH_MAX = 32 };

/* A step of a witness: from a source to a sink. */
enum step_kind { STEP_SOURCE, STEP_THROUGH, STEP_GUARD, STEP_SINK };
struct witness_step {
	enum step_kind kind;
	uint32_t start, end; /* in the plan */
	uint32_t label;	     /* of the data at this step */
	const char *tool;    /* the tool that is called here, or NULL */
};

/* One question to the policy about one place, and the worst answer of all contexts. */
struct finding {
	struct policy_answer answer;
	uint32_t label; /* of the argument, or of the guard */
	uint32_t event;
	const struct node *node; /* the argument, or the call */
	struct witness_step *path;
	uint32_t n_path; /* 0: proved */
	struct witness_step
		branch; /* the nearest condition on the path; `end` 0: it has no condition */
};

/* A call of a tool at one place of the plan. Calls are in the order of evaluation. */
struct check_call {
	const struct node *node;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, result, context;
	struct finding *finding;
	uint32_t n_findings;
	bool is_repeated; /* in a loop, or reached in several contexts */
};

/* The label of the value that is assigned, or returned by a call, at a place. */
struct margin {
	uint32_t at;
	uint32_t label;
};

struct check {
	struct heap *heap;
	struct source src;
	const struct node *tree;
	const struct policy *policy;
	const char *request; /* of the user; NULL: unknown */
	struct diags *diags;
	struct check_call **calls;
	uint32_t n_calls;
	uint32_t n_denied, n_asked, n_depends; /* findings */
	bool has_margin; /* keep the labels of assigned values, for check_explain() */
	struct margin *margin;
	uint32_t n_margins;
};

/*
 * Check a plan that was parsed and resolved. The caller sets all members up to `diags`, and
 * `has_margin`.
 * Returns: 0, also when the policy denies a call, see n_denied; -1 with diagnostics when the plan
 *          cannot be checked: it must not run either.
 */
int check_plan(struct check *c);

/*
 * Append the result. check_text(): the findings with their witnesses, for people; check_explain():
 * the plan with its labels, all calls and all answers; check_json(): all of it as one JSON object.
 * None of them contains a value of a run. Returns: 0, -E2BIG, -ENOMEM.
 */
int check_text(const struct check *c, struct buf *out);
int check_explain(const struct check *c, struct buf *out);
int check_json(const struct check *c, struct buf *out);
