/* Internals of running a plan with tools, shared by plan_run.c, plan_call.c, plan_prompt.c and
 * plan_refusal.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/program/call.h"
#include "planner/plan_case.h"
#include "planner/plan_run.h"

enum { REFUSED_MAX_BYTES = 4096 };

/* The total usage of the model in a run. */
struct plan_spent {
	json_int_t n_questions, n_input, n_output;
	bool is_estimated;
	char model[128];
};

/* The state of running a plan with tools. */
struct run {
	const struct plan_request *req;
	struct plan_case c;
	const char *record_path;
	struct plan_record record;
	double *spent;
	struct buf *report, printed;
	json_int_t n_calls;
	json_t *tokens; /* usage of the current ask(), in the record's format; or NULL */
	struct plan_spent asked;
	struct err lost;  /* reason why a call got no result; ERR_NONE: all calls did */
	bool is_approved; /* a person approved all open findings before the run */
	bool is_denied;
	char refused[REFUSED_MAX_BYTES]; /* explanation for people why the policy denied a call, or
					    "" */
};

/* Store @text among the record's values and add its digest to @line as @name; NULL becomes null.
 * Returns: 0, negative errno. */
int run_add_value(struct run *r, json_t *line, const char *name, const char *text, struct err *err);

/* Append the question to a person about a call, or about a value of approve(), with all values and
 * their origins. Returns: 0, negative errno. */
int run_prompt_call(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);
int run_prompt_value(struct run *r, const struct plan_call *call, struct buf *out);

/* Append why a call was refused: a line for each policy answer that is not proved. Contains values
 * of the run. Returns: 0, negative errno. */
int run_refusal(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);

/* Make the call that the machine waits for, and resume it with the result. Returns: 0; 1: the plan
 * fails; negative errno. */
int run_answer(struct run *r, struct err *err);
