/*
 * An engine whose gate is the test: operations and answers come in as lines of JSON on stdin, and
 * what is asked and answered goes out as such on stdout. For tests of calls without any tool.
 *
 *   gate STATE_DIR
 *
 *   in   {"id", "method", "params"}            an operation
 *        {"answer": N, "with": {…}, "untrusted"?: true}
 *        {"look": N}                                is the session of this call tainted by now?
 *   out  {"id", "result"} or {"id", "error"}   what it came to
 *        {"event": …, "of": id}
 *        {"call": N, "session", "owner", "name", "arguments", "tainted"}
 *        {"cancel": N}
 *        {"look": N, "tainted"}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/agent/models.h"
#include "api/operation/metrics.h"
#include "api/operation/operation.h"
#include "api/run/runs.h"
#include "base/buf.h"
#include "registry/registry.h"
#include "session/start/engine.h"
#include "session/tool_call.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS_MAX = 1024, LINE_MAX_BYTES = 64 << 20, CHUNK_BYTES = 64 << 10 };

struct operating {
	struct operating *next; /* all there were: a slot must stay where it is */
	json_int_t id;
	struct operation_call *call;
};

static struct engine engine;
static uv_loop_t loop;
static uv_poll_t poll_in;
static struct operation_context context;
static struct tool_call *waiting[CALLS_MAX];
static size_t n_calls;
static struct operating *operations;
static bool is_closed;
static struct buf in = BUF_INIT(LINE_MAX_BYTES);

static void say(json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	puts(text ? text : "{}");
	(void)fflush(stdout);
	free(text);
	json_decref(line);
}

/* ---- the gate ---- */

static void on_call(void *arg, struct tool_call *call)
{
	(void)arg;
	if (n_calls == CALLS_MAX)
		exit(3);
	waiting[n_calls] = call;
	call->user = (void *)(n_calls + 1);
	say(json_pack("{s:I, s:s, s:s, s:s, s:O, s:b}", "call", (json_int_t)n_calls++, "session",
		call->session, "owner", call->owner, "name", call->name, "arguments",
		(json_t *)(uintptr_t)call->arguments, "tainted", call->is_tainted));
}

static void on_cancel(void *arg, struct tool_call *call)
{
	size_t n = (size_t)call->user - 1;
	(void)arg;
	if (waiting[n] != call)
		exit(4);
	waiting[n] = NULL;
	say(json_pack("{s:I}", "cancel", (json_int_t)n));
}

static const struct tool_gate gate = {.call = on_call, .cancel = on_cancel};

/* Consumes nothing of @line. One that was cancelled meanwhile is passed over. */
static void answer(const json_t *line)
{
	size_t n = (size_t)json_integer_value(json_object_get(line, "answer"));
	struct tool_call *call = n < n_calls ? waiting[n] : NULL;
	if (!call)
		return;
	waiting[n] = NULL;
	tool_call_answer(call, json_incref(json_object_get(line, "with")),
		json_is_true(json_object_get(line, "untrusted")));
}

static void look(const json_t *line)
{
	json_int_t n = json_integer_value(json_object_get(line, "look"));
	const struct tool_call *call = (size_t)n < n_calls ? waiting[n] : NULL;
	say(json_pack("{s:I, s:b}", "look", n, "tainted", call && call->is_tainted));
}

/* ---- operations ---- */

static void on_event(void *arg, const json_t *event)
{
	const struct operating *o = arg;
	json_t *line = json_copy((json_t *)(uintptr_t)event);
	(void)json_object_set_new(line, "of", json_integer(o->id));
	say(line);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct operating *o = arg;
	say(result ? json_pack("{s:I, s:O}", "id", o->id, "result", (json_t *)(uintptr_t)result)
		   : json_pack("{s:I, s:s}", "id", o->id, "error", err->msg));
}

static void operate(const json_t *line)
{
	const char *method = json_string_value(json_object_get(line, "method"));
	const struct operation *op = method ? operation_find(method) : NULL;
	struct operating *o = calloc(1, sizeof *o);
	if (!op || !o)
		exit(2);
	o->next = operations;
	operations = o;
	o->id = json_integer_value(json_object_get(line, "id"));
	const struct operation_listener listener = {.arg = o, .event = on_event, .done = on_done};
	operation_start(&context, op, json_object_get(line, "params"), &listener, &o->call);
}

static void take_line(const char *text, size_t bytes)
{
	json_t *line = json_loadb(text, bytes, JSON_ALLOW_NUL, NULL);
	if (!line)
		exit(2);
	if (json_object_get(line, "answer"))
		answer(line);
	else if (json_object_get(line, "look"))
		look(line);
	else
		operate(line);
	json_decref(line);
}

static void on_closed(void *arg)
{
	(void)arg;
	is_closed = true;
}

static void on_in(uv_poll_t *handle, int status, int events)
{
	char *at = buf_reserve(&in, CHUNK_BYTES);
	ssize_t n = at && status == 0 ? read(0, at, CHUNK_BYTES) : 0;
	(void)events;
	if (n <= 0) {
		(void)uv_poll_stop(handle);
		if (context.registry)
			registry_close(context.registry, on_closed, NULL);
		return;
	}
	buf_grown(&in, (size_t)n);
	for (const char *end; (end = memchr(in.data, '\n', in.bytes));) {
		size_t bytes = (size_t)(end - in.data);
		take_line(in.data, bytes); /* parsed, and not looked at any more */
		buf_consume(&in, bytes + 1);
	}
}

static int fail(const struct err *err)
{
	fprintf(stderr, "gate: %s\n", err->msg);
	return 1;
}

static int serve(const char *state_dir)
{
	struct err err;
	const struct models models = {0};
	struct registry_config config = {
		.engine = &engine, .state_dir = state_dir, .n_standby = 1, .gate = &gate};
	if (engine_start(&engine, &err) < 0 || uv_loop_init(&loop) < 0 ||
		engine_attach(&engine, &loop, &err) < 0)
		return fail(&err);
	context.runs = runs_open(&loop);
	config.ended = runs_forget;
	config.arg = context.runs;
	if (registry_open(&context.registry, &config, &err) < 0 ||
		metrics_open(&context.metrics, &err) < 0)
		return fail(&err);
	context.loop = &loop;
	context.version = "0";
	context.models = &models;
	(void)uv_poll_init(&loop, &poll_in, 0);
	(void)uv_poll_start(&poll_in, UV_READABLE, on_in);
	while (!is_closed)
		(void)uv_run(&loop, UV_RUN_ONCE);
	runs_close(context.runs);
	uv_close((uv_handle_t *)&poll_in, NULL);
	engine_stop(&engine);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop);
	metrics_close(context.metrics);
	buf_done(&in);
	for (struct operating *o; (o = operations); free(o))
		operations = o->next;
	for (size_t i = 0; i < n_calls; i++)
		if (waiting[i])
			return 5; /* a call that nobody cancelled */
	return 0;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return argc == 2 ? serve(argv[1]) : 2;
}
