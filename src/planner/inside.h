/* What the files of a run share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/program/call.h"
#include "planner/plan_case.h"
#include "planner/plan_run.h"

enum { REFUSED_MAX_BYTES = 4096 };

/* The usage of all questions to the model in a run. */
struct plan_spent {
	json_int_t n_questions, n_input, n_output;
	bool is_estimated;
	char model[128];
};

/* One run of a plan with tools. */
struct run {
	const struct plan_request *req;
	struct plan_case c;
	const char *record_path;
	struct plan_record record;
	double *spent;
	struct buf *report, printed;
	json_int_t n_calls;
	json_t *tokens; /* the usage of the current question, in the format of a record; or NULL */
	struct plan_spent asked;
	struct err lost;  /* why a call got no answer; ERR_NONE: all were answered */
	bool is_approved; /* a person approved everything that the check would ask */
	bool is_denied;
	char refused[REFUSED_MAX_BYTES]; /* why the policy denied a call, for people; or empty */
};

/* Add the digest of @text as a member of a line; for NULL, null. Returns: 0, negative errno. */
int run_add_value(struct run *r, json_t *line, const char *name, const char *text, struct err *err);

/* The question that a person is shown about a call, or about a value of approve(): the values and
 * their origins. Returns: 0, negative errno. */
int run_prompt_call(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);
int run_prompt_value(struct run *r, const struct plan_call *call, struct buf *out);

/* Why a call was refused: a line for each answer that is not proved. Contains values of the run.
 * Returns: 0, negative errno. */
int run_refusal(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);

/* Answer the call that the machine waits for. Returns: 0, 1 the plan fails, negative errno. */
int run_answer(struct run *r, struct err *err);
