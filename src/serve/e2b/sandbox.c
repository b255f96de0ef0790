/*
 * The sandboxes of the front "e2b".
 *
 * A sandbox goes through these phases:
 *
 *     MAKING   its session is being made
 *     RUNNING  clients may use it
 *     PAUSED   its processes have got SIGSTOP; requests to it are refused
 *     ENDING   its session is being closed, then it is freed
 *
 * When its time is over, it is ended, or paused if its maker wanted that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* USE_MS: time between uses of a session by the front, at most. */
enum { SANDBOXES_MAX = 4096, LOOK_MS = 100, USE_MS = 120 * 1000 };

/* ---- the state ---- */

static void on_used(void *arg, const json_t *result, const struct err *err)
{
	bool *is_gone = arg;
	*is_gone = !result && (err->code == ERR_GONE || err->code == ERR_NOT_FOUND);
}

/* session.net without rules answers at once. */
bool e2b_use(const struct operation_context *context, const char *session, uint64_t idle_ms,
	uint64_t *used_ms)
{
	bool is_gone = false;
	const struct operation_listener listener = {.arg = &is_gone, .done = on_used};
	struct operation_call *call;
	uint64_t now_ms = e2b_now();
	if (now_ms < *used_ms + (idle_ms > 0 ? MIN(idle_ms / 3, (uint64_t)USE_MS) : USE_MS))
		return true;
	*used_ms = now_ms;
	json_t *params = json_need(json_pack("{s:s}", "session", session));
	operation_start(context, operation_find("session.net"), params, &listener, &call);
	json_decref(params);
	return !is_gone;
}

/* End or pause a sandbox whose time is over, and end one whose session has ended by itself. */
static void look(struct e2b_sandbox *s, uint64_t now_ms)
{
	bool is_late = s->phase == E2B_RUNNING && now_ms >= s->end_ms;
	if (s->phase != E2B_RUNNING && s->phase != E2B_PAUSED)
		return;
	if (is_late && s->is_paused_late)
		e2b_pause(s, s->is_paused_cold);
	else if (is_late || (s->last_ms > 0 && now_ms >= s->last_ms) ||
		!e2b_use(s->context, s->id, s->idle_ms, &s->used_ms))
		e2b_end(s, NULL);
}

static void on_look(uv_timer_t *clock)
{
	struct e2b *e = clock->data;
	struct e2b_sandbox *next;
	struct e2b_snapshot *following;
	uint64_t now_ms = e2b_now();
	for (struct e2b_sandbox *s = e->sandboxes; s; s = next) {
		next = s->next;
		look(s, now_ms);
	}
	for (struct e2b_snapshot *s = e->snapshots; s; s = following) {
		following = s->next;
		if (!e2b_use(s->context, s->session, s->idle_ms, &s->used_ms))
			e2b_end_snapshot(s, NULL);
	}
}

struct e2b *e2b_of(const struct front_call *c)
{
	struct e2b *e = c->state->own;
	if (e)
		return e;
	e = c->state->own = xnew(struct e2b);
	(void)uv_timer_init(c->context->loop, &e->clock);
	e->clock.data = e;
	timer_start(&e->clock, on_look, LOOK_MS, LOOK_MS);
	return e;
}

static void on_clock_closed(uv_handle_t *handle)
{
	struct e2b *e = handle->data;
	e->is_closed = true;
}

bool e2b_stop(struct front_state *state)
{
	struct e2b *e = state->own;
	struct e2b_sandbox *next;
	if (!e->is_closing)
		uv_close((uv_handle_t *)&e->clock, on_clock_closed);
	e->is_closing = true;
	for (struct e2b_sandbox *s = e->sandboxes; s; s = next) {
		next = s->next;
		if (s->phase != E2B_ENDING)
			e2b_end(s, NULL);
	}
	while (e->snapshots)
		e2b_end_snapshot(e->snapshots, NULL);
	if (e->sandboxes || e->n_snapshots > 0 || !e->is_closed)
		return true;
	free(take_ptr(state->own));
	return false;
}

/* ---- finding one ---- */

struct e2b_sandbox *e2b_find(const struct e2b *e, const char *id)
{
	for (struct e2b_sandbox *s = e->sandboxes; s; s = s->next)
		if ((s->phase == E2B_RUNNING || s->phase == E2B_PAUSED) && strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

struct e2b_sandbox *e2b_find_own(const struct front_call *c, const char *id)
{
	struct e2b_sandbox *s = e2b_find(e2b_of(c), id);
	return s && s->context->principal == c->context->principal ? s : NULL;
}

void e2b_answer_lost(struct front_call *c, const char *id)
{
	front_answer(c, 502,
		json_pack("{s:o, s:s, s:i}", "sandboxId", json_new_text(id, strlen(id)), "message",
			"The sandbox was not found", "code", 502));
}

const char *e2b_read_place(const struct front_call *c, unsigned *port)
{
	const struct host_site *site = http_site(c->x);
	const char *id = http_header(c->x, "E2b-Sandbox-Id");
	const char *number = http_header(c->x, "E2b-Sandbox-Port");
	uint64_t value = 0;
	struct err err;
	*port = site->port;
	if (site->port != 0)
		return site->session;
	if (number && num_parse_count(number, (struct num_range){1, UINT16_MAX}, &value, &err) == 0)
		*port = (unsigned)value;
	return id && number ? id : NULL;
}

/* Is the request for /health, which is open to all? What stands behind a "?" does not count. */
static bool is_health(const struct front_call *c)
{
	static const char health[] = "/health";
	const char *target = http_target(c->x);
	size_t n = strcspn(target, "?"), bytes = sizeof health - 1;
	return strcmp(http_method(c->x), "GET") == 0 && n >= bytes &&
		memcmp(target + n - bytes, health, bytes) == 0;
}

struct e2b_sandbox *e2b_enter(struct front_call *c, unsigned port)
{
	unsigned given;
	const char *id = e2b_read_place(c, &given);
	struct e2b_sandbox *s = id ? e2b_find(e2b_of(c), id) : NULL;
	const char *token = http_header(c->x, "X-Access-Token");
	const char *traffic = http_header(c->x, "E2B-Traffic-Access-Token");
	bool is_traffic = given == E2B_CODE_PORT && s && e2b_is_secret(s->traffic, traffic);
	bool is_open = is_health(c);
	if (!id) {
		e2b_refuse(c, 400,
			"missing header: E2b-Sandbox-Id and E2b-Sandbox-Port, or a host such as "
			"49983-ID.localhost");
		return NULL;
	}
	if (s && s->phase == E2B_PAUSED && s->resumes_itself &&
		(is_traffic || e2b_is_secret(s->token, token)))
		e2b_wake(s);
	if (!s || s->phase != E2B_RUNNING || (given != port && given != E2B_CODE_PORT)) {
		e2b_answer_lost(c, id);
		return NULL;
	}
	if (!is_open && !is_traffic && !e2b_is_secret(s->token, token)) {
		struct err err;
		(void)err_set(&err, ERR_AUTH,
			"unauthorized access, please provide a valid access token or method "
			"signing if supported");
		front_fail(c, &err);
		return NULL;
	}
	c->context = s->context;
	if (!is_open)
		http_set_context(c->x, s->context);
	return s;
}

/* ---- processes ---- */

static void free_process(struct e2b_process *p)
{
	json_decref(p->config);
	json_decref(p->tag);
	free(p);
}

void e2b_add_process(struct e2b_sandbox *s, struct e2b_process *p)
{
	p->next = s->processes;
	s->processes = p;
}

void e2b_drop_process(struct e2b_sandbox *s, const char *id)
{
	for (struct e2b_process **link = &s->processes; *link; link = &(*link)->next) {
		struct e2b_process *p = *link;
		if (strcmp(p->id, id) != 0)
			continue;
		*link = p->next;
		free_process(p);
		return;
	}
}

static void signal_all(struct e2b_sandbox *s, const char *name)
{
	for (const struct e2b_process *p = s->processes; p; p = p->next)
		operation_tell(s->context, "process.signal",
			json_need(json_pack("{s:s, s:s, s:s}", "session", s->id, "process", p->id,
				"signal", name)));
}

void e2b_kill_processes(struct e2b_sandbox *s)
{
	signal_all(s, "KILL");
}

void e2b_pause(struct e2b_sandbox *s, bool is_cold)
{
	s->phase = E2B_PAUSED;
	signal_all(s, is_cold ? "KILL" : "STOP");
}

void e2b_resume(struct e2b_sandbox *s)
{
	s->phase = E2B_RUNNING;
	signal_all(s, "CONT");
}

void e2b_wake(struct e2b_sandbox *s)
{
	e2b_resume(s);
	e2b_set_time(s, E2B_TIMEOUT_S);
}

void e2b_set_time(struct e2b_sandbox *s, uint64_t seconds)
{
	s->end_ms = e2b_now() + seconds * 1000;
	if (s->last_ms > 0)
		s->end_ms = MIN(s->end_ms, s->last_ms);
}

/* ---- the beginning and the end ---- */

static void forget(struct e2b_sandbox *s)
{
	struct e2b_sandbox **link = &s->e2b->sandboxes;
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	s->e2b->n_sandboxes--;
	e2b_drop_watchers(s);
	while (s->processes) {
		struct e2b_process *p = s->processes;
		s->processes = p->next;
		free_process(p);
	}
	json_t *const parts[] = {s->template, s->metadata, s->env, s->network, s->rules, s->host,
		s->contexts, s->samples};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		json_decref(parts[i]);
	free(s);
}

/* The session is closed; one that is gone is closed, too. */
static void on_closed(void *arg, const json_t *result, const struct err *err)
{
	struct e2b_sandbox *s = arg;
	struct front_call *c = s->caller;
	(void)result;
	(void)err;
	forget(s);
	if (c)
		front_answer_empty(c);
}

void e2b_end(struct e2b_sandbox *s, struct front_call *c)
{
	const struct operation_listener listener = {.arg = s, .done = on_closed};
	bool is_made = s->phase != E2B_MAKING;
	s->phase = E2B_ENDING;
	if (!is_made) /* on_made() comes back */
		return;
	s->caller = c;
	json_t *params = json_need(json_pack("{s:s}", "session", s->id));
	operation_start(s->context, operation_find("session.close"), params, &listener, &s->call);
	json_decref(params);
}

struct e2b_sandbox *e2b_new(struct front_call *c)
{
	struct e2b *e = e2b_of(c);
	struct e2b_sandbox *s = xnew(struct e2b_sandbox);
	s->e2b = e;
	s->context = c->context;
	s->phase = E2B_MAKING;
	e2b_make_id(s->id, sizeof s->id, "i");
	e2b_make_id(s->token, sizeof s->token, "");
	e2b_make_id(s->traffic, sizeof s->traffic, "");
	s->next = e->sandboxes;
	e->sandboxes = s;
	e->n_sandboxes++;
	return s;
}

bool e2b_has_left(const struct front_call *c)
{
	return !c->x || http_has_left(c->x);
}

/* What e2b_make() waits for. */
struct making {
	struct e2b_sandbox *s;
	struct front_call *c;
	void (*made)(struct front_call *c, struct e2b_sandbox *s, const struct err *err);
};

static void on_made(void *arg, const json_t *result, const struct err *err)
{
	struct making *m = arg;
	struct e2b_sandbox *s = m->s;
	const struct err gone = {.code = ERR_INTERRUPTED, .msg = "the engine is being stopped"};
	if (!result) {
		forget(s);
		m->made(m->c, NULL, err);
	} else if (s->phase == E2B_ENDING || e2b_has_left(m->c)) {
		/* Nobody knows its id, or the engine ends. */
		s->phase = E2B_RUNNING;
		e2b_end(s, NULL);
		m->made(m->c, NULL, &gone);
	} else {
		s->phase = E2B_RUNNING;
		s->idle_ms = (uint64_t)json_get_int(result, "idle_ms");
		if (json_get_int(result, "ttl_ms") > 0)
			s->last_ms = (uint64_t)(json_get_int(result, "created_ms") +
				json_get_int(result, "ttl_ms"));
		if (s->last_ms > 0)
			s->end_ms = MIN(s->end_ms, s->last_ms);
		m->made(m->c, s, NULL);
	}
	free(m);
}

void e2b_make(struct front_call *c, struct e2b_sandbox *s, const char *operation, json_t *params,
	void (*made)(struct front_call *c, struct e2b_sandbox *s, const struct err *err))
{
	struct making *m = xnew(struct making);
	const struct operation_listener listener = {.arg = m, .done = on_made};
	struct err err;
	*m = (struct making){s, c, made};
	if (s->e2b->n_sandboxes > SANDBOXES_MAX || s->e2b->is_closing) {
		(void)err_fail(&err, ERR_QUOTA, "kill some", "%u sandboxes, limit %d",
			s->e2b->n_sandboxes - 1, SANDBOXES_MAX);
		on_made(m, NULL, &err);
	} else {
		operation_start(c->context, operation_find(operation), params, &listener, &s->call);
	}
	json_decref(params);
}
