/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/job.h"

#include "api/text/wording.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "serve/mcp/ask.h"
#include "serve/mcp/tool_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEAT_MS = 5000, REASON_BYTES = ERR_MSG_BYTES + ERR_HINT_BYTES + 8 };

struct mcp_beat {
	uv_timer_t timer;
	struct mcp_job *job;
	uint64_t began_ms;
};

/* ---- progress notifications ---- */

static void on_beat(uv_timer_t *timer)
{
	struct mcp_beat *beat = timer->data;
	struct mcp_job *job = beat->job;
	char text[MCP_LINE_BYTES + 32];
	uint64_t seconds = timer_since(beat->began_ms) / 1000;
	size_t bytes = utf8_cut(job->line, job->line_bytes, MCP_LINE_BYTES);
	snprintf(text, sizeof text, "%.*s", (int)bytes, job->line);
	mcp_call_progress(job->call, (double)seconds, -1, text[0] ? text : "running");
}

static void on_beat_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void beat_stop(struct mcp_job *job)
{
	if (job->beat)
		uv_close((uv_handle_t *)&job->beat->timer, on_beat_closed);
	job->beat = NULL;
}

void mcp_job_beat(struct mcp_job *job)
{
	uv_loop_t *loop = job->context->loop;
	if (job->beat || job->is_cancelled || !loop || !mcp_call_has_progress(job->call))
		return;
	struct mcp_beat *beat = xnew(struct mcp_beat);
	beat->job = job;
	(void)uv_timer_init(loop, &beat->timer);
	beat->timer.data = beat;
	beat->began_ms = timer_now();
	timer_start(&beat->timer, on_beat, BEAT_MS, BEAT_MS);
	job->beat = beat;
}

void mcp_job_show(struct mcp_job *job, const char *text, size_t bytes)
{
	for (const char *end = text + bytes; text < end; text++) {
		if (*text == '\n' || *text == '\r') {
			job->is_line_whole = true;
			continue;
		}
		if (job->is_line_whole)
			job->line_bytes = 0;
		job->is_line_whole = false;
		if (job->line_bytes < sizeof job->line)
			job->line[job->line_bytes++] = *text;
	}
}

static void on_event(void *arg, const json_t *event)
{
	const json_t *text = json_object_get(event, "text");
	if (json_is_string(text))
		mcp_job_show(arg, json_string_value(text), strlen(json_string_value(text)));
}

/* ---- creating jobs, starting their operations, ending them ---- */

static void job_free(struct mcp_job *job)
{
	beat_stop(job);
	mcp_call_on_cancel(job->call, NULL, NULL);
	json_decref(job->arguments);
	free(job->text);
	if (job->own)
		job->own_free(job->own);
	free(job);
}

void mcp_job_give(struct mcp_job *job, json_t *result)
{
	struct mcp_call *call = job->call;
	job_free(job);
	mcp_call_give(call, result);
}

void mcp_job_refuse(struct mcp_job *job, const struct err *failed)
{
	struct mcp_call *call = job->call;
	struct err own = *failed, *err = &own;
	wording_apply(err, WORDING_MCP);
	char text[REASON_BYTES];
	snprintf(text, sizeof text, "%s%s%s", err->msg[0] ? err->msg : err_meaning(err->code),
		err->hint[0] ? ": " : "", err->hint);
	job_free(job);
	mcp_call_refuse(call, text);
}

void mcp_job_no_resource(struct mcp_job *job)
{
	struct mcp_call *call = job->call;
	job_free(job);
	mcp_call_no_resource(call);
}

void mcp_job_ask(struct mcp_job *job, json_t *requests, json_t *state)
{
	struct mcp_call *call = job->call;
	job_free(job);
	mcp_call_ask(call, requests, state);
}

static void on_cancel(void *arg)
{
	struct mcp_job *job = arg;
	job->is_cancelled = true;
	beat_stop(job);
	if (job->is_own_run)
		mcp_job_interrupt(job);
	if (job->op)
		/* operation_cancel() may end the operation at once, and on_done() then frees the
		 * job. */
		operation_cancel(job->op);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct mcp_job *job = arg;
	if (job->is_cancelled && job->stop && result)
		job->stop(job, result, err);
	else if (job->is_cancelled)
		/* Nobody waits for the response any more, but the job must be freed. */
		mcp_job_give(job, json_object());
	else
		job->next(job, result, err);
}

void mcp_job_do(struct mcp_job *job, const char *operation, json_t *params, mcp_next_fn *next)
{
	const struct operation_listener listener = {.arg = job, .event = on_event, .done = on_done};
	const struct operation *op = operation_find(operation);
	struct err err;
	job->next = next;
	if (op) {
		operation_start(job->context, op, params, &listener, &job->op);
	} else {
		(void)operation_unknown(operation, &err);
		mcp_job_refuse(job, &err);
	}
	json_decref(params);
}

struct mcp_job *mcp_job_new(struct mcp_call *call, const struct param *rows, size_t n_rows)
{
	struct err err = {0};
	struct mcp_job *job = xnew(struct mcp_job);
	json_t *given = (json_t *)(uintptr_t)mcp_call_arguments(call);
	*job = (struct mcp_job){.call = call, .tools = mcp_call_arg(call)};
	if (param_check(rows, n_rows, given, &err) == 0 && given &&
		!(job->arguments = param_usual(rows, n_rows, given)))
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a call");
	if (err.code || !(job->context = mcp_call_context(call, &err))) {
		mcp_job_refuse(job, &err);
		return NULL;
	}
	mcp_call_on_cancel(call, on_cancel, job);
	return job;
}

struct mcp_job *mcp_job_of_tool(struct mcp_call *call)
{
	const struct mcp_tool *tool = mcp_tool_find(mcp_call_name(call));
	return mcp_job_new(call, tool->params, tool->n_params);
}

const char *mcp_job_session(const struct mcp_job *job)
{
	return param_text(job->arguments, "session", "default");
}

bool mcp_job_may_create(const struct mcp_job *job)
{
	return strncmp(mcp_job_session(job), "s-", 2) != 0;
}

static void on_created(struct mcp_job *job, const json_t *session, const struct err *err)
{
	job->is_new = session != NULL;
	if (session)
		job->then(job);
	else
		mcp_job_refuse(job, err);
}

/* If the first step of a new session names a language, make this language the default for later
 * steps of the session that name none. But if the configuration of the server has put a language
 * into @params, keep that language. The configuration chooses a language with `runtime`, and Python
 * also with `python` or `preload`. */
static void choose_language(const struct mcp_job *job, json_t *params)
{
	const char *runtime = param_text(job->arguments, "runtime", NULL);
	bool is_chosen = json_object_get(params, "runtime") || json_object_get(params, "python") ||
		json_array_size(json_object_get(params, "preload")) > 0;
	if (runtime && !is_chosen)
		json_put_text(params, "runtime", runtime);
}

void mcp_job_create(struct mcp_job *job, void (*then)(struct mcp_job *job))
{
	const json_t *usual = mcp_tools_config(job->tools)->create;
	json_t *params = usual ? json_deep_copy(usual) : json_object();
	json_put_text(params, "name", mcp_job_session(job));
	choose_language(job, params);
	job->then = then;
	mcp_job_do(job, "session.create", params, on_created);
}
