/*
 * One run, from the parameters of `step.run` to its record.
 *
 * runs_start() makes the run and the order of its step (parse_step()), adds the caller to the run's
 * waiters, and passes the order to the registry. While the step runs, callbacks such as on_output()
 * store its output, within limits, for later requests. They also send events to the waiter that
 * started the run, if it wants events. on_done() replaces the stored output by the record, and
 * answers all waiters.
 *
 * If a run is interrupted before its step has begun, the step is withdrawn from the session's
 * queue. If the step has left the queue already, n_cancels counts the interrupts, and on_started()
 * sends them to the step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run/inside.h"
#include "api/run/run_behind.h"
#include "base/json.h"
#include "base/alloc.h"
#include "base/id.h"
#include "runtime/runtime.h"
#include "session/start/language.h"
#include "session/step/step_setting.h"
#include "session/box/stdin_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of an id: "r-", 26 random characters, and NUL. */
enum { ID_BYTES = 29 };

static bool is_heard(const struct run *run)
{
	return run->starter && run->starter->event;
}

void run_tell(struct run *run, json_t *event)
{
	if (event && is_heard(run))
		run->starter->event(run->starter->arg, event);
	json_decref(event);
}

/* ---- handling the events of the step ---- */

static void on_started(void *arg, const char *session)
{
	struct run *run = arg;
	struct err err;
	json_t *event = event_started(session);
	run->has_started = true;
	run_ask_begin(run);
	run->started_ns = uv_hrtime();
	json_put_text(event, "run", run->id);
	run_hold(run); /* a callback may end the run and free it */
	run->is_told = true;
	run_tell(run, event);
	for (unsigned i = 0; i < run->n_cancels && !run->is_done; i++)
		(void)registry_interrupt(run->registry, run->session, &err);
	run_release(run);
}

static void on_output(void *arg, int stream, const char *data, size_t bytes)
{
	struct run *run = arg;
	json_t *event = event_text(&run->rest[stream], stream, data, bytes, false);
	const json_t *text = json_object_get(event, "text");
	if (run->runs->bytes <= RUNS_TOTAL_BYTES &&
		buf_append(&run->out[stream], json_string_value(text), json_string_length(text)) ==
			0) {
		run_count(run, run->bytes + json_string_length(text));
	}
	run_hold(run);
	run_tell(run, event);
	run_release(run);
}

static void on_display(void *arg, const json_t *display, const json_t *about)
{
	struct run *run = arg;
	size_t bytes = display ? run_json_bytes(display) : 0;
	if (display && run->runs->bytes + bytes <= RUNS_TOTAL_BYTES) {
		(void)json_array_append(run->displays, json_unconst(display));
		run_count(run, run->bytes + bytes);
	}
	run_hold(run);
	run_tell(run, event_display(display, about));
	run_release(run);
}

static void on_tool(void *arg, const json_t *about)
{
	struct run *run = arg;
	run_hold(run);
	run_tell(run, event_tool(about));
	run_release(run);
}

static void on_network(void *arg, const json_t *row)
{
	struct run *run = arg;
	run_hold(run);
	run_tell(run, event_network(row));
	run_release(run);
}

static void on_rebuilding(void *arg, size_t at, size_t n)
{
	struct run *run = arg;
	run_hold(run);
	run_tell(run, event_rebuilding(at, n));
	run_release(run);
}

static void on_waiting(void *arg)
{
	struct run *run = arg;
	run->is_reading = true;
	run_hold(run);
	run_tell(run, event_stdin(run->id));
	waiters_wake(run);
	run_tell_behind(run);
	run_release(run);
}

static void on_done(void *arg, const json_t *record, const struct err *err)
{
	struct run *run = arg;
	for (int i = 0; record && is_heard(run) && i < 2; i++)
		run_tell(run, event_text(&run->rest[i], i, "", 0, true));
	run->is_done = true;
	run_ask_end(run);
	stdin_queue_close(take_ptr(run->order->stdin_queue));
	run->record = json_incref(json_unconst(record));
	if (!record)
		run->err = *err;
	for (int i = 0; i < 2; i++)
		buf_done(&run->out[i]);
	json_decref(run->displays);
	run->displays = NULL;
	if (record && is_heard(run)) {
		json_t *finished = run_record(run);
		run_tell(run, event_finished(finished));
		json_decref(finished);
	}
	bool is_unknown = !record && !run->is_told;
	waiters_tell(run);
	run_count(run, run_bytes(run));
	if (run->is_listed && is_unknown)
		run_unlist(run);
	run_release(run);
}

/* ---- starting and interrupting a run ---- */

static struct run *run_new(struct runs *r, struct registry *registry,
	const struct registry_identity *session, struct step_order *step)
{
	struct run *run = xnew(struct run);
	*run = (struct run){.runs = r,
		.registry = registry,
		.n_holds = 1,
		.number = ++r->last_number,
		.order = step_order_hold(step),
		.listener = {.arg = run,
			.started = on_started,
			.output = on_output,
			.display = on_display,
			.tool = on_tool,
			.network = on_network,
			.waiting = on_waiting,
			.rebuilding = on_rebuilding},
		.out = {BUF_INIT(RUN_LIVE_BYTES), BUF_INIT(RUN_LIVE_BYTES)},
		.displays = json_array()};
	snprintf(run->session, sizeof run->session, "%s", session->session);
	snprintf(run->runtime, sizeof run->runtime, "%s",
		step->runtime ? step->runtime->name : session->runtime);
	id_make(run->id, ID_BYTES, "r-");
	run_list(run);
	return run;
}

struct stdin_queue *run_stdin_queue(struct run *run, struct err *err)
{
	run->is_reading = false;
	if (run->order && run->order->stdin_queue)
		return run->order->stdin_queue;
	err_fail(err, run->is_done ? ERR_GONE : ERR_USAGE,
		"`step.run` with `stdin_open` starts a step that accepts input",
		run->is_done ? "run %s is over" : "the input of run %s is not open", run->id);
	return NULL;
}

/* Choose the runtime of a step: that of the parameter `runtime` or, if it is missing, that of
 * the file `filename`. If both are missing, set *@out to NULL: the step then uses the session's
 * runtime. */
static int choose_runtime(const json_t *params, const struct runtime **out, struct err *err)
{
	const json_t *code = param_get(params, "code");
	const char *filename = param_text(params, "filename", NULL);
	const char *name = param_text(params, "runtime", NULL);
	int r = name || !filename ? 0
				  : language_of_file(filename, json_string_value(code),
					    json_string_length(code), &name, err);
	*out = r == 0 && name ? runtime_by_name(name) : NULL;
	if (r < 0 || !name || *out)
		return r;
	(void)err_set(err, ERR_RUNTIME, "no runtime %.40s", name);
	return err_hint(err, "choose one of %s", runtime_names());
}

/* Open a queue for the standard input of the step, and put @text into it. @text NULL: the queue
 * is empty at first. */
static int open_stdin_queue(
	struct step_order *step, uv_loop_t *loop, const json_t *text, struct err *err)
{
	if (!loop)
		return err_set(err, ERR_INTERNAL, "no loop to watch the step's input");
	int r = stdin_queue_open(&step->stdin_queue, loop, err);
	if (r < 0)
		return r;
	step->stdin_fd = stdin_queue_take_reader(step->stdin_queue);
	return text ? stdin_queue_put(step->stdin_queue, json_string_value(text),
			      json_string_length(text), true, err)
		    : 0;
}

/* Make the order for a step from the parameters of `step.run`. Owns: the caller releases it. */
static struct step_order *parse_step(const struct runs *r, const json_t *params, struct err *err)
{
	const json_t *code = param_get(params, "code"), *text = param_get(params, "stdin");
	struct step_order like = {.code = json_string_value(code),
		.code_bytes = json_string_length(code),
		.filename = param_text(params, "filename", NULL),
		.timeout_ms = param_count(params, "timeout_ms", 0),
		.args = json_incref(json_unconst(param_get(params, "args"))),
		.setting = step_setting_pick(params),
		.stdin_fd = -1,
#define READ_FLAG(member, name, ...) .member = param_flag(params, name),
		STEP_FLAGS(READ_FLAG)
#undef READ_FLAG
	};
	int bad = choose_runtime(params, &like.runtime, err);
	if (bad == 0 && like.args && !like.is_script)
		bad = err_fail(
			err, ERR_USAGE, "set script, too", "args: only a script has arguments");
	if (bad < 0) {
		json_decref(like.args);
		json_decref(like.setting);
		return NULL;
	}
	struct step_order *step = step_order_new(&like, err);
	if (step && param_flag(params, "stdin_open"))
		bad = open_stdin_queue(step, r->loop, text, err);
	else if (step && text)
		bad = step_order_read_text(
			step, json_string_value(text), json_string_length(text), err);
	if (bad == 0)
		return step;
	step_order_let_go(step);
	return NULL;
}

/* Check the setting of a step in a session whose language is @own. */
static int check_setting(const struct step_order *step, const char *own, struct err *err)
{
	const struct runtime *runtime = step->runtime ? step->runtime : runtime_by_name(own);
	return step->setting && runtime
		? step_setting_check(step->setting, runtime, step->is_script, err)
		: 0;
}

/* Pass the step to the registry. Notify the client if the step has to wait for another run. */
static void begin(struct run *run, struct registry *registry, struct waiter *waiter)
{
	run->starter = waiter;
	run_count(run, run_bytes(run));
	run_hold(run);
	registry_run(registry, run->session, run->order, &run->listener, on_done, run);
	const struct run *ahead = run->is_done ? NULL : run_ahead(run);
	if (ahead) {
		run->is_told = true;
		run_tell(run, event_queued(run->id, ahead->id, run_is_reading(ahead)));
		waiters_wake(run);
	}
	run_release(run);
}

int runs_start(
	struct runs *r, const struct run_order *order, struct waiter *waiter, struct err *err)
{
	const json_t *params = order->params;
	struct registry_identity session;
	struct step_order *step = parse_step(r, params, err);
	struct run *run = step &&
			registry_identify(order->registry, param_text(params, "session", ""),
				&session, err) == 0 &&
			check_setting(step, session.runtime, err) == 0
		? run_new(r, order->registry, &session, step)
		: NULL;
	step_order_let_go(step);
	if (!run)
		return -err_errno(err->code);
	int bad = waiter_hang(waiter, run, param_count(params, "wait_ms", UINT64_MAX), err);
	if (bad < 0) {
		run_unlist(run);
		run_release(run);
		return bad;
	}
	run->asking.gate = param_flag(params, "approvals") ? order->gate : NULL;
	begin(run, order->registry, waiter);
	return 0;
}

void run_interrupt(struct run *run, bool is_kill)
{
	struct err err;
	unsigned n = is_kill ? 2 : 1;
	if (run->is_done)
		return;
	run_hold(run);
	if (!run->has_started && registry_withdraw(run->registry, run->session, &run->listener))
		n = 0;
	run->n_cancels += n;
	run->is_reading = false; /* if the step waits for input again, it sends a new event */
	for (unsigned i = 0; i < n && run->has_started && !run->is_done; i++)
		(void)registry_interrupt(run->registry, run->session, &err);
	run_release(run);
}

const struct run *run_ahead(const struct run *run)
{
	const struct run *ahead = NULL;
	for (const struct run *r = run->prev; r && run->is_listed && !run->has_started; r = r->prev)
		if (!r->is_done)
			ahead = r;
	return ahead;
}

/* ---- the texts of a run: output, value, code ---- */

static const json_t *done_text(const struct run *run, const char *stream)
{
	const json_t *value = json_object_get(run->record, "value");
	if (strcmp(stream, "value") == 0)
		return json_object_get(value, "text/plain");
	return json_object_get(run->record, stream);
}

int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err)
{
	if (run->is_dropped)
		return err_fail(err, ERR_GONE,
			"newer runs needed the room; write large output to a file",
			"the output of %s was dropped", run->id);
	bool is_out = strcmp(stream, "stdout") == 0 || strcmp(stream, "stderr") == 0;
	if (!run->is_done && is_out) {
		const struct buf *out = &run->out[strcmp(stream, "stderr") == 0];
		*text = buf_str(out);
		*bytes = out->bytes;
		return 0;
	}
	if (run->is_done && !run->record) {
		*err = run->err;
		return -err_errno(err->code);
	}
	if (strcmp(stream, "code") == 0) {
		*text = run->order->code;
		*bytes = run->order->code_bytes;
		return 0;
	}
	const json_t *found = done_text(run, stream);
	if (!found)
		return err_fail(err, ERR_NOT_FOUND,
			run->is_done ? "the step's last line was not an expression"
				     : "it still runs: ask again when it is done",
			"%s has no %s", run->id, stream);
	*text = json_string_value(found);
	*bytes = json_string_length(found);
	return 0;
}
