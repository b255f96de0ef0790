/*
 * The loop on a session: a model writes, the session's box runs it.
 *
 * The model is asked from here, with keys of the engine's own: nothing of them gets into a box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/loop.h"
#include "api/call.h"
#include "api/call_order.h"
#include "api/models.h"
#include "api/observation.h"
#include "api/rows.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TASK_BYTES = 1 << 20,
	MODEL_BYTES = 8192,
	STEPS_MAX = 1000,
	LIMITS_BYTES = 200,
	SEEN_BYTES = 1 << 20
};

struct agent_call {
	struct operation_call *call;
	struct wire *wire;
	struct loop *loop;
	char *session, *runtime;
	struct waiter waiter;
	bool is_own;	  /* the session was made for this */
	bool is_running;  /* a step */
	bool is_unwanted; /* before the loop began */
	json_t *result;	  /* once the loop is over */
	struct err err;
};

/* ---- the end: the step that runs, then the session, then the answer ---- */

static void answer(struct agent_call *a)
{
	struct operation_call *call = a->call;
	json_t *result = a->result;
	struct err err = a->err;
	if (result && a->session && !a->is_own)
		(void)json_object_set_new(result, "session", json_string(a->session));
	loop_close(a->loop);
	if (a->wire)
		wire_close(a->wire);
	free(a->session);
	free(a->runtime);
	free(a);
	call_give(call, result, &err);
}

static void on_closed(void *arg, const json_t *result, const struct err *err)
{
	(void)result;
	(void)err;
	answer(arg);
}

static void end(struct agent_call *a)
{
	a->call->cancel = NULL;
	if (a->is_running)
		run_interrupt(a->waiter.run, true);
	else if (a->is_own)
		registry_end(a->call->context->registry, a->session, on_closed, a);
	else
		answer(a);
}

static void fail(struct agent_call *a, const struct err *err)
{
	a->err = *err;
	end(a);
}

/* ---- hooks of the loop ---- */

static void on_event(void *arg, const json_t *event)
{
	struct agent_call *a = arg;
	if (a->call->listener.event)
		a->call->listener.event(a->call->listener.arg, event);
}

static void on_ran(void *arg, const json_t *record, const struct err *err)
{
	struct agent_call *a = arg;
	a->is_running = false;
	if (a->result)
		end(a);
	else
		loop_ran(a->loop, record, err);
}

static int run(void *arg, const struct loop_code *code, struct err *err)
{
	struct agent_call *a = arg;
	const struct operation_context *context = a->call->context;
	json_t *params = json_pack("{s:s, s:o, s:s*, s:b}", "session", a->session, "code",
		json_stringn(code->code, code->bytes), "runtime",
		code->runtime ? code->runtime : a->runtime, "approvals",
		param_flag(a->call->params, "approvals"));
	const struct run_order order = {
		.registry = context->registry, .gate = context->gate, .params = params};
	a->waiter = (struct waiter){.arg = a, .event = on_event, .done = on_ran};
	a->is_running = true;
	int r = params ? runs_start(context->runs, &order, &a->waiter, err)
		       : err_set(err, ERR_NO_MEMORY, "no memory for a step");
	if (r < 0)
		a->is_running = false;
	json_decref(params);
	return r;
}

static void interrupt(void *arg)
{
	struct agent_call *a = arg;
	if (a->is_running && a->waiter.run)
		run_interrupt(a->waiter.run, false);
}

static json_t *observe(void *arg, const json_t *record)
{
	const struct observation_options options = {.has_tools = false};
	struct observation seen;
	struct buf text = BUF_INIT(SEEN_BYTES);
	(void)arg;
	observation_make(record, &options, &seen);
	(void)utf8_repair(&text, buf_str(&seen.text), seen.text.bytes, NULL);
	json_t *out = json_pack("{s:o, s:O}", "text", json_stringn(buf_str(&text), text.bytes),
		"images", seen.images);
	buf_done(&text);
	observation_done(&seen);
	return out;
}

static void on_done(void *arg, const json_t *result)
{
	struct agent_call *a = arg;
	a->result = json_incref((json_t *)(uintptr_t)result);
	end(a);
}

static void on_cancel(struct operation_call *call)
{
	struct agent_call *a = call->waiter.arg;
	if (a->loop)
		loop_interrupt(a->loop, !param_flag(call->params, "cancel_step"));
	else
		a->is_unwanted = true;
}

/* ---- the beginning: the model, the session, the loop ---- */

static int open_wire(struct agent_call *a, struct err *err)
{
	const struct models *models = a->call->context->models;
	const char *spec = param_text(a->call->params, "model", NULL);
	const char *fallback = models ? models->fallback : NULL;
	if (!a->call->context->loop)
		return err_set(err, ERR_INTERNAL, "no loop to ask a model from");
	if (spec && !(models && models->may_name) && !(fallback && strcmp(spec, fallback) == 0)) {
		(void)err_set(
			err, ERR_DENIED, "model: %.100s: callers may not name models here", spec);
		return err_hint(err,
			fallback ? "leave it out: the engine was started with one"
				 : "start the engine with one: retort serve --model");
	}
	if (!spec && !fallback) {
		(void)err_set(err, ERR_DENIED, "the engine was started without a model");
		return err_hint(err, "start it with one: retort serve --model anthropic:NAME");
	}
	const struct wire_config config = {
		.spec = spec ? spec : fallback, .key_file = models->key_file};
	return wire_open(&a->wire, a->call->context->loop, &config, err);
}

static void take_limits(const json_t *session, char out[LIMITS_BYTES])
{
	const json_t *limits = json_object_get(session, "limits");
	json_int_t ms = json_integer_value(json_object_get(limits, "timeout_ms"));
	json_int_t bytes = json_integer_value(json_object_get(limits, "memory_bytes"));
	if (ms > 0 && bytes > 0)
		(void)snprintf(out, LIMITS_BYTES,
			"%" JSON_INTEGER_FORMAT " s for each step, %" JSON_INTEGER_FORMAT
			" MiB of memory",
			ms / 1000, bytes >> 20);
}

static void begin(struct agent_call *a, const json_t *session)
{
	const json_t *params = a->call->params;
	char limits[LIMITS_BYTES] = "";
	struct budget budget = budget_default();
	struct err err = {0};
	for (int i = 0; i < BUDGET_KINDS; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "max_%s", budget_word((enum budget_kind)i));
		budget.limit[i] = param_count(params, name, budget.limit[i]);
	}
	take_limits(session, limits);
	a->runtime =
		strdup(param_text(params, "runtime", param_text(session, "runtime", "python")));
	const struct loop_config config = {.wire = a->wire,
		.task = param_text(params, "task", ""),
		.runtime = a->runtime,
		.limits = limits[0] ? limits : NULL,
		.check = param_text(params, "check", NULL),
		.budget = budget,
		.context_tokens = param_count(params, "context_tokens", 0),
		.is_grounded = !param_get(params, "grounded") || param_flag(params, "grounded"),
		.hooks = {.arg = a,
			.run = run,
			.interrupt = interrupt,
			.observe = observe,
			.event = on_event,
			.done = on_done}};
	if (!a->runtime)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a task");
	if (a->is_unwanted)
		(void)err_set(&err, ERR_INTERRUPTED, "the task was given up before it began");
	if (err.code || loop_open(&a->loop, a->call->context->loop, &config, &err) < 0)
		fail(a, &err);
}

static void on_session(void *arg, const json_t *session, const struct err *err)
{
	struct agent_call *a = arg;
	a->session = session ? strdup(param_text(session, "session", "")) : NULL;
	a->is_own = session && !param_get(a->call->params, "session");
	if (session && a->session) {
		begin(a, session);
		return;
	}
	struct err why;
	(void)err_set(&why, ERR_NO_MEMORY, "no memory for a task");
	fail(a, session ? &why : err);
}

static void make_session(struct agent_call *a)
{
	json_t *params =
		json_pack("{s:s}", "runtime", param_text(a->call->params, "runtime", "python"));
	struct call_order order;
	struct err err;
	if (call_order_read(&order, params, &err) < 0)
		fail(a, &err);
	else
		registry_create(a->call->context->registry, &order.create, on_session, a);
	call_order_done(&order);
	json_decref(params);
}

static void start_run(struct operation_call *call)
{
	const char *name = param_text(call->params, "session", NULL);
	struct agent_call *a = calloc(1, sizeof *a);
	struct err err = {0};
	if (!a) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a task");
		call_fail(call, &err);
		return;
	}
	a->call = call;
	call->waiter.arg = a;
	call->cancel = on_cancel;
	if (open_wire(a, &err) < 0) {
		fail(a, &err);
		return;
	}
	if (!name) {
		make_session(a);
		return;
	}
	json_t *session = registry_get(call->context->registry, name, &err);
	on_session(a, session, &err);
	json_decref(session);
}

/* ---- the rows ---- */

static const struct param run_rows[] = {
	{"task", PARAM_TEXT, NEEDED, .min = 1, .max = TASK_BYTES, .help = "what is to be done"},
	{"model", PARAM_TEXT, false, 1, MODEL_BYTES,
		.help = "wire:model, as in openai:gpt-5.5; else the one the engine was started with"},
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "where the code runs, and what is there already; else one is made and ended"},
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES,
		.help = "language of code that does not say it; else the session's, or python"},
	{"check", PARAM_TEXT, false, 1, TEXT_BYTES,
		.help = "shell command that the answer has to pass, run in the workspace"},
	{"max_steps", PARAM_COUNT, false, 1, STEPS_MAX, .fallback = "20", .help = "steps at most"},
	{"max_wall_ms", PARAM_COUNT, false, 1, TIME_MS, .fallback = "600000",
		.help = "wall time of all of it"},
	{"max_tokens", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0",
		.help = "tokens read and written, of all replies together; 0: any number"},
	{"max_failures", PARAM_COUNT, false, 1, STEPS_MAX, .fallback = "5",
		.help = "failed steps in a row"},
	{"context_tokens", PARAM_COUNT, false, 1000, INT64_MAX, .fallback = "100000",
		.help = "how much the model can read: what is old is shortened when it fills up"},
	{"grounded", PARAM_FLAG, .fallback = "true",
		.help = "numbers of the answer must come from the run"},
	{"approvals", PARAM_FLAG, .fallback = "false",
		.help = "tool.approve will answer what calls of tools ask, as events tool.approval "
			"tell; else they are denied"},
	{"cancel_step", PARAM_FLAG, .fallback = "false",
		.help = "given up once, only the step that runs is stopped, and the model goes on"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "tell events while it runs"},
	{"detach", PARAM_FLAG, .fallback = "false",
		.help = "go on when the client is gone; else it is interrupted"},
};
static const struct param usage_rows[] = {
	GIVES("input", PARAM_COUNT, "tokens the model read"),
	GIVES("output", PARAM_COUNT, "tokens it wrote, with those of reasoning"),
	GIVES("cached", PARAM_COUNT, "of the read ones: those that were cached"),
	GIVES("reasoning", PARAM_COUNT, "of the written ones: those of reasoning"),
	GIVES("is_estimated", PARAM_FLAG, "a server did not say: a token for every four bytes"),
};
static const struct param error_rows[] = {
	GIVES("code", PARAM_TEXT, "one of docs/errors.md"),
	GIVES("message", PARAM_TEXT, "what failed"),
	GIVES("hint", PARAM_TEXT, "what to do, or empty"),
};
static const struct param result_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = LOOP_END_CHOICES, .help = "how it ended"},
	MAY_GIVE("answer", PARAM_DATA, "the answer as text; of an unfinished task, the last one"),
	MAY_GIVE("value", PARAM_ANY, "what final_answer() was given, as JSON"),
	MAY_GIVE("grounded", PARAM_FLAG, "every number of the answer comes from the run"),
	MAY_GIVE("ungrounded", PARAM_TEXTS, "those that do not"),
	MAY_GIVE("spent", PARAM_TEXT, "what is used up: steps, wall_ms, tokens, failures"),
	{"error", PARAM_OBJECT, FIELDS(error_rows), .help = "with status error"},
	GIVES("model", PARAM_TEXT, "the model that was asked"),
	MAY_GIVE("session", PARAM_TEXT, "id of the session, unless it was made for this"),
	GIVES("steps", PARAM_COUNT, "steps that ran"),
	GIVES("replies", PARAM_COUNT, "how often the model was asked"),
	{"usage", PARAM_OBJECT, NEEDED, FIELDS(usage_rows), .help = "tokens"},
	GIVES("wall_ms", PARAM_COUNT, "wall time of all of it"),
};

static const struct operation rows[] = {
	{"agent.run", TEXT_AGENT, ROWS(run_rows), RESULT(result_rows), .label = OPERATION_PROGRAM,
		.limits = "One reply is read up to 256 KiB. What the model sees of a step has at "
			  "most 10000 characters.",
		.errors = "auth|box|denied|gone|limit|not_found|quota|runtime|unreachable",
		.example = "{'session': 'demo', 'task': 'What is 6 times 7?'}",
		.answer = "{'status': 'ok', 'answer': '42', 'grounded': true, 'steps': 1}",
		.has_events = true, .is_for_operator = true, .start = start_run},
};

const struct operation_family agent_family = FAMILY(rows);
