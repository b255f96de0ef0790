/* The tool that lists, rolls back, branches, resets and closes sessions. SPDX-License-Identifier:
 * Apache-2.0 */
#include "api/text/outcome.h"
#include "api/text/printable.h"
#include "serve/mcp/job.h"
#include "serve/mcp/result.h"
#include "serve/mcp/tool_table.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <string.h>

enum { TEXT_BYTES = 1 << 20, STEPS_SHOWN = 50, CODE_SHOWN = 80, ID_SHOWN = 12 };

static void give(struct mcp_job *job, struct buf *out)
{
	mcp_job_give(job, mcp_result_text(buf_str(out), out->bytes));
}

static void add_first_line(struct buf *out, const json_t *text)
{
	const char *code = json_string_value(text);
	size_t bytes = json_string_length(text);
	const char *end = bytes ? memchr(code, '\n', bytes) : NULL;
	size_t shown = utf8_cut(code, end ? (size_t)(end - code) : bytes, CODE_SHOWN);
	(void)printable_add(out, code, shown);
	buf_add(out, shown < bytes ? "…\n" : "\n");
}

static void on_list(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	size_t i;
	json_t *s;
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	json_array_foreach(json_object_get(result, "sessions"), i, s)
	{
		const char *name = param_text(s, "name", param_text(s, "session", ""));
		buf_addf(&out, "%s: %s, %s, %" JSON_INTEGER_FORMAT " steps\n", name,
			param_text(s, "runtime", ""), param_text(s, "state", ""),
			json_integer_value(json_object_get(s, "steps")));
	}
	if (out.bytes == 0)
		buf_add(&out, "no sessions");
	if (json_is_true(json_object_get(result, "truncated")))
		buf_add(&out, "… and older ones");
	give(job, &out);
}

static void on_log(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	const json_t *steps = json_object_get(result, "steps");
	size_t i, n = json_array_size(steps);
	json_t *s;
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	json_array_foreach(steps, i, s)
	{
		if (i >= STEPS_SHOWN)
			break;
		buf_addf(&out, "%.*s %s %s: ", ID_SHOWN, param_text(s, "step", ""),
			param_text(s, "runtime", ""), param_text(s, "status", ""));
		add_first_line(&out, json_object_get(s, "code"));
	}
	if (n == 0)
		buf_add(&out, "no steps yet");
	if (n > STEPS_SHOWN)
		buf_addf(&out, "… and %zu older", n - STEPS_SHOWN);
	give(job, &out);
}

static void on_undo(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	const char *head = param_text(result, "head", "");
	buf_addf(&out, "the last step was undone: now at %.12s: ", head[0] ? head : "the start");
	outcome_add_undone(&out, result);
	give(job, &out);
}

static void on_branch(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	buf_addf(&out, "new session \"%s\" with the state of \"%s\"",
		param_text(result, "name", param_text(result, "session", "")),
		mcp_job_session(job));
	size_t bytes = out.bytes;
	buf_add(&out, "; ");
	if (!outcome_add_branched(&out, result))
		buf_cut(&out, bytes);
	give(job, &out);
}

static void on_close(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	buf_addf(&out, "session \"%s\" is closed", mcp_job_session(job));
	give(job, &out);
}

static void tell_reset(struct mcp_job *job)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
	buf_addf(&out, "session \"%s\" is new and empty", mcp_job_session(job));
	give(job, &out);
}

static void on_reset(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result || err->code == ERR_NOT_FOUND)
		mcp_job_create(job, tell_reset);
	else
		mcp_job_refuse(job, err);
}

static const struct {
	const char *action, *operation;
	mcp_next_fn *next;
	bool has_session, has_name;
} actions[] = {
	{"list", "session.list", on_list, false, false},
	{"log", "session.log", on_log, true, false},
	{"undo", "session.undo", on_undo, true, false},
	{"branch", "session.branch", on_branch, true, true},
	{"reset", "session.close", on_reset, true, false},
	{"close", "session.close", on_close, true, false},
};

void mcp_sessions(struct mcp_call *call)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return;
	const char *action = param_text(job->arguments, "action", "");
	const char *name = param_text(job->arguments, "name", NULL);
	json_t *params = json_object();
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].action, action) != 0)
			continue;
		if (actions[i].has_session)
			json_put_text(params, "session", mcp_job_session(job));
		if (actions[i].has_name && name)
			json_put_text(params, "name", name);
		if (actions[i].has_name && param_flag(job->arguments, "force"))
			json_put_bool(params, "force", true);
		if (actions[i].has_name && param_flag(job->arguments, "keep"))
			json_put_bool(params, "keep_processes", true);
		mcp_job_do(job, actions[i].operation, params, actions[i].next);
		return;
	}
}
