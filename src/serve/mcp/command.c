/*
 * The tools run_command and process_output: programs in a session's box, beside run_code.
 *
 * A call is a chain of operations, each started when the one before has answered:
 *
 *   run_command     session.get, session.create if there is no session, process.start
 *   process_output  process.get, process.write for stdin, process.signal
 *   both            process.wait, then process.read for what is shown of stdout and stderr
 *
 * If the client wants progress notifications, process.wait is called for a second at a time. After
 * each second the end of the output is read, because the notification shows its last line. So a
 * program that prints gigabytes costs no more than one that prints nothing.
 *
 * If the call of a command in the foreground is cancelled, the command is ended as at a time limit:
 * by SIGTERM and, after two seconds, by SIGKILL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/text/printable.h"
#include "base/attr.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/timer.h"
#include "serve/mcp/command_result.h"
#include "serve/mcp/job.h"
#include "serve/mcp/tool_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * OUTPUT_MAX: limit on what is read of one stream; the engine keeps less. CHUNK_BYTES: maximum of
 * one process.read. TURN_MS: time between two looks at the last line. LAST_BYTES: how much of the
 * output is looked at for it. GRACE_MS: time between SIGTERM and SIGKILL.
 */
enum {
	OUTPUT_MAX = 8 << 20,
	CHUNK_BYTES = 1 << 20,
	TURN_MS = 1000,
	LAST_BYTES = 1024,
	GRACE_MS = 2000
};

static const char *const streams[] = {"stdout", "stderr"};

struct command {
	json_t *about; /* the process; NULL until it runs */
	uint64_t wait_ms, deadline_ms;
	struct mcp_command_output out[ARRAY_LEN(streams)];
	unsigned i_stream;  /* the stream that is being read */
	uint64_t end_bytes; /* it is read up to this offset */
	unsigned n_stops;
	uv_timer_t *limit; /* ends a process.write for which the program does not read; or NULL */
	bool is_late;	   /* @limit has expired */
};

static void on_limit_closed(uv_handle_t *handle)
{
	free(handle);
}

static void limit_stop(struct command *c)
{
	if (c->limit)
		uv_close((uv_handle_t *)c->limit, on_limit_closed);
	c->limit = NULL;
}

static void command_free(void *own)
{
	struct command *c = own;
	limit_stop(c);
	json_decref(c->about);
	for (size_t i = 0; i < ARRAY_LEN(c->out); i++)
		buf_done(&c->out[i].raw);
	free(c);
}

static struct mcp_job *begin(struct mcp_call *call, uint64_t wait_ms)
{
	struct mcp_job *job = mcp_job_of_tool(call);
	if (!job)
		return NULL;
	struct command *c = xnew(struct command);
	c->wait_ms = param_count(job->arguments, "wait_ms", wait_ms);
	c->deadline_ms = timer_now() + c->wait_ms;
	for (size_t i = 0; i < ARRAY_LEN(c->out); i++)
		c->out[i].raw = BUF_INIT(OUTPUT_MAX);
	job->own = c;
	job->own_free = command_free;
	mcp_job_beat(job);
	return job;
}

/* Keep what an operation has said of the process. process.wait does not name the session. */
static void learn(struct command *c, const json_t *about)
{
	if (!c->about)
		c->about = json_need(json_copy(json_unconst(about)));
	else
		(void)json_object_update(c->about, json_unconst(about));
}

static bool is_running(const struct command *c)
{
	return c->about && strcmp(json_get_text(c->about, "state"), "running") == 0;
}

/* Make the parameters of an operation on the process. */
static json_t *params_of(const struct command *c)
{
	json_t *params = json_need(json_object());
	json_put_text(params, "session", json_get_text(c->about, "session"));
	json_put_text(params, "process", json_get_text(c->about, "process"));
	return params;
}

static void copy(json_t *to, const struct mcp_job *job, const char *from, const char *name)
{
	const json_t *value = param_get(job->arguments, from);
	if (value)
		json_put_shared(to, name, value);
}

static bool has(const struct mcp_job *job, const char *name)
{
	return param_get(job->arguments, name) != NULL;
}

/* ---- the result ---- */

/* Return the stream of which the caller wants a part; NULL: both, as far as there is room. */
static const char *wanted_stream(const struct mcp_job *job)
{
	bool is_part = has(job, "stream") || has(job, "offset");
	return is_part ? param_text(job->arguments, "stream", streams[0]) : NULL;
}

static void give(struct mcp_job *job)
{
	const struct command *c = job->own;
	const struct mcp_command_report report = {.about = c->about,
		.out = c->out,
		.stream = wanted_stream(job),
		.is_new = job->is_new,
		.has_input = param_flag(job->arguments, "interactive"),
		.is_default_session = strcmp(mcp_job_session(job), "default") == 0,
		.is_structured = mcp_tools_config(job->tools)->is_structured};
	mcp_job_give(job, mcp_command_result(&report));
}

static json_t *read_params(const struct command *c, uint64_t offset, uint64_t limit)
{
	json_t *params = params_of(c);
	json_put_text(params, "stream", streams[c->i_stream]);
	json_put_text(params, "encoding", "base64");
	json_put_int(params, "offset", (int64_t)offset);
	json_put_int(params, "limit", (int64_t)limit);
	return params;
}

static int add_chunk(struct buf *out, const json_t *result)
{
	const json_t *data = json_object_get(result, "data");
	struct err err;
	/* Nothing at all is not encoded. */
	return json_string_length(data) == 0
		? 0
		: base64_read(out, json_string_value(data), json_string_length(data), &err);
}

static void read_stream(struct mcp_job *job);

static void on_read(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct command *c = job->own;
	struct mcp_command_output *out = &c->out[c->i_stream];
	(void)err; /* The session was closed meanwhile, and its output is gone. */
	size_t before = out->raw.bytes;
	uint64_t lost = (uint64_t)json_get_int(result, "cut_bytes");
	if (lost > 0 && !wanted_stream(job))
		buf_addf(&out->raw, "\n[… %" PRIu64 " bytes not kept]\n", lost);
	out->lost_bytes += lost;
	int r = add_chunk(&out->raw, result);
	out->next = (uint64_t)json_get_int(result, "next");
	bool is_more = result && r == 0 && out->raw.bytes > before && out->next < c->end_bytes &&
		!wanted_stream(job);
	if (is_more) {
		mcp_job_do(job, "process.read", read_params(c, out->next, CHUNK_BYTES), on_read);
		return;
	}
	c->i_stream++;
	read_stream(job);
}

/* Read the stream at c->i_stream, and then the next one. At the end, give the result. */
static void read_stream(struct mcp_job *job)
{
	struct command *c = job->own;
	const char *wanted = wanted_stream(job);
	while (wanted && c->i_stream < ARRAY_LEN(streams) &&
		strcmp(streams[c->i_stream], wanted) != 0)
		c->i_stream++;
	if (c->i_stream == ARRAY_LEN(streams)) {
		give(job);
		return;
	}
	uint64_t offset = wanted ? param_count(job->arguments, "offset", 0) : 0;
	c->end_bytes = (uint64_t)json_get_int(
		c->about, c->i_stream == 0 ? "stdout_bytes" : "stderr_bytes");
	mcp_job_do(job, "process.read",
		read_params(c, offset, wanted ? MCP_READ_BYTES : CHUNK_BYTES), on_read);
}

/* ---- waiting ---- */

static void await(struct mcp_job *job);

static void on_last(struct mcp_job *job, const json_t *result, const struct err *err)
{
	cleanup_buf struct buf raw = BUF_INIT(LAST_BYTES), plain = BUF_INIT(8 * LAST_BYTES);
	(void)err;
	if (add_chunk(&raw, result) == 0 && raw.bytes > 0) {
		(void)printable_add(&plain, buf_str(&raw), raw.bytes);
		job->is_line_whole = true;
		mcp_job_show(job, buf_str(&plain), plain.bytes);
	}
	await(job);
}

static void on_waited(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct command *c = job->own;
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	learn(c, result);
	if (!is_running(c) || timer_now() >= c->deadline_ms) {
		read_stream(job);
		return;
	}
	uint64_t bytes = (uint64_t)json_get_int(c->about, "stdout_bytes");
	mcp_job_do(job, "process.read",
		read_params(c, bytes - MIN(bytes, (uint64_t)LAST_BYTES), LAST_BYTES), on_last);
}

static void await(struct mcp_job *job)
{
	struct command *c = job->own;
	uint64_t now = timer_now(), left = c->deadline_ms - MIN(now, c->deadline_ms);
	json_t *params = params_of(c);
	/* mcp_job_beat() has made a timer if the client wants progress notifications. */
	json_put_int(
		params, "timeout_ms", (int64_t)(job->beat ? MIN(left, (uint64_t)TURN_MS) : left));
	mcp_job_do(job, "process.wait", params, on_waited);
}

/* ---- the tool run_command ---- */

/* End a command whose call was cancelled. This is called with each result. */
static void stop(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct command *c = job->own;
	(void)err;
	if (json_object_get(result, "process"))
		learn(c, result);
	if (!is_running(c) || c->n_stops > 2) {
		mcp_job_give(job, json_object());
		return;
	}
	bool is_wait = c->n_stops == 1;
	json_t *params = params_of(c);
	if (is_wait)
		json_put_int(params, "timeout_ms", GRACE_MS);
	else
		json_put_text(params, "signal", c->n_stops == 0 ? "TERM" : "KILL");
	c->n_stops++;
	mcp_job_do(job, is_wait ? "process.wait" : "process.signal", params, NULL);
}

static void on_started(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct command *c = job->own;
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	learn(c, result);
	c->deadline_ms =
		MAX(c->deadline_ms, timer_now() + MIN(c->wait_ms, (uint64_t)MCP_WAIT_SHORT_MS));
	await(job);
}

static void start(struct mcp_job *job)
{
	bool is_background = param_flag(job->arguments, "background");
	json_t *params = json_need(json_object());
	json_put_text(params, "session", mcp_job_session(job));
	copy(params, job, "command", "command");
	copy(params, job, "cwd", "cwd");
	copy(params, job, "timeout_ms", "timeout_ms");
	copy(params, job, "interactive", "input");
	if (!is_background && !has(job, "timeout_ms"))
		json_put_int(params, "timeout_ms", MCP_COMMAND_LIMIT_MS);
	/* The client waits for a command in the foreground, so it uses the session. */
	json_put_bool(params, "keep_alive", !is_background);
	mcp_job_do(job, "process.start", params, on_started);
}

static void on_session(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		start(job);
	else if (err->code == ERR_NOT_FOUND && mcp_job_may_create(job))
		mcp_job_create(job, start);
	else
		mcp_job_refuse(job, err);
}

void mcp_run_command(struct mcp_call *call)
{
	const json_t *arguments = mcp_call_arguments(call);
	bool is_background = json_get_bool(arguments, "background");
	struct mcp_job *job = begin(call, is_background ? MCP_WAIT_SHORT_MS : MCP_WAIT_MS);
	if (!job)
		return;
	job->stop = is_background ? NULL : stop;
	json_t *params = json_need(json_object());
	json_put_text(params, "session", mcp_job_session(job));
	mcp_job_do(job, "session.get", params, on_session);
}

/* ---- the tool process_output ---- */

static void on_signalled(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		await(job);
	else
		mcp_job_refuse(job, err);
}

static void signal_or_wait(struct mcp_job *job)
{
	json_t *params = params_of(job->own);
	if (has(job, "signal")) {
		copy(params, job, "signal", "signal");
		mcp_job_do(job, "process.signal", params, on_signalled);
		return;
	}
	json_decref(params);
	await(job);
}

static void on_limit(uv_timer_t *timer)
{
	struct mcp_job *job = timer->data;
	struct command *c = job->own;
	c->is_late = true;
	limit_stop(c);
	if (job->op)
		operation_cancel(job->op);
}

static void on_written(struct mcp_job *job, const json_t *result, const struct err *err)
{
	struct command *c = job->own;
	struct err late;
	limit_stop(c);
	if (result) {
		signal_or_wait(job);
		return;
	}
	if (c->is_late)
		(void)err_fail(
			&late, ERR_INTERRUPTED, err->msg, "the program does not read its stdin");
	mcp_job_refuse(job, c->is_late ? &late : err);
}

static void write_input(struct mcp_job *job)
{
	struct command *c = job->own;
	json_t *params = params_of(c);
	copy(params, job, "stdin", "data");
	copy(params, job, "end", "end");
	if (job->context->loop) {
		c->limit = xnew(uv_timer_t);
		(void)uv_timer_init(job->context->loop, c->limit);
		c->limit->data = job;
		timer_start(c->limit, on_limit, MAX(c->wait_ms, (uint64_t)MCP_WAIT_SHORT_MS), 0);
	}
	mcp_job_do(job, "process.write", params, on_written);
}

static void on_found(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (!result) {
		mcp_job_refuse(job, err);
		return;
	}
	learn(job->own, result);
	if (has(job, "stdin") || param_flag(job->arguments, "end"))
		write_input(job);
	else
		signal_or_wait(job);
}

static void on_listed(struct mcp_job *job, const json_t *result, const struct err *err)
{
	if (result)
		mcp_job_give(job,
			mcp_command_list(json_object_get(result, "processes"),
				mcp_tools_config(job->tools)->is_structured));
	else
		mcp_job_refuse(job, err);
}

void mcp_process_output(struct mcp_call *call)
{
	static const char *const on_one[] = {"stdin", "end", "signal", "stream", "offset"};
	struct mcp_job *job = begin(call, MCP_WAIT_SHORT_MS);
	struct err err;
	if (!job)
		return;
	bool is_one = has(job, "process");
	for (size_t i = 0; !is_one && i < ARRAY_LEN(on_one); i++)
		if (has(job, on_one[i])) {
			(void)err_fail(&err, ERR_USAGE, "run_command gives its id",
				"process: missing, but %s is given", on_one[i]);
			mcp_job_refuse(job, &err);
			return;
		}
	json_t *params = json_need(json_object());
	json_put_text(params, "session", mcp_job_session(job));
	copy(params, job, "process", "process");
	if (is_one)
		mcp_job_do(job, "process.get", params, on_found);
	else
		mcp_job_do(job, "process.list", params, on_listed);
}
