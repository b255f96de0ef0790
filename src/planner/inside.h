/* Internals of a run of a plan with tools, which plan_run.c, plan_call.c, plan_prompt.c and
 * plan_refusal.c share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/program/call.h"
#include "planner/plan_case.h"
#include "planner/plan_run.h"

enum { REFUSED_MAX_BYTES = 4096 };

/* How much a run has used the model of ask() in total. */
struct plan_spent {
	json_int_t n_questions, n_input, n_output;
	bool is_estimated;
	char model[128];
};

/* The state of a run of a plan with tools. */
struct run {
	const struct plan_request *req;
	struct plan_case c;
	const char *record_path;
	struct plan_record record;
	double *spent;
	struct buf *report, printed;
	json_int_t n_calls;
	json_t *tokens; /* the model's usage in the current ask(), for the record; or NULL */
	struct plan_spent asked;
	struct err lost;  /* why a call got no result; ERR_NONE if all calls got one */
	bool is_approved; /* a person approved all open findings before the run */
	bool is_denied;
	/* Why the policy denied a call, for people; "" if it denied none. */
	char refused[REFUSED_MAX_BYTES];
};

/* Store @text among the values of the record, and set the member @name of @line to its digest. If
 * @text is NULL, the member is null. Returns: 0, negative errno. */
int run_add_value(struct run *r, json_t *line, const char *name, const char *text, struct err *err);

/*
 * Append the question that a person is asked: run_prompt_call() about a call, run_prompt_value()
 * about a value of approve(). The question shows all values and their origins. Returns: 0, negative
 * errno.
 */
int run_prompt_call(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);
int run_prompt_value(struct run *r, const struct plan_call *call, struct buf *out);

/* Append why a call was refused, with a line for each policy answer that is not proved. The text
 * contains values of the run. Returns: 0, negative errno. */
int run_refusal(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);

/* Make the call for which the machine waits, and give its result to the plan. Returns: 0; 1 if the
 * plan fails; negative errno. */
int run_answer(struct run *r, struct err *err);
