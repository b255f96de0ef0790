/*
 * Theory of operation. A run is held by the registry, while it has the step, and by the shelf of
 * its session, which is a list, newest last. Waiters hang on a run until they are told; whoever is
 * told may end sessions, so a run is held over that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/runs.h"

#include "api/event.h"
#include "api/param.h"
#include "session/history.h"
#include "session/registry.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_RANDOM_BYTES = 26, SESSION_ID_BYTES = 32, NODE_BYTES = 64, SHELVES_MIN = 16 };

struct run {
	struct run *next, *prev; /* of its shelf, when it is on it */
	struct runs *runs;
	struct registry *registry;
	const struct principal *owner;
	unsigned n_holds;
	bool is_shelved, is_done, is_dropped, has_started;
	bool is_told;	    /* somebody knows its id */
	unsigned n_cancels; /* asked for before the step began */
	char id[RUN_ID_BYTES];
	char session[SESSION_ID_BYTES];
	char runtime[16];
	uint64_t number, started_ns;
	json_t *code;
	json_t *record; /* of the step, when it is done; or `err` */
	struct err err;
	struct registry_watch watch;
	struct event_rest rest[2];
	struct buf out[2];
	json_t *displays;
	size_t bytes; /* what is counted of it */
	struct run_waiter *waiters;
	struct run_waiter *starter; /* who hears of events; or NULL */
};

struct shelf {
	char session[SESSION_ID_BYTES];
	struct run *first, *last;
	unsigned n;
	size_t bytes;
};

struct runs {
	uv_loop_t *loop;
	struct shelf *shelves;
	size_t n, max;
	size_t bytes;
	uint64_t last_number;
};

/* ---- runs ---- */

static void run_hold(struct run *run)
{
	run->n_holds++;
}

static void run_release(struct run *run)
{
	if (--run->n_holds > 0)
		return;
	json_decref(run->code);
	json_decref(run->record);
	json_decref(run->displays);
	for (int i = 0; i < 2; i++)
		buf_done(&run->out[i]);
	free(run);
}

static int new_id(char id[RUN_ID_BYTES], struct err *err)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[ID_RANDOM_BYTES];
	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, "libsodium does not start");
	randombytes_buf(random, sizeof random);
	memcpy(id, "r-", 2);
	for (size_t i = 0; i < sizeof random; i++)
		id[2 + i] = digits[random[i] & 31];
	id[2 + sizeof random] = '\0';
	return 0;
}

bool run_is_done(const struct run *run)
{
	return run->is_done;
}

const char *run_id(const struct run *run)
{
	return run->id;
}

/* ---- shelves ---- */

static struct shelf *find_shelf(struct runs *r, const char *session)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->shelves[i].session, session) == 0)
			return &r->shelves[i];
	return NULL;
}

static struct shelf *get_shelf(struct runs *r, const char *session)
{
	struct shelf *shelf = find_shelf(r, session);
	if (shelf)
		return shelf;
	if (r->n == r->max) {
		size_t max = MAX(2 * r->max, (size_t)SHELVES_MIN);
		struct shelf *shelves = realloc(r->shelves, max * sizeof *shelves);
		if (!shelves)
			return NULL;
		r->shelves = shelves;
		r->max = max;
	}
	shelf = &r->shelves[r->n++];
	*shelf = (struct shelf){.n = 0};
	(void)snprintf(shelf->session, sizeof shelf->session, "%s", session);
	return shelf;
}

static void count(struct run *run, size_t bytes)
{
	struct shelf *shelf = run->is_shelved ? find_shelf(run->runs, run->session) : NULL;
	if (!shelf)
		return;
	shelf->bytes += bytes - run->bytes;
	run->runs->bytes += bytes - run->bytes;
	run->bytes = bytes;
}

static void unshelve(struct run *run)
{
	struct shelf *shelf = find_shelf(run->runs, run->session);
	count(run, 0);
	if (run->prev)
		run->prev->next = run->next;
	else
		shelf->first = run->next;
	if (run->next)
		run->next->prev = run->prev;
	else
		shelf->last = run->prev;
	shelf->n--;
	run->is_shelved = false;
	run->next = run->prev = NULL;
	run_release(run);
}

static int shelve(struct run *run)
{
	struct shelf *shelf = get_shelf(run->runs, run->session);
	if (!shelf)
		return -1;
	run->prev = shelf->last;
	*(shelf->last ? &shelf->last->next : &shelf->first) = run;
	shelf->last = run;
	shelf->n++;
	run->is_shelved = true;
	run_hold(run);
	return 0;
}

void runs_forget(void *runs, const char *session)
{
	struct runs *r = runs;
	struct shelf *shelf = find_shelf(r, session);
	if (!shelf)
		return;
	while (shelf->first)
		unshelve(shelf->first);
	*shelf = r->shelves[--r->n];
}

int runs_open(struct runs **out, uv_loop_t *loop, struct err *err)
{
	struct runs *r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, ERR_NO_MEMORY, "no memory for runs");
	r->loop = loop;
	*out = r;
	return 0;
}

void runs_close(struct runs *r)
{
	if (!r)
		return;
	while (r->n > 0)
		runs_forget(r, r->shelves[0].session);
	free(r->shelves);
	free(r);
}

/* ---- room ---- */

/* About what it holds in memory. */
static size_t json_bytes(const json_t *json)
{
	size_t n = NODE_BYTES, i;
	const char *key;
	json_t *value;
	if (json_is_string(json))
		return n + json_string_length(json);
	json_object_foreach((json_t *)(uintptr_t)json, key, value) n +=
		strlen(key) + json_bytes(value);
	if (json_is_array(json))
		json_array_foreach(json, i, value) n += json_bytes(value);
	return n;
}

static size_t run_bytes(const struct run *run)
{
	size_t n = sizeof *run + run->out[0].bytes + run->out[1].bytes;
	if (run->code)
		n += json_string_length(run->code);
	if (run->record)
		n += json_bytes(run->record);
	return run->displays ? n + json_bytes(run->displays) : n;
}

/* Only what says how it went stays. */
static void drop(struct run *run)
{
	static const char *const kept[] = {"schema", "step", "parent", "session", "runtime",
		"status", "exit_code", "signal", "state", "usage"};
	json_t *rest = json_object();
	for (size_t i = 0; run->record && i < ARRAY_LEN(kept); i++)
		(void)json_object_set(rest, kept[i], json_object_get(run->record, kept[i]));
	json_t *error = json_object_get(run->record, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	if (name)
		(void)json_object_set_new(rest, "error",
			json_pack("{s:s, s:s}", "name", name, "message", "its text was dropped"));
	for (int i = 0; i < 2; i++)
		(void)json_object_set_new(rest, i ? "stderr" : "stdout", json_string(""));
	(void)json_object_set_new(rest, "displays", json_array());
	(void)json_object_set_new(rest, "files", json_array());
	(void)json_object_set_new(rest, "truncated", json_pack("{s:b}", "dropped", true));
	if (run->record) {
		json_decref(run->record);
		run->record = rest;
	} else {
		json_decref(rest);
	}
	json_decref(run->code);
	run->code = NULL;
	run->is_dropped = true;
	count(run, run_bytes(run));
}

/* The oldest one that is done and holds what can be dropped; of @owner, when he has one. */
static struct run *oldest(struct runs *r, const struct principal *owner)
{
	struct run *own = NULL, *any = NULL;
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->shelves[i].first; run; run = run->next) {
			if (!run->is_done || run->is_dropped)
				continue;
			if (!any || run->number < any->number)
				any = run;
			if (run->owner == owner && (!own || run->number < own->number))
				own = run;
		}
	return own ? own : any;
}

static struct run *oldest_of(const struct shelf *shelf, bool is_to_drop)
{
	struct run *run = shelf->first;
	while (run && (!run->is_done || (is_to_drop && run->is_dropped)))
		run = run->next;
	return run;
}

/* @run has just grown. */
static void make_room(struct run *run)
{
	struct runs *r = run->runs;
	struct run *old;
	struct shelf *shelf = find_shelf(r, run->session);
	while (shelf && shelf->n > RUNS_PER_SESSION && (old = oldest_of(shelf, false)))
		unshelve(old);
	while (shelf && shelf->bytes > RUNS_SESSION_BYTES && (old = oldest_of(shelf, true)))
		drop(old);
	while (r->bytes > RUNS_TOTAL_BYTES && (old = oldest(r, run->owner)))
		drop(old);
}

/* ---- waiting ---- */

static json_t *running_record(const struct run *run)
{
	json_t *record = json_pack("{s:i, s:s, s:s, s:s, s:s, s:O, s:n, s:n, s:{s:i, s:i}}",
		"schema", 1, "run", run->id, "session", run->session, "runtime", run->runtime,
		"status", "running", "displays", run->displays, "exit_code", "signal", "truncated",
		"stdout_bytes", 0, "stderr_bytes", 0);
	for (int i = 0; i < 2; i++)
		(void)json_object_set_new(record, i ? "stderr" : "stdout",
			json_stringn(buf_str(&run->out[i]), run->out[i].bytes));
	double ms = run->has_started ? (double)((uv_hrtime() - run->started_ns) / 1000) / 1000 : 0;
	(void)json_object_set_new(record, "usage", json_pack("{s:f}", "wall_ms", ms));
	return record;
}

static json_t *finished_record(const struct run *run)
{
	json_t *record = json_copy(run->record);
	(void)json_object_set_new(record, "run", json_string(run->id));
	return record;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle);
}

/* @waiter hangs on no run any more. */
static void unhang(struct run_waiter *waiter)
{
	struct run_waiter **at = &waiter->run->waiters;
	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	if (waiter->timer)
		uv_close((uv_handle_t *)waiter->timer, on_timer_closed);
	if (waiter->run->starter == waiter)
		waiter->run->starter = NULL;
	waiter->timer = NULL;
	waiter->run = NULL;
}

/* Tell @waiter, which hangs on none, what there is. */
static void answer(struct run *run, const struct run_waiter *waiter)
{
	json_t *record = NULL;
	struct err err = run->err;
	run->is_told = true;
	if (!run->is_done)
		record = running_record(run);
	else if (run->record)
		record = finished_record(run);
	if (!record && !err.code)
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the record");
	waiter->done(waiter->arg, record, record ? NULL : &err);
	json_decref(record);
}

void run_leave(struct run_waiter *waiter)
{
	struct run *run = waiter->run;
	if (!run)
		return;
	run_hold(run);
	unhang(waiter);
	answer(run, waiter);
	run_release(run);
}

static void on_time(uv_timer_t *timer)
{
	run_leave(timer->data);
}

static int hang(struct run *run, struct run_waiter *waiter, uint64_t wait_ms, struct err *err)
{
	uv_timer_t *timer = NULL;
	if (wait_ms != UINT64_MAX) {
		timer = run->runs->loop ? malloc(sizeof *timer) : NULL;
		if (!timer)
			return err_set(err, ERR_NO_MEMORY, "no memory to wait");
		(void)uv_timer_init(run->runs->loop, timer);
		timer->data = waiter;
		(void)uv_timer_start(timer, on_time, wait_ms, 0);
	}
	waiter->timer = timer;
	waiter->run = run;
	waiter->next = run->waiters;
	run->waiters = waiter;
	return 0;
}

int run_await(struct run *run, struct run_waiter *waiter, uint64_t wait_ms, struct err *err)
{
	if (!run->is_done && wait_ms > 0)
		return hang(run, waiter, wait_ms, err);
	run_hold(run);
	answer(run, waiter);
	run_release(run);
	return 0;
}

/* Only who started it hears of events. Takes the reference of @event. */
static void tell(struct run *run, json_t *event)
{
	if (event && run->starter && run->starter->event)
		run->starter->event(run->starter->arg, event);
	json_decref(event);
}

/* ---- what is heard of the step ---- */

static void on_started(void *arg, const char *session)
{
	struct run *run = arg;
	struct err err;
	json_t *event = event_started(session);
	run->has_started = true;
	run->started_ns = uv_hrtime();
	(void)json_object_set_new(event, "run", json_string(run->id));
	run_hold(run); /* whoever is told may end it */
	run->is_told = true;
	tell(run, event);
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
		count(run, run->bytes + json_string_length(text));
		make_room(run);
	}
	run_hold(run);
	tell(run, event);
	run_release(run);
}

static void on_display(void *arg, const json_t *display)
{
	struct run *run = arg;
	size_t bytes = json_bytes(display);
	if (run->runs->bytes + bytes <= RUNS_TOTAL_BYTES) {
		(void)json_array_append(run->displays, (json_t *)(uintptr_t)display);
		count(run, run->bytes + bytes);
		make_room(run);
	}
	run_hold(run);
	tell(run, event_display(display));
	run_release(run);
}

static void on_done(void *arg, const json_t *record, const struct err *err)
{
	struct run *run = arg;
	for (int i = 0; record && i < 2; i++)
		tell(run, event_text(&run->rest[i], i, "", 0, true));
	run->is_done = true;
	run->record = json_incref((json_t *)(uintptr_t)record);
	if (!record)
		run->err = *err;
	for (int i = 0; i < 2; i++)
		buf_done(&run->out[i]);
	json_decref(run->displays);
	run->displays = NULL;
	if (record) {
		json_t *finished = finished_record(run);
		tell(run, event_finished(finished));
		json_decref(finished);
	}
	bool is_unknown = !record && !run->is_told;
	while (run->waiters) {
		struct run_waiter *waiter = run->waiters;
		unhang(waiter);
		answer(run, waiter);
	}
	count(run, run_bytes(run));
	if (run->is_shelved && is_unknown)
		unshelve(run);
	else if (run->is_shelved)
		make_room(run);
	run_release(run);
}

/* ---- starting ---- */

static struct run *run_new(struct runs *r, const struct run_order *order, struct err *err)
{
	const json_t *params = order->params;
	json_t *session = registry_get(order->registry, param_text(params, "session", ""), err);
	struct run *run = session ? calloc(1, sizeof *run) : NULL;
	if (!run) {
		if (session)
			(void)err_set(err, ERR_NO_MEMORY, "no memory for a step");
		json_decref(session);
		return NULL;
	}
	*run = (struct run){.runs = r,
		.registry = order->registry,
		.owner = order->owner,
		.n_holds = 1,
		.number = ++r->last_number,
		.code = json_incref((json_t *)(uintptr_t)param_get(params, "code")),
		.watch = {.arg = run,
			.started = on_started,
			.output = on_output,
			.display = on_display},
		.out = {BUF_INIT(RUN_LIVE_BYTES), BUF_INIT(RUN_LIVE_BYTES)},
		.displays = json_array()};
	(void)snprintf(run->session, sizeof run->session, "%s", param_text(session, "session", ""));
	(void)snprintf(run->runtime, sizeof run->runtime, "%s",
		param_text(params, "runtime", param_text(session, "runtime", "")));
	json_decref(session);
	if (new_id(run->id, err) == 0 && shelve(run) < 0)
		(void)err_set(err, ERR_NO_MEMORY, "no memory for a step");
	if (run->is_shelved)
		return run;
	run_release(run);
	return NULL;
}

int runs_start(
	struct runs *r, const struct run_order *order, struct run_waiter *waiter, struct err *err)
{
	const json_t *params = order->params, *stdin_text = param_get(params, "stdin");
	const json_t *code = param_get(params, "code");
	struct run *run = run_new(r, order, err);
	if (!run)
		return -err_errno(err->code);
	int bad = hang(run, waiter, param_count(params, "wait_ms", UINT64_MAX), err);
	if (bad < 0) {
		unshelve(run);
		run_release(run);
		return bad;
	}
	const struct registry_run req = {.session = run->session,
		.runtime = param_text(params, "runtime", NULL),
		.code = json_string_value(code),
		.code_bytes = json_string_length(code),
		.filename = param_text(params, "filename", NULL),
		.timeout_ms = param_count(params, "timeout_ms", 0),
		.is_atomic = param_flag(params, "atomic"),
		.stdin_text = json_string_value(stdin_text),
		.stdin_bytes = json_string_length(stdin_text),
		.watch = &run->watch};
	run->starter = waiter;
	count(run, run_bytes(run));
	make_room(run);
	registry_run(order->registry, &req, on_done, run);
	return 0;
}

void run_interrupt(struct run *run, bool is_kill)
{
	struct err err;
	unsigned n = is_kill ? 2 : 1;
	if (run->is_done)
		return;
	run->n_cancels += n;
	run_hold(run);
	for (unsigned i = 0; i < n && run->has_started && !run->is_done; i++)
		(void)registry_interrupt(run->registry, run->session, &err);
	run_release(run);
}

/* ---- finding ---- */

static bool is_visible(const struct run *run, const struct principal *who)
{
	return !who || run->owner == who;
}

struct run *runs_find(struct runs *r, const struct principal *who, const char *id, struct err *err)
{
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->shelves[i].first; run; run = run->next)
			if (strcmp(run->id, id) == 0 && is_visible(run, who))
				return run;
	(void)err_set(err, ERR_NOT_FOUND, "no run %.*s", (int)utf8_cut(id, strlen(id), 64), id);
	(void)err_hint(
		err, "the last %d of a session are kept until it is closed", RUNS_PER_SESSION);
	return NULL;
}

struct run *runs_find_step(struct runs *r, const struct principal *who, const char *session,
	const char *step, struct err *err)
{
	struct shelf *shelf = find_shelf(r, session);
	for (struct run *run = shelf ? shelf->last : NULL; run; run = run->prev) {
		const char *id = param_text(run->record, "step", "");
		if (is_visible(run, who) && strncmp(id, step, strlen(step)) == 0)
			return run;
	}
	(void)err_set(err, ERR_NOT_FOUND, "no run of step %.*s in %s",
		(int)utf8_cut(step, strlen(step), 72), step, session);
	(void)err_hint(err, "the last %d of a session are kept; session.log has all steps",
		RUNS_PER_SESSION);
	return NULL;
}

/* ---- what came of it ---- */

static const json_t *done_text(const struct run *run, const char *stream)
{
	const json_t *value = json_object_get(run->record, "value");
	if (strcmp(stream, "code") == 0)
		return run->code;
	if (strcmp(stream, "value") == 0)
		return json_object_get(value, "text/plain");
	return json_object_get(run->record, stream);
}

int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err)
{
	if (run->is_dropped) {
		(void)err_set(err, ERR_GONE, "the output of %s was dropped", run->id);
		return err_hint(err, "newer ones needed the room; write what is large to a file");
	}
	bool is_out = strcmp(stream, "stdout") == 0 || strcmp(stream, "stderr") == 0;
	if (!run->is_done && is_out) {
		const struct buf *out = &run->out[strcmp(stream, "stderr") == 0];
		*text = buf_str(out);
		*bytes = out->bytes;
		return 0;
	}
	if (run->is_done && !run->record && strcmp(stream, "code") != 0) {
		*err = run->err;
		return -err_errno(err->code);
	}
	const json_t *found = done_text(run, stream);
	if (!found) {
		(void)err_set(err, ERR_NOT_FOUND, "%s has no %s", run->id, stream);
		return err_hint(err,
			run->is_done ? "the step's last line was no expression"
				     : "it still runs: ask again when it is done");
	}
	*text = json_string_value(found);
	*bytes = json_string_length(found);
	return 0;
}
