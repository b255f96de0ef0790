/* The tools that run code: run_code, run_wait, read_output. SPDX-License-Identifier: Apache-2.0 */
#include "api/text/printable.h"
#include "base/json.h"
#include "serve/mcp/ask.h"
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include <stdlib.h>
#include <string.h>

static const char *argument(const struct mcp_job *job, const char *name, const char *fallback)
{
	return param_text(job->arguments, name, fallback);
}

/* ---- the tool run_code ---- */

static void on_record(struct mcp_job *job, const json_t *record, const struct err *err)
{
	const struct mcp_result_options options = {.version = mcp_call_version(job->call),
		.is_structured = mcp_tools_config(job->tools)->is_structured,
		.is_new = job->is_new,
		.packages = mcp_tools_config(job->tools)->packages};
	if (!record)
		mcp_job_refuse(job, err);
	else if (!mcp_job_ask_for(job, record))
		mcp_job_give(job, mcp_result_make(record, &options));
}

void mcp_job_await(struct mcp_job *job, const char *run)
{
	json_t *params = json_pack("{s:s, s:I}", "run", run, "wait_ms",
		(json_int_t)param_count(job->arguments, "wait_ms", MCP_WAIT_MS));
	mcp_job_do(job, "step.get", params, on_record);
}

static void copy(json_t *to, const struct mcp_job *job, const char *name)
{
	const json_t *value = param_get(job->arguments, name);
	if (value)
		json_put_shared(to, name, value);
}

static json_t *step_params(const struct mcp_job *job)
{
	json_t *params = json_pack("{s:s}", "session", mcp_job_session(job));
	copy(params, job, "code");
	copy(params, job, "runtime");
	copy(params, job, "timeout_ms");
	if (param_flag(job->arguments, "interactive"))
		json_put_bool(params, "stdin_open", true);
	if (mcp_call_can(job->call, "elicitation"))
		json_put_bool(params, "approvals", true);
	json_put_int(params, "wait_ms", param_count(job->arguments, "wait_ms", MCP_WAIT_MS));
	return params;
}

static void run(struct mcp_job *job)
{
	mcp_job_do(job, "step.run", step_params(job), on_record);
}

static void on_first(struct mcp_job *job, const json_t *record, const struct err *err)
{
	if (!record && err->code == ERR_NOT_FOUND && mcp_job_may_create(job))
		mcp_job_create(job, run);
	else
		on_record(job, record, err);
}

static void on_reset(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (!result && (err->code != ERR_NOT_FOUND || !mcp_job_may_create(job)))
		mcp_job_refuse(job, err);
	else
		mcp_job_create(job, run);
}

void mcp_run_code(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	mcp_job_beat(job);
	job->is_own_run = true;
	if (mcp_job_go_on(job))
		return;
	if (param_flag(job->arguments, "reset"))
		mcp_job_do(job, "session.close",
			json_pack("{s:s}", "session", mcp_job_session(job)), on_reset);
	else
		mcp_job_do(job, "step.run", step_params(job), on_first);
}

/* ---- the tool run_wait ---- */

static json_t *run_params(const struct mcp_job *job)
{
	return json_pack("{s:s}", "run", argument(job, "run_id", ""));
}

static void await(struct mcp_job *job)
{
	mcp_job_await(job, argument(job, "run_id", ""));
}

static void on_told(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		await(job);
	else
		mcp_job_refuse(job, err);
}

static void act(struct mcp_job *job)
{
	const char *action = argument(job, "action", "wait");
	json_t *params = run_params(job);
	if (strcmp(action, "wait") == 0) {
		json_decref(params);
		await(job);
		return;
	}
	if (strcmp(action, "kill") == 0)
		json_put_bool(params, "kill", true);
	mcp_job_do(job, "step.interrupt", params, on_told);
}

static void on_fed(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		act(job);
	else
		mcp_job_refuse(job, err);
}

void mcp_run_wait(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	mcp_job_beat(job);
	if (mcp_job_go_on(job))
		return;
	const json_t *text = param_get(job->arguments, "stdin");
	if (!text) {
		act(job);
		return;
	}
	json_t *params = run_params(job);
	json_put_shared(params, "text", text);
	mcp_job_do(job, "step.input", params, on_fed);
}

/* ---- the tool read_output ---- */

static void on_output(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct buf out = BUF_INIT(1 << 20), plain = BUF_INIT(1 << 20);
	const json_t *next = json_object_get(result, "next_offset");
	const json_t *text = json_object_get(result, "text");
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	(void)printable_add(&plain, json_string_value(text), json_string_length(text));
	buf_addf(&out, "%s: %" JSON_INTEGER_FORMAT " bytes", param_text(result, "stream", ""),
		json_integer_value(json_object_get(result, "bytes")));
	if (json_is_integer(next))
		buf_addf(
			&out, ", more from offset %" JSON_INTEGER_FORMAT, json_integer_value(next));
	buf_add(&out, "\n");
	buf_append(&out, buf_str(&plain), plain.bytes);
	mcp_job_give(job, mcp_result_text(buf_str(&out), out.bytes));
	buf_done(&out);
	buf_done(&plain);
}

void mcp_read_output(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	json_t *params = run_params(job);
	copy(params, job, "stream");
	copy(params, job, "offset");
	copy(params, job, "grep");
	json_put_int(params, "limit", param_count(job->arguments, "limit", MCP_READ_BYTES));
	mcp_job_do(job, "step.output", params, on_output);
}
