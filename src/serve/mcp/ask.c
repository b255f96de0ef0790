/*
 * Tool calls that wait for a person's approval.
 *
 * 1. A running step makes such a tool call. The handler of the MCP request that started the step
 *    asks the client to show the person a form. The step keeps running meanwhile.
 * 2. The person decides, and the client sends the decision to us. A client with a modern protocol
 *    revision (enum mcp_era) repeats the MCP request, with the decision. A client with a legacy
 *    revision responds to our request for the form.
 * 3. The handler of the MCP request is called a second time. It gets the decision, and the state
 *    that it gave to mcp_call_ask(). The state names the run of the step.
 * 4. The handler passes the decision on to the engine, and waits for the run. So the code is not
 *    run a second time.
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

/* Build the request for a form with one field. Owns: takes @text and @field. */
static json_t *form(json_t *text, json_t *field)
{
	return json_pack("{s:s, s:{s:o, s:{s:s, s:{s:o}, s:[s]}}}", "method", "elicitation/create",
		"params", "message", text, "requestedSchema", "type", "object", "properties", key,
		field, "required", key);
}

json_t *mcp_approval_question(json_t *text, const char *description)
{
	return form(text,
		json_pack("{s:s, s:s, s:s}", "type", "boolean", "title", "Allow", "description",
			description));
}

/* The same for a connection, which can be allowed once or for the session. */
static json_t *connection_question(json_t *text)
{
	return form(text,
		json_pack("{s:s, s:s, s:[s,s,s], s:[s,s,s], s:s}", "type", "string", "title",
			"Allow", "enum", "no", "once", "session", "enumNames", "No",
			"Once, until the code has ended", "For this session", "default", "no"));
}

bool mcp_approval_is_given(const json_t *answer)
{
	return strcmp(param_text(answer, "action", ""), "accept") == 0 &&
		json_is_true(json_object_get(json_object_get(answer, "content"), key));
}

/* Return the ids of the approvals about which the client was asked. They are the member "approvals"
 * of the state {"run", "approvals": [id, …]}, which mcp_job_ask_for() made. */
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
		json_t *shown = mcp_text(text, strlen(text));
		json_put_new(requests, id,
			json_object_get(one, "connection")
				? connection_question(shown)
				: mcp_approval_question(shown,
					  "Let the code call this tool with these arguments"));
	}
	mcp_job_ask(job, requests,
		json_pack("{s:s, s:o}", "run", param_text(record, "run", ""), "approvals", ids));
	return true;
}

/* Return the parameters of tool.approve for the person's @answer. */
static json_t *decision_of(const char *id, const json_t *answer)
{
	const char *word = param_text(answer, "action", "");
	const char *choice = param_text(json_object_get(answer, "content"), key, "");
	bool is_chosen = strcmp(word, "accept") == 0 &&
		(strcmp(choice, "once") == 0 || strcmp(choice, "session") == 0);
	json_t *params = json_pack(
		"{s:s, s:b}", "approval", id, "allow", is_chosen || mcp_approval_is_given(answer));
	if (is_chosen)
		json_put_text(params, "scope", choice);
	return params;
}

static void decide(struct mcp_job *job);

/* Continue with the next decision, even after an error: then the approval no longer exists,
 * because it was decided elsewhere or because its step is over. */
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
			mcp_job_do(job, "tool.approve", decision_of(id, answer), on_decided);
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
	if (mcp_call_is_abandoned(job->call)) {
		mcp_job_interrupt(job);
		mcp_job_give(job, json_object());
		return true;
	}
	decide(job);
	return true;
}

void mcp_job_interrupt(const struct mcp_job *job)
{
	const char *run = param_text(mcp_call_state(job->call), "run", NULL);
	if (run)
		operation_tell(job->context, "step.interrupt", json_pack("{s:s}", "run", run));
}
