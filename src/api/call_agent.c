/*
 * The loop on a session: a model writes, the session's box runs it.
 *
 * The model is asked from here, with keys of the engine's own: nothing of them gets into a box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/input.h"
#include "agent/loop.h"
#include "api/agent_query.h"
#include "agent/vote.h"
#include "api/call.h"
#include "api/call_order.h"
#include "api/models.h"
#include "api/observation.h"
#include "api/rows.h"
#include "api/trials.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TASK_BYTES = 1 << 20,
	MODEL_BYTES = 8192,
	STEPS_MAX = 1000,
	QUERIES_MAX = 100000,
	LIMITS_BYTES = 200,
	SERVERS_BYTES = 400,
	TRIAL_MS = 300000, /* beyond the time of the task: when its candidates' branches end */
	SEEN_BYTES = 1 << 20
};

struct agent_call {
	struct operation_call *call;
	struct wire *wire;
	struct loop *loop;
	char *session, *runtime;
	json_t *about; /* of the session, as it was at first */
	struct inputs inputs;
	struct agent_query query;
	struct gate_handler handler; /* of its session */
	struct waiter waiter;
	struct trials *trials; /* NULL: there is one candidate for each step */
	bool is_own;	       /* the session was made for this */
	bool is_running;       /* a step */
	bool is_unwanted;      /* before the loop began */
	json_t *result;	       /* once the loop is over */
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
	if (result && a->query.queries)
		(void)json_object_set_new(result, "queries", queries_report(a->query.queries));
	agent_query_close(&a->query);
	gate_detach(&a->handler);
	loop_close(a->loop);
	if (a->wire)
		wire_close(a->wire);
	json_decref(a->about);
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
	if (trials_end(take_ptr(a->trials)))
		return; /* on_gone() goes on */
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

/* ---- hooks of the loop, and of its trials ---- */

static void on_event(void *arg, const json_t *event)
{
	struct agent_call *a = arg;
	if (a->call->listener.event)
		a->call->listener.event(a->call->listener.arg, event);
}

static uint64_t tokens_left(void *arg)
{
	const struct agent_call *a = arg;
	return a->loop ? loop_tokens_left(a->loop) : 0;
}

static void on_spent(void *arg, const struct wire_usage *usage)
{
	struct agent_call *a = arg;
	if (a->loop)
		loop_spend(a->loop, usage);
}

static void on_ran(void *arg, const json_t *record, const struct err *err)
{
	struct agent_call *a = arg;
	a->is_running = false;
	if (a->result)
		end(a);
	else
		loop_ran(a->loop, 0, record, err);
}

/* Run it as a->waiter hears of it. */
static int run_in_session(struct agent_call *a, json_t *params, struct err *err)
{
	const struct operation_context *context = a->call->context;
	const struct run_order order = {
		.registry = context->registry, .gate = context->gate, .params = params};
	(void)json_object_set_new(params, "session", json_string(a->session));
	(void)json_object_set_new(
		params, "approvals", json_boolean(param_flag(a->call->params, "approvals")));
	a->is_running = true;
	int r = runs_start(context->runs, &order, &a->waiter, err);
	if (r < 0)
		a->is_running = false;
	return r;
}

static int run(void *arg, const struct loop_code *code, struct err *err)
{
	struct agent_call *a = arg;
	json_t *params = json_pack("{s:o, s:s*}", "code", json_stringn(code->code, code->bytes),
		"runtime", code->runtime ? code->runtime : a->runtime);
	int r;
	if (!params) {
		r = err_set(err, ERR_NO_MEMORY, "no memory for a step");
	} else if (code->place > 0) {
		r = trials_run(a->trials, code->place, params, err);
	} else {
		a->waiter = (struct waiter){.arg = a, .event = on_event, .done = on_ran};
		r = run_in_session(a, params, err);
	}
	json_decref(params);
	return r;
}

static void interrupt(void *arg)
{
	struct agent_call *a = arg;
	if (a->trials)
		trials_interrupt(a->trials);
	if (a->is_running && a->waiter.run)
		run_interrupt(a->waiter.run, false);
}

static int branch(void *arg, unsigned place, struct err *err)
{
	struct agent_call *a = arg;
	uint64_t ms =
		param_count(a->call->params, "max_wall_ms", budget_default().limit[BUDGET_WALL]);
	(void)err;
	trials_branch(a->trials, place, a->session, ms + TRIAL_MS);
	return 0;
}

static void adopt(void *arg, unsigned place)
{
	struct agent_call *a = arg;
	trials_adopt(a->trials, place, a->session);
}

static void on_branched(void *arg, unsigned place, const struct err *err)
{
	struct agent_call *a = arg;
	loop_branched(a->loop, place, err);
}

static void on_trial_event(void *arg, unsigned place, const json_t *event)
{
	json_t *told = json_pack("{s:s, s:I, s:O}", "event", "candidate", "candidate",
		(json_int_t)place, "of", event);
	on_event(arg, told);
	json_decref(told);
}

static void on_trial_ran(void *arg, unsigned place, const json_t *record, const struct err *err)
{
	struct agent_call *a = arg;
	loop_ran(a->loop, place, record, err);
}

static void on_adopted(void *arg, const struct err *err)
{
	struct agent_call *a = arg;
	loop_adopted(a->loop, err);
}

static void on_gone(void *arg)
{
	end(arg);
}

static int open_trials(struct agent_call *a, unsigned n, struct err *err)
{
	const struct operation_context *context = a->call->context;
	const struct trials_hooks hooks = {.arg = a,
		.branched = on_branched,
		.event = on_trial_event,
		.ran = on_trial_ran,
		.adopted = on_adopted,
		.gone = on_gone};
	a->trials = trials_new(context->registry, context->runs, n, &hooks);
	return a->trials ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for candidates");
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
	else {
		a->is_unwanted = true;
		interrupt(a);
	}
}

/* ---- the beginning: the model, the session, the loop ---- */

static int open_wire(struct agent_call *a, struct err *err)
{
	const struct models *models = a->call->context->models;
	struct wire_config config = {.key_file = models ? models->key_file : NULL};
	const char *spec = param_text(a->call->params, "model", NULL);
	if (!a->call->context->loop)
		return err_set(err, ERR_INTERNAL, "no loop to ask a model from");
	int r = models_choose(models, "model", spec, &config.spec, err);
	return r < 0 ? r : wire_open(&a->wire, a->call->context->loop, &config, err);
}

static int open_query(struct agent_call *a, struct err *err)
{
	const struct agent_query_config config = {.context = a->call->context,
		.params = a->call->params,
		.wire = a->wire,
		.hooks = {.arg = a,
			.tokens_left = tokens_left,
			.spent = on_spent,
			.event = on_event}};
	return agent_query_open(&a->query, &config, err);
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

/* The task, and how long the inputs are. */
static int write_task(const struct agent_call *a, struct buf *out)
{
	int r = buf_add(out, param_text(a->call->params, "task", ""));
	return r < 0 ? r : inputs_show(&a->inputs, a->runtime, out);
}

/* What of them the prompt names. */
static void write_servers(const struct agent_call *a, struct buf *out)
{
	const struct operation_context *context = a->call->context;
	bool is_javascript = strcmp(a->runtime, "javascript") == 0;
	if (context->gate && gate_has_tools(context->gate))
		(void)gate_write_servers(context->gate, is_javascript, out);
}

static void begin(struct agent_call *a)
{
	const json_t *params = a->call->params;
	char limits[LIMITS_BYTES] = "";
	cleanup_buf struct buf servers = BUF_INIT(SERVERS_BYTES);
	cleanup_buf struct buf task = BUF_INIT(TASK_BYTES + INPUTS_TEXT_BYTES);
	unsigned best_of = (unsigned)param_count(params, "best_of", 1);
	struct budget budget = budget_default();
	struct err err = {0};
	for (int i = 0; i < BUDGET_KINDS; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "max_%s", budget_word((enum budget_kind)i));
		budget.limit[i] = param_count(params, name, budget.limit[i]);
	}
	take_limits(a->about, limits);
	write_servers(a, &servers);
	bool has_task = write_task(a, &task) == 0;
	const struct loop_config config = {.wire = a->wire,
		.task = buf_str(&task),
		.runtime = a->runtime,
		.limits = limits[0] ? limits : NULL,
		.check = param_text(params, "check", NULL),
		.budget = budget,
		.best_of = best_of,
		.context_tokens = param_count(params, "context_tokens", 0),
		.is_grounded = !param_get(params, "grounded") || param_flag(params, "grounded"),
		.servers = servers.bytes > 0 ? buf_str(&servers) : NULL,
		.n_queries = a->query.count,
		.query_bytes = a->query.prompt_bytes,
		.hooks = {.arg = a,
			.run = run,
			.interrupt = interrupt,
			.observe = observe,
			.event = on_event,
			.done = on_done,
			.branch = branch,
			.adopt = adopt}};
	if (!has_task)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a task");
	if (a->is_unwanted)
		(void)err_set(&err, ERR_INTERRUPTED, "the task was given up before it began");
	if (!err.code && best_of > 1)
		(void)open_trials(a, best_of, &err);
	if (err.code || loop_open(&a->loop, a->call->context->loop, &config, &err) < 0)
		fail(a, &err);
}

static void tell_inputs(struct agent_call *a)
{
	for (size_t i = 0; i < a->inputs.n; i++) {
		json_t *event = input_event(&a->inputs.list[i]);
		if (event)
			on_event(a, event);
		json_decref(event);
	}
}

static void on_inputs(void *arg, const json_t *record, const struct err *err)
{
	struct agent_call *a = arg;
	struct err why;
	a->is_running = false;
	if (a->is_unwanted)
		begin(a);
	else if (!record)
		fail(a, err);
	else if (inputs_take(&a->inputs, record, &why) < 0)
		fail(a, &why);
	else {
		tell_inputs(a);
		begin(a);
	}
}

/* Make variables of them, before the model is asked. */
static int load_inputs(struct agent_call *a, struct err *err)
{
	cleanup_buf struct buf code = BUF_INIT(INPUTS_TEXT_BYTES);
	if (inputs_code(&a->inputs, a->runtime, &code) < 0)
		return err_set(err, ERR_LIMIT, "context: the paths are too long");
	json_t *params = json_pack(
		"{s:s, s:s}", "code", buf_str(&code), "runtime", inputs_runtime(a->runtime));
	a->waiter = (struct waiter){.arg = a, .done = on_inputs};
	int r = params ? run_in_session(a, params, err)
		       : err_set(err, ERR_NO_MEMORY, "no memory for a step");
	json_decref(params);
	return r;
}

static void on_session(void *arg, const json_t *session, const struct err *err)
{
	struct agent_call *a = arg;
	const json_t *params = a->call->params;
	struct err why;
	a->is_own = session && !param_get(params, "session");
	a->about = json_incref((json_t *)(uintptr_t)session);
	if (session) {
		a->session = strdup(param_text(session, "session", ""));
		a->runtime = strdup(
			param_text(params, "runtime", param_text(session, "runtime", "python")));
		(void)err_set(&why, ERR_NO_MEMORY, "no memory for a task");
	}
	if (a->session)
		agent_query_attach(&a->query, a->call->context->gate, a->session, &a->handler);
	if (!session || !a->session || !a->runtime)
		fail(a, session ? &why : err);
	else if (a->inputs.n == 0)
		begin(a);
	else if (load_inputs(a, &why) < 0)
		fail(a, &why);
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
	if (inputs_read(&a->inputs, param_get(call->params, "context"), &err) < 0 ||
		open_wire(a, &err) < 0 || open_query(a, &err) < 0) {
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

static const struct param input_rows[] = {
	{"name", PARAM_TEXT, NEEDED, .min = 1, .max = INPUT_NAME_BYTES, .help = "of the variable"},
	{"path", PARAM_TEXT, NEEDED, .min = 1, .max = INPUT_PATH_BYTES,
		.help = "of a text file in the session"},
};
static const struct param run_rows[] = {
	{"task", PARAM_TEXT, NEEDED, .min = 1, .max = TASK_BYTES, .help = "what is to be done"},
	{"model", PARAM_TEXT, false, 1, MODEL_BYTES,
		.help = "wire:model, as in openai:gpt-5.5; else the one the engine was started with"},
	{"session", PARAM_TEXT, false, 1, SESSION_BYTES,
		.help = "where the code runs, and what is there already; else one is made and ended"},
	{"runtime", PARAM_TEXT, false, 1, NAME_BYTES,
		.help = "language of code that does not say it; else the session's, or python"},
	{"check", PARAM_TEXT, false, 1, TEXT_BYTES,
		.help = "what the answer has to meet: a shell command, run in the workspace; "
			"python:EXPRESSION, with answer; or schema:JSON"},
	{"best_of", PARAM_COUNT, false, 1, LOOP_CANDIDATES_MAX, .fallback = "1",
		.help = "candidates for each step, tried at once in branches: the best is kept"},
	{"context", PARAM_OBJECTS, .max = INPUTS_MAX, FIELDS(input_rows),
		.help = "texts that become variables, of which the model is told how long they are"},
	{"max_steps", PARAM_COUNT, false, 1, STEPS_MAX, .fallback = "20", .help = "steps at most"},
	{"max_wall_ms", PARAM_COUNT, false, 1, TIME_MS, .fallback = "600000",
		.help = "wall time of all of it"},
	{"max_tokens", PARAM_COUNT, false, 0, INT64_MAX, .fallback = "0",
		.help = "tokens read and written, of all replies together; 0: any number"},
	{"max_queries", PARAM_COUNT, false, 0, QUERIES_MAX, .fallback = "100",
		.help = "questions that its code may put to a model, when there is `context` or this is given"},
	{"query_model", PARAM_TEXT, false, 1, MODEL_BYTES,
		.help = "which model those go to; else the same"},
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
static const struct param queries_rows[] = {
	GIVES("model", PARAM_TEXT, "the model that was asked"),
	GIVES("count", PARAM_COUNT, "questions that were asked"),
	GIVES("failed", PARAM_COUNT, "of them: those without an answer, or with one of no use"),
	GIVES("refused", PARAM_COUNT, "that were not asked: wrong, too long, too many"),
	{"usage", PARAM_OBJECT, NEEDED, FIELDS(usage_rows),
		.help = "tokens; part of those of the task"},
};
static const struct param error_rows[] = {
	GIVES("code", PARAM_TEXT, "one of docs/errors.md"),
	GIVES("message", PARAM_TEXT, "what failed"),
	GIVES("hint", PARAM_TEXT, "what to do, or empty"),
};
static const struct param votes_usage_rows[] = {
	GIVES("input", PARAM_COUNT, "tokens the model read, for all of them"),
	GIVES("output", PARAM_COUNT, "tokens it wrote"),
};
static const struct param votes_rows[] = {
	GIVES("asked", PARAM_COUNT, "candidates"),
	GIVES("ran", PARAM_COUNT, "those whose code was run"),
	GIVES("chosen", PARAM_COUNT, "the one that was kept, from 1"),
	{"why", PARAM_CHOICE, NEEDED, .choices = VOTE_REASONS, .help = "by what it won"},
	GIVES("votes", PARAM_COUNT, "candidates that say the same"),
	GIVES("of", PARAM_COUNT, "candidates that it was compared with, itself included"),
	MAY_GIVE("value", PARAM_TEXT, "what it says, or the beginning of that"),
	{"usage", PARAM_OBJECT, NEEDED, FIELDS(votes_usage_rows), .help = "tokens"},
};
static const struct param refused_rows[] = {
	GIVES("code", PARAM_TEXT, "one of docs/errors.md"),
	GIVES("message", PARAM_TEXT, "why a branch was refused"),
	GIVES("hint", PARAM_TEXT, "what to do, or empty"),
	GIVES("left", PARAM_COUNT, "candidates for each step from then on"),
};
static const struct param candidates_rows[] = {
	GIVES("best_of", PARAM_COUNT, "as it was asked for"),
	{"rounds", PARAM_OBJECTS, FIELDS(votes_rows), .help = "step by step"},
	{"refused", PARAM_OBJECT, FIELDS(refused_rows), .help = "there was no room for all"},
};
static const struct param result_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = LOOP_END_CHOICES, .help = "how it ended"},
	MAY_GIVE("answer", PARAM_DATA, "the answer as text; of an unfinished task, the last one"),
	MAY_GIVE("value", PARAM_ANY, "what final_answer() was given, as JSON"),
	MAY_GIVE("grounded", PARAM_FLAG, "every number of the answer comes from the run"),
	MAY_GIVE("ungrounded", PARAM_TEXTS, "those that do not"),
	MAY_GIVE("spent", PARAM_TEXT, "what is used up: steps, wall_ms, tokens, failures"),
	{"candidates", PARAM_OBJECT, FIELDS(candidates_rows), .help = "with best_of over 1"},
	{"error", PARAM_OBJECT, FIELDS(error_rows), .help = "with status error"},
	GIVES("model", PARAM_TEXT, "the model that was asked"),
	MAY_GIVE("session", PARAM_TEXT, "id of the session, unless it was made for this"),
	GIVES("steps", PARAM_COUNT, "steps that ran"),
	GIVES("replies", PARAM_COUNT, "how often the model was asked"),
	{"usage", PARAM_OBJECT, NEEDED, FIELDS(usage_rows), .help = "tokens"},
	{"queries", PARAM_OBJECT, FIELDS(queries_rows),
		.help = "what its code asked a model, where it could"},
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
