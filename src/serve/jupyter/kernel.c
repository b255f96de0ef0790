/*
 * A kernel: the requests of its clients, one after the other.
 *
 * Requests of JUPYTER_SHELL wait in a queue. The first is the current one, until its handler calls
 * kernel_end(). A handler that needs an operation starts it with kernel_operate(), and goes on when
 * it is answered. Requests of JUPYTER_CONTROL are answered at once, also while a cell runs.
 *
 * Around each request the status "busy" and "idle" is published, with the header of the request as
 * parent: so clients know when all of its output has come.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/kernel.h"

#include "base/alloc.h"
#include "base/attr.h"
#include "base/id.h"
#include "base/timer.h"
#include "serve/jupyter/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ID_BYTES = 33, WAITING_MAX = 4096, WAITING_BYTES = 64 << 20, HOLD_MS = 100, HOLD_MAX = 50 };

/* ---- sending ---- */

void kernel_date(char out[KERNEL_DATE_BYTES])
{
	struct timespec now;
	struct tm parts;
	char seconds[KERNEL_DATE_BYTES / 2 + 1];
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out, KERNEL_DATE_BYTES, "%s.%06ldZ", seconds, now.tv_nsec / 1000);
}

/* Send a message about @r, which may be NULL. Owns: takes @content and @metadata. */
static void send_message(struct kernel *k, enum jupyter_channel channel,
	const struct kernel_request *r, const char *type, json_t *content, json_t *metadata)
{
	char id[2 * KERNEL_NAME_BYTES], date[KERNEL_DATE_BYTES], topic[2 * KERNEL_NAME_BYTES];
	snprintf(id, sizeof id, "%s_%" PRIu64, k->id, ++k->n_sent);
	snprintf(topic, sizeof topic, "kernel.%s.%s", k->id, type);
	kernel_date(date);
	cleanup_json json_t *header = jupyter_header(type, id, k->id, date);
	const json_t *const parts[SIGNED_PARTS] = {
		header, r ? r->m.header : NULL, metadata, content};
	if (!k->is_over && content)
		k->config.send(k->config.arg, channel, r ? &r->m.route : NULL, topic, parts);
	json_decref(content);
	json_decref(metadata);
}

void kernel_publish(
	struct kernel *k, const struct kernel_request *r, const char *type, json_t *content)
{
	send_message(k, JUPYTER_IOPUB, r, type, content, NULL);
}

void kernel_reply(struct kernel *k, const struct kernel_request *r, const char *type,
	json_t *content, json_t *metadata)
{
	send_message(k, r->channel, r, type, content, metadata);
}

void kernel_ask(struct kernel *k, const char *prompt, size_t bytes)
{
	send_message(k, JUPYTER_STDIN, k->current, "input_request",
		json_pack("{s:o, s:b}", "prompt", json_new_text(prompt, bytes), "password", 0),
		NULL);
}

void kernel_show(struct kernel *k, const struct kernel_request *r, json_t *output)
{
	char type[KERNEL_NAME_BYTES];
	json_t *content = json_copy(output);
	snprintf(type, sizeof type, "%s", json_get_text(output, "output_type"));
	(void)json_object_del(content, "output_type");
	kernel_publish(k, r, type, content);
}

void kernel_print(struct kernel *k, const struct kernel_request *r, const char *stream,
	const char *text, size_t bytes)
{
	if (bytes > 0)
		kernel_publish(k, r, "stream",
			json_pack(
				"{s:s, s:o}", "name", stream, "text", json_new_text(text, bytes)));
}

static void publish_status(struct kernel *k, const struct kernel_request *r, const char *state)
{
	kernel_publish(k, r, "status", json_pack("{s:s}", "execution_state", state));
}

/* ---- operations ---- */

/* Tell the owner when all is over: the timers are closed, and no operation is under way. */
static void maybe_stopped(struct kernel *k)
{
	enum { TIMERS = 2 };
	if (k->is_over && k->n_closed == TIMERS && !k->is_calling && k->config.stopped)
		k->config.stopped(k->config.arg);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct kernel *k = arg;
	k->is_calling = false;
	if (!k->is_over)
		k->answered(k, result, err);
	else
		maybe_stopped(k);
}

static void on_event(void *arg, const json_t *event)
{
	cell_event(arg, event);
}

static void operate(struct kernel *k, const char *operation, json_t *params, bool has_events)
{
	const struct operation_listener listener = {
		.arg = k, .event = has_events ? on_event : NULL, .done = on_done};
	k->is_calling = true;
	operation_start(k->config.context, operation_find(operation), params, &listener, &k->call);
	json_decref(params);
}

void kernel_operate(struct kernel *k, const char *operation, json_t *params,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err))
{
	k->answered = answered;
	operate(k, operation, params, false);
}

void kernel_run(struct kernel *k, json_t *params,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err))
{
	k->answered = answered;
	operate(k, "step.run", params, true);
}

void kernel_take_session(struct kernel *k, const json_t *session)
{
	snprintf(k->session, sizeof k->session, "%s", json_get_text(session, "session"));
}

void kernel_create(struct kernel *k,
	void (*answered)(struct kernel *k, const json_t *result, const struct err *err))
{
	kernel_operate(k, "session.create", json_incref(k->config.create), answered);
}

/* ---- requests ---- */

struct request_row {
	const char *type;
	void (*start)(struct kernel *k, struct kernel_request *r);
	bool is_slow; /* calls kernel_end() itself, perhaps later, and is for JUPYTER_SHELL only */
};

static void start_interrupt(struct kernel *k, struct kernel_request *r)
{
	kernel_interrupt(k);
	kernel_reply(k, r, "interrupt_reply", json_pack("{s:s}", "status", "ok"), NULL);
}

static void start_shutdown(struct kernel *k, struct kernel_request *r)
{
	bool is_restart = json_get_bool(r->m.content, "restart");
	json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", is_restart);
	kernel_publish(k, r, "shutdown_reply", json_incref(content));
	kernel_reply(k, r, "shutdown_reply", content, NULL);
	k->config.over(k->config.arg);
}

static const struct request_row rows[] = {
	{"execute_request", cell_start, true},
	{"complete_request", look_up_complete, true},
	{"inspect_request", look_up_inspect, true},
	{"is_complete_request", look_up_is_complete, false},
	{"history_request", info_history, false},
	{"kernel_info_request", info_kernel, false},
	{"comm_info_request", info_comms, false},
	{"comm_open", info_comm_open, false},
	{"interrupt_request", start_interrupt, false},
	{"shutdown_request", start_shutdown, false},
};

static const struct request_row *row_of(const struct kernel_request *r)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].type, r->m.type) == 0)
			return &rows[i];
	return NULL;
}

static void request_free(struct kernel_request *r)
{
	jupyter_done(&r->m);
	free(r);
}

/* Begin the next request, unless one is under way. A request that is answered at once ends within
 * this function. */
static void begin_next(struct kernel *k)
{
	while (k->first && !k->current && !k->is_calling && !k->is_over) {
		struct kernel_request *r = k->current = k->first;
		const struct request_row *row = row_of(r);
		/* Then it goes on by kernel_end(), which may have freed it before start() returns.
		 */
		bool is_slow = !r->is_aborted && row && row->is_slow;
		k->first = r->next;
		if (!k->first)
			k->last = &k->first;
		k->n_waiting--;
		k->waiting_bytes -= r->bytes;
		publish_status(k, r, "busy");
		if (r->is_aborted)
			cell_abort(k, r);
		else if (row)
			row->start(k, r);
		if (is_slow)
			return;
		publish_status(k, r, "idle");
		k->current = NULL;
		request_free(r);
	}
}

static void on_turn(uv_timer_t *timer)
{
	struct kernel *k = timer->data;
	begin_next(k);
}

void kernel_end(struct kernel *k)
{
	struct kernel_request *r = take_ptr(k->current);
	publish_status(k, r, "idle");
	request_free(r);
	/* Not from here: this is called by handlers, and a long queue would be a deep stack. */
	if (!k->is_over)
		timer_start(&k->turn, on_turn, 0, 0);
}

/* Answer a request of JUPYTER_CONTROL. */
static void control(struct kernel *k, struct kernel_request *r)
{
	const struct request_row *row = row_of(r);
	publish_status(k, r, "busy");
	if (row && !row->is_slow)
		row->start(k, r);
	publish_status(k, r, "idle");
	request_free(r);
}

void kernel_receive(struct kernel *k, enum jupyter_channel channel, struct jupyter_message *m)
{
	struct kernel_request *r;
	if (channel == JUPYTER_STDIN) {
		if (strcmp(m->type, "input_reply") == 0)
			cell_input(k, m);
		jupyter_done(m);
		return;
	}
	r = xnew(struct kernel_request);
	r->channel = channel;
	r->m = *m;
	r->bytes = m->bytes;
	*m = (struct jupyter_message){.type = NULL};
	if (channel == JUPYTER_CONTROL) {
		control(k, r);
		return;
	}
	*k->last = r;
	k->last = &r->next;
	k->n_waiting++;
	k->waiting_bytes += r->bytes;
	begin_next(k);
}

bool kernel_is_busy(const struct kernel *k)
{
	return k->current || k->first;
}

bool kernel_is_full(const struct kernel *k)
{
	return k->n_waiting >= WAITING_MAX || k->waiting_bytes >= WAITING_BYTES;
}

void kernel_abort_cells(struct kernel *k)
{
	for (struct kernel_request *r = k->first; r; r = r->next)
		r->is_aborted = r->is_aborted || strcmp(r->m.type, "execute_request") == 0;
}

void kernel_interrupt(struct kernel *k)
{
	k->cell.run[0] = '\0';
	if (k->call)
		operation_cancel(k->call);
}

/* ---- the life of a kernel ---- */

static void on_hold(uv_timer_t *timer)
{
	struct kernel *k = timer->data;
	/* What may be a traceback is held longer, until it is clear that the step goes on. */
	cell_release(k, ++k->n_held >= HOLD_MAX);
}

void kernel_hold(struct kernel *k)
{
	bool is_active = uv_is_active((uv_handle_t *)&k->hold);
	if (k->is_over || cell_output_holds(&k->cell.output) == is_active)
		return;
	k->n_held = 0;
	if (is_active)
		(void)uv_timer_stop(&k->hold);
	else
		timer_start(&k->hold, on_hold, HOLD_MS, HOLD_MS);
}

/* The session that was made ahead of the first cell. If it failed, the first cell tries again, and
 * tells. */
static void on_created(struct kernel *k, const json_t *result, const struct err *err)
{
	kernel_take_session(k, result);
	if (k->config.made)
		k->config.made(k->config.arg, result ? NULL : err);
	begin_next(k);
}

struct kernel *kernel_new(const struct kernel_config *config)
{
	struct kernel *k = xnew(struct kernel);
	k->config = *config;
	k->config.create = json_incref(config->create);
	k->last = &k->first;
	k->cell.output = CELL_OUTPUT_INIT;
	k->parents = json_need(json_array());
	snprintf(k->runtime, sizeof k->runtime, "%s", config->runtime);
	id_make(k->id, ID_BYTES, "");
	(void)uv_timer_init(config->loop, &k->hold);
	(void)uv_timer_init(config->loop, &k->turn);
	k->hold.data = k->turn.data = k;
	publish_status(k, NULL, "starting");
	kernel_create(k, on_created);
	return k;
}

static void on_closed(uv_handle_t *handle)
{
	struct kernel *k = handle->data;
	k->n_closed++;
	maybe_stopped(k);
}

void kernel_stop(struct kernel *k)
{
	k->is_over = true;
	uv_close((uv_handle_t *)&k->hold, on_closed);
	uv_close((uv_handle_t *)&k->turn, on_closed);
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	while (k->first) {
		struct kernel_request *r = k->first;
		k->first = r->next;
		request_free(r);
	}
	if (k->current)
		request_free(k->current);
	cell_output_done(&k->cell.output);
	json_decref(k->cell.reply);
	json_decref(k->cell.expressions);
	cell_log_done(&k->log);
	json_decref(k->parents);
	json_decref(k->config.create);
	free(k);
}
