/* What the files of a run share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/program/call.h"
#include "planner/plan_case.h"
#include "planner/plan_run.h"

enum { REFUSED_MAX_BYTES = 4096 };

/* What questions to the model used, of all of a run. */
struct plan_spent {
	json_int_t n_questions, n_input, n_output;
	bool is_estimated;
	char model[128];
};

/* One run: everything of it. */
struct run {
	const struct plan_request *req;
	struct plan_case c;
	const char *record_path;
	struct plan_record record;
	double *spent;
	struct buf *report, printed;
	json_int_t n_calls;
	json_t *tokens; /* of the question that is answered now, as a record has them; or NULL */
	struct plan_spent asked;
	struct err lost;  /* why no answer comes; ERR_NONE: they all came */
	bool is_approved; /* a person said yes to all that the check would ask */
	bool is_denied;
	char refused[REFUSED_MAX_BYTES]; /* why the policy denied a call, for people; or empty */
};

/* The digest of @text as a member of a line; NULL is null. Returns: 0, negative errno. */
int run_add_value(struct run *r, json_t *line, const char *name, const char *text, struct err *err);

/* What a person who is asked is shown of a call, of what is given to approve(): the values, and
 * whence they are. Returns: 0, negative errno. */
int run_prompt_call(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);
int run_prompt_value(struct run *r, const struct plan_call *call, struct buf *out);

/* Why a call was refused: a line for each answer that is not proved. Values of the run are in it.
 * Returns: 0, negative errno. */
int run_refusal(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out);

/* Answer what the machine waits for. Returns: 0, 1 the plan fails with it, negative errno. */
int run_answer(struct run *r, struct err *err);
