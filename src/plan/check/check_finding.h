/* What was found of a plan: calls, questions to the policy, witnesses. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

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
