/*
 * Tool calls that wait for a person's approval. The step keeps running while the client asks the
 * person. The client then repeats its request with the person's decision attached, and the repeated
 * request waits for the same step. In both eras the arguments of the repeated request are ignored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/mcp/ask.h"

#include "api/row/param.h"
#include "base/attr.h"
#include "base/json.h"

#include <string.h>

enum { ASKED_MAX = 8 };

static const char key[] = "approve";

json_t *mcp_approval_question(json_t *text, const char *description)
{
	return json_pack("{s:s, s:{s:o, s:{s:s, s:{s:{s:s, s:s, s:s}}, s:[s]}}}", "method",
		"elicitation/create", "params", "message", text, "requestedSchema", "type",
		"object", "properties", key, "type", "boolean", "title", "Allow", "description",
		description, "required", key);
}

bool mcp_approval_is_given(const json_t *answer)
{
	return strcmp(param_text(answer, "action", ""), "accept") == 0 &&
		json_is_true(json_object_get(json_object_get(answer, "content"), key));
}

/* Return the state {"run", "approvals": [id]}: the calls for which the client was asked. */
static const json_t *asked_ids(const struct mcp_job *job)
{
	return json_object_get(mcp_call_state(job->call), "approvals");
}

bool mcp_job_ask_for(struct mcp_job *job, const json_t *record)
{
	const json_t *waiting = json_object_get(record, "approvals"), *one;
	size_t i;
	if (json_array_size(waiting) == 0 || !mcp_call_can(job->call, "elicitation"))
		return false;
	json_t *requests = json_object(), *ids = json_array();
	json_array_foreach(waiting, i, one)
	{
		const char *id = param_text(one, "approval", ""),
			   *text = param_text(one, "text", "");
		if (i == ASKED_MAX)
			break;
		json_add_text(ids, id);
		json_put_new(requests, id,
			mcp_approval_question(mcp_text(text, strlen(text)),
				"Let the code call this tool with these arguments"));
	}
	mcp_job_ask(job, requests,
		json_pack("{s:s, s:o}", "run", param_text(record, "run", ""), "approvals", ids));
	return true;
}

static void decide(struct mcp_job *job);

/* Count a decision. An error is ignored: an approval that no longer exists was decided elsewhere,
 * or its step is over. */
static void on_decided(struct mcp_job *job, const json_t *result, const struct err *err)
{
	(void)result;
	(void)err;
	job->n_decided++;
	decide(job);
}

static void decide(struct mcp_job *job)
{
	const json_t *ids = asked_ids(job), *answers = mcp_call_answers(job->call);
	while (job->n_decided < json_array_size(ids)) {
		const char *id = json_string_value(json_array_get(ids, job->n_decided));
		const json_t *answer = id ? json_object_get(answers, id) : NULL;
		if (answer) {
			mcp_job_do(job, "tool.approve",
				json_pack("{s:s, s:b}", "approval", id, "allow",
					mcp_approval_is_given(answer)),
				on_decided);
			return;
		}
		job->n_decided++;
	}
	mcp_job_await(job, param_text(mcp_call_state(job->call), "run", ""));
}

bool mcp_job_go_on(struct mcp_job *job)
{
	if (!asked_ids(job))
		return false;
	decide(job);
	return true;
}

void mcp_job_interrupt(const struct mcp_job *job)
{
	const char *run = param_text(mcp_call_state(job->call), "run", NULL);
	if (run)
		operation_tell(job->context, "step.interrupt", json_pack("{s:s}", "run", run));
}
