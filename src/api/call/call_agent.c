/*
 * The operations agent.run and agent.list. A model writes code, and the box of a session runs it.
 * The engine calls the model with its own API keys, which never enter a box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/vote.h"
#include "api/agent/agent_call.h"
#include "api/agent/models.h"
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/row/box_summary.h"
#include "api/text/observation.h"
#include "base/json.h"
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
	NET_BYTES = 2048,
	TRIAL_MS = 300000, /* how long a candidate's branch may outlive the task's time limit */
	SEEN_BYTES = 1 << 20
};

/* ---- ending an agent: stop the running step, close the session, answer ---- */

/* Return whether the session was made for the agent, and is not needed any more. */
static bool is_over(const struct agent_call *a)
{
	return a->is_own && !agent_is_unfinished(a);
}

static void answer(struct agent_call *a)
{
	struct operation_call *call = a->call;
	json_t *result = a->result;
	struct err err = a->err;
	if (result && a->session && !is_over(a))
		json_put_text(result, "session", a->session);
	if (result && a->is_kept)
		json_put_text(result, "agent", a->stored.id);
	if (result && a->query.queries)
		(void)json_object_set_new(result, "queries", queries_report(a->query.queries));
	agent_query_close(&a->query);
	gate_detach(&a->handler);
	loop_close(a->loop);
	if (a->wire)
		wire_close(a->wire);
	agent_saved_close(a);
	json_decref(a->params);
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
		return; /* on_gone() will call end() again */
	if (a->is_running)
		run_interrupt(a->waiter.run, true);
	else if (is_over(a) && a->session)
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
		loop_spend(a->loop, usage, a->has_query_price ? &a->query_price : NULL);
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

/* Start a step in the session itself. a->waiter gets its events and its record. */
static int run_in_session(struct agent_call *a, json_t *params, struct err *err)
{
	const struct operation_context *context = a->call->context;
	const struct run_order order = {
		.registry = context->registry, .gate = context->gate, .params = params};
	json_put_text(params, "session", a->session);
	json_put_bool(params, "approvals", param_flag(a->call->params, "approvals"));
	a->is_running = true;
	int r = runs_start(context->runs, &order, &a->waiter, err);
	if (r < 0)
		a->is_running = false;
	return r;
}

static int run(void *arg, const struct loop_code *code, struct err *err)
{
	struct agent_call *a = arg;
	json_t *params = json_pack("{s:o, s:s*, s:b}", "code",
		json_stringn(code->code, code->bytes), "runtime",
		code->runtime ? code->runtime : a->runtime, "variables", !code->is_check);
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
	uint64_t ms = param_count(a->params, "max_wall_ms", budget_default().limit[BUDGET_WALL]);
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

static void open_trials(struct agent_call *a, unsigned n)
{
	const struct operation_context *context = a->call->context;
	const struct trials_hooks hooks = {.arg = a,
		.branched = on_branched,
		.event = on_trial_event,
		.ran = on_trial_ran,
		.adopted = on_adopted,
		.gone = on_gone};
	a->trials = trials_new(context->registry, context->runs, n, &hooks);
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
	a->result = json_incref(json_unconst(result));
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

/* ---- starting an agent: connect to the model, make the session, start the loop ---- */

static int open_wire(struct agent_call *a, struct err *err)
{
	const struct models *models = a->call->context->models;
	struct wire_config config = {.key_file = models ? models->key_file : NULL};
	const char *spec = param_text(a->params, "model", NULL);
	if (!a->call->context->loop)
		return err_set(err, ERR_INTERNAL, "no loop to ask a model from");
	int r = models_choose(models, "model", spec, &config.spec, err);
	return r < 0 ? r : wire_open(&a->wire, a->call->context->loop, &config, err);
}

static int open_query(struct agent_call *a, struct err *err)
{
	const struct agent_query_config config = {.context = a->call->context,
		.params = a->params,
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
		snprintf(out, LIMITS_BYTES,
			"%" JSON_INTEGER_FORMAT " s for each step, %" JSON_INTEGER_FORMAT
			" MiB of memory",
			ms / 1000, bytes >> 20);
}

/* Write the task, and a description of its inputs. */
static int write_task(const struct agent_call *a, struct buf *out)
{
	int r = buf_add(out, param_text(a->params, "task", ""));
	/* A resumed agent got the description of its inputs when it began. */
	return r < 0 || agent_saved_loop(a) ? r : inputs_show(&a->inputs, a->runtime, out);
}

/* Write the names of the tool servers, for the prompt. */
static void write_servers(const struct agent_call *a, struct buf *out)
{
	const struct operation_context *context = a->call->context;
	bool is_javascript = strcmp(a->runtime, "javascript") == 0;
	if (context->gate && gate_has_tools(context->gate))
		(void)gate_write_servers(context->gate, is_javascript, out);
}

static void tell_started(struct agent_call *a)
{
	call_event(a->call,
		json_pack("{s:s, s:s, s:s*}", "event", "agent.started", "session", a->session,
			"agent", a->is_kept ? a->stored.id : NULL));
}

static bool is_on(const json_t *params, const char *name)
{
	return !param_get(params, name) || param_flag(params, name);
}

static void begin(struct agent_call *a)
{
	const json_t *params = a->params;
	char limits[LIMITS_BYTES] = "";
	cleanup_buf struct buf servers = BUF_INIT(SERVERS_BYTES), net = BUF_INIT(NET_BYTES);
	cleanup_buf struct buf task = BUF_INIT(TASK_BYTES + INPUTS_TEXT_BYTES);
	unsigned best_of = (unsigned)param_count(params, "best_of", 1);
	struct budget budget;
	struct loop_past past = {.state = agent_saved_loop(a),
		.record = a->record,
		.remark = a->remark[0] ? a->remark : NULL};
	struct err err = {0};
	agent_take_budget(a, &budget, &past);
	take_limits(a->about, limits);
	tell_started(a);
	write_servers(a, &servers);
	box_summary_net(&net, a->about);
	bool has_task = write_task(a, &task) == 0;
	const struct loop_config config = {.wire = a->wire,
		.task = past.state && task.bytes == 0 ? NULL : buf_str(&task),
		.runtime = a->runtime,
		.limits = limits[0] ? limits : NULL,
		.net = net.bytes > 0 ? buf_str(&net) : NULL,
		.check = param_text(params, "check", NULL),
		.budget = budget,
		.price = a->has_price ? &a->price : NULL,
		.best_of = best_of,
		.context_tokens =
			param_count(past.state ? a->call->params : params, "context_tokens", 0),
		.is_grounded = is_on(params, "grounded"),
		.no_images = !is_on(params, "images"),
		.past = past.state ? &past : NULL,
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
			.adopt = adopt,
			.save = agent_save}};
	if (!has_task)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a task");
	if (a->is_unwanted)
		(void)err_set(&err, ERR_INTERRUPTED, "the task was given up before it began");
	if (!err.code && best_of > 1)
		open_trials(a, best_of);
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

/* Before the first request to the model, run a step that stores the inputs in variables. */
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
	const json_t *params = a->params;
	struct err why;
	a->about = json_incref(json_unconst(session));
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
	json_t *params = json_pack("{s:s}", "runtime", param_text(a->params, "runtime", "python"));
	const struct agent_store *place = a->call->context->agents;
	struct call_order order;
	struct err err;
	a->is_own = true;
	if (call_order_read(&order, a->call->context->registry, params, &err) < 0) {
		fail(a, &err);
	} else {
		order.create.idle_ms = place && a->is_kept ? place->idle_ms : 0;
		registry_create(a->call->context->registry, &order.create, on_session, a);
	}
	call_order_done(&order);
	json_decref(params);
}

/* ---- resuming an agent; starting agent.run and agent.list ---- */

/* Called when the session of a resumed agent has a box again, or could not get one (@err). */
static void on_awaited(void *arg, const json_t *result, const struct err *err)
{
	struct agent_call *a = arg;
	struct err why;
	(void)result;
	json_t *session =
		err ? NULL : registry_get(a->call->context->registry, agent_saved_session(a), &why);
	if (session)
		agent_session_resumed(a, session, a->was);
	on_session(a, session, err ? err : &why);
	json_decref(session);
}

/* Resume the agent in its own session. If that session has ended, make a new one. */
static void find_session(struct agent_call *a)
{
	struct registry *registry = a->call->context->registry;
	struct err err;
	json_t *session = registry_get(registry, agent_saved_session(a), &err);
	snprintf(a->was, sizeof a->was, "%s", session ? param_text(session, "state", "") : "");
	bool is_there = session && strcmp(a->was, "closed") != 0 && strcmp(a->was, "closing") != 0;
	json_decref(session);
	if (is_there) {
		a->is_own = json_is_true(json_object_get(a->agent, "is_own"));
		registry_await_box(registry, agent_saved_session(a), on_awaited, a);
		return;
	}
	agent_session_resumed(a, NULL, a->was);
	make_session(a);
}

static int open_parts(struct agent_call *a, struct err *err)
{
	int r = agent_saved_open(a, err);
	if (r == 0)
		r = inputs_read(&a->inputs, param_get(a->params, "context"), err);
	if (r == 0)
		r = open_wire(a, err);
	if (r == 0)
		r = open_query(a, err);
	return r < 0 ? r : agent_find_prices(a, err);
}

static void start_run(struct operation_call *call)
{
	const char *name = param_text(call->params, "session", NULL);
	struct agent_call *a = calloc(1, sizeof *a);
	struct err err = {0};
	if (name && call_is_behind_reader(call)) {
		free(a);
		return;
	}
	if (!a) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a task");
		call_fail(call, &err);
		return;
	}
	a->call = call;
	a->stored = STORED_AGENT_INIT;
	a->params = json_copy(call->params);
	call->waiter.arg = a;
	call->cancel = on_cancel;
	if (open_parts(a, &err) < 0) {
		fail(a, &err);
		return;
	}
	if (name) {
		json_t *session = registry_get(call->context->registry, name, &err);
		on_session(a, session, &err);
		json_decref(session);
	} else if (agent_saved_session(a)) {
		find_session(a);
	} else {
		make_session(a);
	}
}

static void start_list(struct operation_call *call)
{
	const struct agent_store *place = call->context->agents;
	struct err err = {0};
	json_t *rows = place && place->dir ? agent_store_list(place->dir, agent_owner(call))
					   : json_array();
	json_t *out = json_pack("{s:o*}", "agents", rows);
	if (!out)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a list");
	call_give(call, out, &err);
}

/* ---- rows of the table of operations ---- */

#include "api/call/call_agent.def"

static const struct operation rows[] = {
	{"agent.run",
		"Have a model do a task: the model writes code, sees its result, and continues",
		ROWS(run_rows), RESULT(result_rows), .label = OPERATION_PROGRAM,
		.limits = "One reply is read up to 256 KiB. What the model sees of a step has at "
			  "most 10000 characters.",
		.errors = "access|auth|box|busy|damaged|denied|gone|limit|no_space|not_found|quota|"
			  "runtime|unreachable",
		.example = "{'session': 'demo', 'task': 'What is 6 times 7?'}",
		.answer = "{'status': 'ok', 'answer': '42', 'grounded': true, 'steps': 1}",
		.has_events = true, .is_for_operator = true, .start = start_run},
	{"agent.list", "List the saved agents, which can be resumed", RESULT(list_rows),
		.label = OPERATION_PROGRAM, .limits = "The newest 100 are kept.", .example = "{}",
		.answer = "{'agents': [{'task': 'What is 6 times 7?', 'status': 'ok'}]}",
		.is_for_operator = true, .start = start_list},
};

const struct operation_family agent_family = FAMILY(rows);
