/*
 * The kernels of the front "jupyter".
 *
 * A kernel goes through these phases:
 *
 *     MAKING      its session is being made
 *     LIVE        clients may use it
 *     RESTARTING  as ENDING, but then it is made again, under its id; the WebSockets stay
 *     ENDING      what runs is stopped, then the session is closed, then the kernel is freed
 *
 * So a request for a kernel is answered when the kernel has a box, and the request for its end when
 * the box is gone, and does not count towards the caller's quota any more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server.h"

#include "api/operation/principal.h"
#include "api/row/param.h"
#include "base/alloc.h"
#include "base/timer.h"
#include "serve/jupyter/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CELL_MS: limit of a cell; notebooks compute for longer than agents. SESSION_IDLE_MS: after a
 * crash of the engine nobody ends a kernel's session but the engine itself, after this time.
 * LOOK_MS: how often it is looked for kernels that nobody uses. */
enum { KERNELS_MAX = 1024, CELL_MS = 3600 * 1000, SESSION_IDLE_MS = 24 * CELL_MS, LOOK_MS = 1000 };

static void make(struct server_kernel *k);

/* ---- the state ---- */

static void on_look(uv_timer_t *timer)
{
	struct server *s = timer->data;
	struct server_kernel *next;
	for (struct server_kernel *k = s->kernels; k; k = next) {
		next = k->next;
		bool is_used =
			k->phase != SERVER_LIVE || k->n_channels > 0 || kernel_is_busy(k->kernel);
		if (is_used)
			k->used_ms = timer_now();
		else if (timer_since(k->used_ms) >= s->idle_ms)
			server_end_kernel(k, NULL);
	}
}

struct server *server_of(const struct front_call *c)
{
	struct server *s = c->state->own;
	if (s)
		return s;
	s = c->state->own = xnew(struct server);
	s->idle_ms = c->state->idle_ms;
	kernel_date(s->started);
	(void)uv_timer_init(c->context->loop, &s->idle);
	s->idle.data = s;
	timer_start(&s->idle, on_look, LOOK_MS, LOOK_MS);
	return s;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct server *s = handle->data;
	s->is_closed = true;
}

bool server_stop(struct front_state *state)
{
	struct server *s = state->own;
	struct server_kernel *next;
	if (!s->is_closing)
		uv_close((uv_handle_t *)&s->idle, on_timer_closed);
	s->is_closing = true;
	for (struct server_kernel *k = s->kernels; k; k = next) {
		next = k->next;
		if (k->phase != SERVER_ENDING)
			server_end_kernel(k, NULL);
	}
	if (s->kernels || !s->is_closed)
		return true;
	free(take_ptr(state->own));
	return false;
}

/* ---- the end of a kernel ---- */

static void forget(struct server_kernel *k)
{
	struct server_kernel **link = &k->server->kernels;
	while (*link != k)
		link = &(*link)->next;
	*link = k->next;
	k->server->n_kernels--;
	server_forget_kept(&k->kept);
	json_decref(k->create);
	free(k);
}

/* The session is closed: go on, or answer who waits for the end. */
static void on_closed(void *arg, const json_t *result, const struct err *err)
{
	struct server_kernel *k = arg;
	struct front_call *c = k->caller;
	(void)result; /* a session that is gone is closed, too */
	(void)err;
	if (k->phase == SERVER_RESTARTING) {
		make(k);
		return;
	}
	if (c && k->has_failed)
		k->started(c, NULL, &k->err);
	else if (c)
		front_answer_empty(c);
	forget(k);
}

static void on_stopped(void *arg)
{
	struct server_kernel *k = arg;
	const struct operation_listener listener = {.arg = k, .done = on_closed};
	json_t *params = json_need(json_pack("{s:s}", "session", k->session));
	kernel_free(take_ptr(k->kernel));
	operation_start(
		k->context, operation_find("session.close"), params, &listener, &k->closing);
	json_decref(params);
}

/* Stop what runs; on_stopped() follows. */
static void stop_kernel(struct server_kernel *k)
{
	kernel_interrupt(k->kernel);
	kernel_interrupt(k->kernel);
	kernel_stop(k->kernel);
}

void server_end_kernel(struct server_kernel *k, struct front_call *c)
{
	bool is_running = k->phase == SERVER_MAKING || k->phase == SERVER_LIVE;
	struct err err;
	if (k->caller) {
		(void)err_set(&err, ERR_GONE, "the kernel was ended");
		k->started(take_ptr(k->caller), NULL, &err);
	}
	k->phase = SERVER_ENDING;
	k->caller = c;
	server_close_channels(k);
	server_forget_sessions(k->server, k);
	if (is_running)
		stop_kernel(k);
}

/* ---- the beginning of a kernel ---- */

/* The session was made, or not. */
static void settle(struct server_kernel *k)
{
	struct front_call *c = take_ptr(k->caller);
	bool is_new = !k->is_known;
	if (k->has_failed) {
		k->phase = SERVER_ENDING;
		k->caller = c; /* answered when nothing is left of the kernel */
		server_close_channels(k);
		server_forget_sessions(k->server, k);
		stop_kernel(k);
		return;
	}
	k->phase = SERVER_LIVE;
	k->is_known = true;
	k->used_ms = timer_now();
	snprintf(k->state, sizeof k->state, "idle");
	server_pause_channels(k, false);
	bool is_left = is_new && (!c || !c->x);
	if (c)
		k->started(c, k, NULL);
	if (is_left) /* nobody knows its id */
		server_end_kernel(k, NULL);
}

static void on_made(void *arg, const struct err *err)
{
	struct server_kernel *k = arg;
	k->is_created = true;
	k->has_failed = err != NULL;
	if (err)
		k->err = *err;
	/* kernel_new() may call this; make() then goes on. */
	if (k->kernel && k->phase == SERVER_MAKING)
		settle(k);
}

static void on_over(void *arg)
{
	struct server_kernel *k = arg;
	if (k->phase == SERVER_LIVE)
		server_end_kernel(k, NULL);
}

static void on_send(void *arg, enum jupyter_channel channel, const struct jupyter_route *to,
	const char *topic, const json_t *const parts[SIGNED_PARTS])
{
	struct server_kernel *k = arg;
	(void)topic;
	k->used_ms = timer_now();
	kernel_date(k->date);
	if (strcmp(json_get_text(parts[0], "msg_type"), "status") == 0)
		snprintf(k->state, sizeof k->state, "%s",
			json_get_text(parts[SIGNED_PARTS - 1], "execution_state"));
	server_send(k, channel, to, parts);
	if (k->kernel && k->phase == SERVER_LIVE && !kernel_is_full(k->kernel))
		server_pause_channels(k, false);
}

static void make(struct server_kernel *k)
{
	const struct kernel_config config = {.context = k->context,
		.loop = k->context->loop,
		.create = k->create,
		.runtime = k->spec->runtime,
		.version = k->context->version,
		.arg = k,
		.send = on_send,
		.over = on_over,
		.made = on_made,
		.stopped = on_stopped};
	k->phase = SERVER_MAKING;
	k->is_created = k->has_failed = false;
	k->kernel = kernel_new(&config);
	if (k->is_created)
		settle(k);
}

void server_make_kernel(struct front_call *c, const struct server_spec *spec,
	void (*started)(struct front_call *c, struct server_kernel *k, const struct err *err))
{
	struct server *s = server_of(c);
	struct server_kernel *k;
	struct err err;
	if (s->n_kernels >= KERNELS_MAX || s->is_closing) {
		(void)err_set(&err, ERR_LIMIT, "%u kernels, limit %d", s->n_kernels, KERNELS_MAX);
		started(c, NULL, &err);
		return;
	}
	k = xnew(struct server_kernel);
	k->server = s;
	k->context = c->context;
	k->spec = spec;
	k->caller = c;
	k->started = started;
	server_make_id(k->id);
	kernel_date(k->date);
	snprintf(k->state, sizeof k->state, "starting");
	snprintf(k->session, sizeof k->session, "jupyter-%s", k->id);
	k->create = json_need(json_pack("{s:s, s:s, s:i, s:{s:i}}", "name", k->session, "runtime",
		spec->runtime, "idle_ms", SESSION_IDLE_MS, "limits", "timeout_ms", CELL_MS));
	front_box(c, k->create, true);
	k->next = s->kernels;
	s->kernels = k;
	s->n_kernels++;
	make(k);
}

/* ---- requests ---- */

struct server_kernel *server_find_kernel(const struct front_call *c, const char *id, size_t bytes)
{
	const struct server *s = server_of(c);
	for (struct server_kernel *k = s->kernels; k; k = k->next)
		if (k->is_known && k->phase != SERVER_ENDING &&
			k->context->principal == c->context->principal && strlen(k->id) == bytes &&
			memcmp(k->id, id, bytes) == 0)
			return k;
	return NULL;
}

json_t *server_kernel_json(const struct server_kernel *k)
{
	const char *state = k->phase == SERVER_LIVE ? k->state : "starting";
	return json_pack("{s:s, s:s, s:s, s:s, s:i}", "id", k->id, "name", k->spec->name,
		"last_activity", k->date, "execution_state", state, "connections",
		(int)k->n_channels);
}

void server_start_kernels(struct front_call *c)
{
	const struct server *s = server_of(c);
	json_t *all = json_need(json_array());
	for (const struct server_kernel *k = s->kernels; k; k = k->next)
		if (server_find_kernel(c, k->id, strlen(k->id)) == k)
			json_add_new(all, server_kernel_json(k));
	front_answer(c, 200, all);
}

static void on_started(struct front_call *c, struct server_kernel *k, const struct err *err)
{
	if (!k) {
		front_fail(c, err);
		return;
	}
	server_set_location(c, "/api/kernels/", k->id);
	front_answer(c, 201, server_kernel_json(k));
}

void server_start_new_kernel(struct front_call *c)
{
	const json_t *given = json_object_get(c->body, "name");
	const char *name = json_get_text(c->body, "name");
	bool is_wrong = given && !json_is_null(given) && !json_is_string(given);
	const struct server_spec *spec = is_wrong ? NULL : server_find_spec(name);
	if (spec)
		server_make_kernel(c, spec, on_started);
	else
		server_refuse(c, is_wrong ? 400 : 404,
			is_wrong ? "name: not a text"
				 : "No such kernel: GET /api/kernelspecs lists them");
}

/* Read "/api/kernels/ID" or "/api/kernels/ID/WORD". Returns: the kernel, and *@word, "" if there is
 * none; or NULL, and the request was answered. */
static struct server_kernel *read_kernel(
	struct front_call *c, char path[SERVER_PATH_BYTES], const char **word)
{
	char text[128];
	bool is_well = server_read_path(c, "/api/kernels/", path);
	size_t n = strcspn(path, "/");
	struct server_kernel *k = is_well ? server_find_kernel(c, path, n) : NULL;
	*word = path + n + (path[n] == '/');
	if (k)
		return k;
	snprintf(text, sizeof text, "Kernel does not exist: %.*s", (int)MIN(n, SERVER_ID_BYTES),
		path);
	server_refuse(c, 404, text);
	return NULL;
}

void server_start_kernel(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	const char *word;
	struct server_kernel *k = read_kernel(c, path, &word);
	if (!k)
		return;
	if (strcmp(word, "channels") == 0)
		server_open_channel(c, k);
	else if (word[0])
		server_refuse(c, 404, "Not Found");
	else
		front_answer(c, 200, server_kernel_json(k));
}

static void on_restarted(struct front_call *c, struct server_kernel *k, const struct err *err)
{
	if (k)
		front_answer(c, 200, server_kernel_json(k));
	else
		front_fail(c, err);
}

static void restart(struct front_call *c, struct server_kernel *k)
{
	if (k->phase != SERVER_LIVE) {
		server_refuse(c, 409, "the kernel is being restarted");
		return;
	}
	k->phase = SERVER_RESTARTING;
	k->caller = c;
	k->started = on_restarted;
	server_pause_channels(k, true);
	stop_kernel(k);
}

void server_start_kernel_action(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	const char *word;
	struct server_kernel *k = read_kernel(c, path, &word);
	if (!k)
		return;
	if (strcmp(word, "interrupt") == 0) {
		if (k->phase == SERVER_LIVE)
			kernel_interrupt(k->kernel);
		front_answer_empty(c);
	} else if (strcmp(word, "restart") == 0) {
		restart(c, k);
	} else {
		server_refuse(c, 404, "Not Found");
	}
}

void server_start_kernel_end(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	const char *word;
	struct server_kernel *k = read_kernel(c, path, &word);
	if (!k)
		return;
	if (word[0])
		server_refuse(c, 404, "Not Found");
	else
		server_end_kernel(k, c);
}
