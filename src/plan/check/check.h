/* Every flow of a plan against a policy, before it runs: no value of an origin reaches a parameter
 * except as the policy allows. Termination and timing are no flows. SPDX-License-Identifier:
 * Apache-2.0 */
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
	uint32_t label;	     /* of a source: its own */
	const char *tool;    /* what it is the call of; NULL */
};

/* One question to the policy and its answer, about one place. The worst of all ways to it. */
struct finding {
	struct policy_answer answer;
	uint32_t label; /* of what was asked about */
	uint32_t event;
	const struct node *node; /* the argument, or the call */
	struct witness_step *path;
	uint32_t n_path;	    /* 0 when it is proved */
	struct witness_step branch; /* the nearest condition that offends; `end` 0: there is none */
};

/* A call of a tool at a place in a plan: in the order in which they are first come upon. */
struct check_call {
	const struct node *node;
	const struct tool *tool;
	struct policy_arg *arg;
	uint32_t guard, result, context;
	struct finding *finding;
	uint32_t n_findings;
	bool is_repeated; /* in a loop, or reached on more than one way */
};

/* The label of what is assigned at a place, or returned by a call there. */
struct margin {
	uint32_t at;
	uint32_t label;
};

struct check {
	struct heap *heap;
	struct source src;
	const struct node *tree;
	const struct policy *policy;
	const char *request; /* NULL: not known */
	struct diags *diags;
	struct check_call **calls;
	uint32_t n_calls;
	uint32_t n_denied, n_asked, n_depends; /* findings */
	bool has_margin; /* keep labels of what is assigned, for check_explain() */
	struct margin *margin;
	uint32_t n_margins;
};

/*
 * Check a plan that was parsed and resolved. Set in @c: all up to `diags`, and `has_margin`.
 * Returns: 0, also when the policy denies something, see n_denied; -1 with diagnostics when the
 *          plan cannot be judged, which refuses it as well.
 */
int check_plan(struct check *c);

/*
 * Append what was found: as text for people, the findings with their witnesses; with @is_explained
 * the plan with its labels, the calls and every answer; or all of it as one JSON object. No value
 * of a run is in any of them. Returns: 0, -E2BIG, -ENOMEM.
 */
int check_text(const struct check *c, struct buf *out);
int check_explain(const struct check *c, struct buf *out);
int check_json(const struct check *c, struct buf *out);
