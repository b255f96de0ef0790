/*
 * The boxes of the front "open-terminal".
 *
 * A user of a caller has one box: a session, which is made at the user's first request. A header
 * X-Terminal-Context-Id gives each context of the user a box of its own. The ids are not used as
 * names: the key of a box is a digest of them, so that an id may have any characters.
 *
 * The engine ends the session when it was not used for --front-idle; programs and terminals count
 * as use while they run. The front learns of it at the next request, and makes a new box.
 *
 *     MAKING  its session is being made; requests wait
 *     LIVE    requests use it
 *     ENDING  its session is being closed, then it is freed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/openterminal/socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ALONE_MS: time after which a terminal ends to which nobody has connected. */
enum { BOXES_MAX = 4096, LOOK_MS = 1000, ALONE_MS = 60000 };

struct ot_waiter {
	struct ot_waiter *next;
	struct front_call *c;
	void (*then)(struct front_call *c);
};

uint64_t ot_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the state ---- */

void ot_drop_terminal(struct ot_box *b, const char *id)
{
	const json_t *terminal = json_object_get(b->terminals, id);
	if (!terminal)
		return;
	operation_tell(b->context, "process.signal",
		json_need(json_pack("{s:s, s:O, s:s}", "session", b->session, "process",
			json_object_get(terminal, "process"), "signal", "KILL")));
	(void)json_object_del(b->terminals, id);
}

static void drop_lonely(struct ot_box *b)
{
	const char *id;
	json_t *terminal;
	void *next;
	int64_t now_ms = (int64_t)ot_now();
	json_object_foreach_safe(b->terminals, next, id, terminal)
	{
		if (!json_get_bool(terminal, "connected") &&
			now_ms - json_get_int(terminal, "since_ms") > ALONE_MS)
			ot_drop_terminal(b, id);
	}
}

static void on_look(uv_timer_t *clock)
{
	struct ot *o = clock->data;
	ot_look_sockets(o, false);
	for (struct ot_box *b = o->boxes; b; b = b->next)
		if (b->phase == OT_LIVE)
			drop_lonely(b);
}

static struct ot *state_of(const struct front_call *c)
{
	struct ot *o = c->state->own;
	if (o)
		return o;
	o = c->state->own = xnew(struct ot);
	o->idle_ms = c->state->idle_ms;
	(void)uv_timer_init(c->context->loop, &o->clock);
	o->clock.data = o;
	timer_start(&o->clock, on_look, LOOK_MS, LOOK_MS);
	return o;
}

static void forget(struct ot_box *b)
{
	struct ot_box **link = &b->ot->boxes;
	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	b->ot->n_boxes--;
	json_decref(b->chats);
	json_decref(b->processes);
	json_decref(b->terminals);
	free(b);
}

static void on_closed(void *arg, const json_t *result, const struct err *err)
{
	(void)result; /* a session that is gone is closed, too */
	(void)err;
	forget(arg);
}

static void end(struct ot_box *b)
{
	const struct operation_listener listener = {.arg = b, .done = on_closed};
	bool is_made = b->phase == OT_LIVE;
	b->phase = OT_ENDING;
	if (!is_made) /* on_made() comes back */
		return;
	json_t *params = json_need(json_pack("{s:s}", "session", b->session));
	operation_start(b->context, operation_find("session.close"), params, &listener, &b->call);
	json_decref(params);
}

static void on_clock_closed(uv_handle_t *handle)
{
	struct ot *o = handle->data;
	o->is_closed = true;
}

bool ot_stop(struct front_state *state)
{
	struct ot *o = state->own;
	struct ot_box *next;
	if (!o->is_closing)
		uv_close((uv_handle_t *)&o->clock, on_clock_closed);
	o->is_closing = true;
	ot_look_sockets(o, true);
	for (struct ot_box *b = o->boxes; b; b = next) {
		next = b->next;
		if (b->phase != OT_ENDING)
			end(b);
	}
	if (o->boxes || o->sockets || !o->is_closed)
		return true;
	free(take_ptr(state->own));
	return false;
}

/* ---- finding one ---- */

struct ot_box *ot_find(const struct front_call *c)
{
	const struct ot *o = c->state->own;
	const char *session = json_get_text(c->kept, "session");
	for (struct ot_box *b = o ? o->boxes : NULL; b; b = b->next)
		if (b->phase == OT_LIVE && strcmp(b->session, session) == 0)
			return b;
	return NULL;
}

struct ot_box *ot_find_terminal(const struct front_state *state, const char *id)
{
	const struct ot *o = state->own;
	for (struct ot_box *b = o ? o->boxes : NULL; b; b = b->next)
		if (b->phase == OT_LIVE && json_object_get(b->terminals, id))
			return b;
	return NULL;
}

static struct ot_box *find_key(const struct front_call *c, const char *key)
{
	for (struct ot_box *b = state_of(c)->boxes; b; b = b->next)
		if (b->phase != OT_ENDING && b->context->principal == c->context->principal &&
			strcmp(b->key, key) == 0)
			return b;
	return NULL;
}

/* ---- the beginning ---- */

/* The box is there: go on with the request. */
static void go_on(struct ot_waiter *w, struct ot_box *b)
{
	struct front_call *c = w->c;
	const char *chat = json_get_text(c->kept, "chat");
	const char *cwd = json_string_value(json_object_get(b->chats, chat));
	json_put_text(c->kept, "session", b->session);
	json_put_text(c->kept, "cwd", cwd && chat[0] ? cwd : OT_HOME);
	void (*then)(struct front_call * c) = w->then;
	free(w);
	if (!ot_is_left(c))
		then(c);
}

static void fail_waiter(struct ot_waiter *w, const struct err *err)
{
	struct front_call *c = w->c;
	free(w);
	if (!ot_is_left(c))
		front_fail(c, err);
}

static void on_made(void *arg, const json_t *result, const struct err *err)
{
	struct ot_box *b = arg;
	struct ot_waiter *w = take_ptr(b->waiters), *next;
	const struct err gone = {.code = ERR_INTERRUPTED, .msg = "the engine is being stopped"};
	bool is_ending = b->phase == OT_ENDING;
	b->phase = OT_LIVE;
	for (; w; w = next) {
		next = w->next;
		if (result && !is_ending)
			go_on(w, b);
		else
			fail_waiter(w, result ? &gone : err);
	}
	if (!result)
		forget(b);
	else if (is_ending)
		end(b);
}

static void make(struct ot_waiter *w, const char *key)
{
	struct front_call *c = w->c;
	struct ot *o = state_of(c);
	struct err err;
	if (o->n_boxes >= BOXES_MAX || o->is_closing) {
		(void)err_set(&err, ERR_QUOTA, "%u boxes, limit %d", o->n_boxes, BOXES_MAX);
		fail_waiter(w, &err);
		return;
	}
	struct ot_box *b = xnew(struct ot_box);
	char prefix[32];
	snprintf(b->key, sizeof b->key, "%s", key);
	snprintf(prefix, sizeof prefix, "ot-%.16s-", key);
	id_make(b->session, sizeof b->session, prefix);
	b->ot = o;
	b->context = c->context;
	b->chats = json_need(json_object());
	b->processes = json_need(json_object());
	b->terminals = json_need(json_object());
	b->waiters = w;
	b->next = o->boxes;
	o->boxes = b;
	o->n_boxes++;
	json_t *params = json_need(json_pack("{s:s, s:s, s:I}", "name", b->session, "runtime",
		"shell", "idle_ms", (json_int_t)o->idle_ms));
	front_box(c, params, true);
	const struct operation_listener listener = {.arg = b, .done = on_made};
	operation_start(c->context, operation_find("session.create"), params, &listener, &b->call);
	json_decref(params);
}

/* Is @session a box of this front that an engine has left behind which could not close it? */
static bool is_left_behind(const json_t *session)
{
	static const char digits[] = "0123456789abcdef";
	const char *name = json_get_text(session, "name");
	return strcmp(json_get_text(session, "state"), "stored") == 0 &&
		strlen(name) == OT_SESSION_BYTES - 1 && strncmp(name, "ot-", 3) == 0 &&
		strspn(name + 3, digits) == 16 && name[19] == '-';
}

static void make_swept(struct front_call *c, const json_t *result, const struct err *err);

/* Make a box, when the caller's boxes that were left behind are closed: they count towards quotas.
 */
static void begin(struct ot_waiter *w, const char *key)
{
	struct ot *o = state_of(w->c);
	bool is_swept = false;
	for (unsigned i = 0; i < OT_SWEPT_MAX; i++)
		is_swept |= o->swept[i] == w->c->context;
	if (is_swept) {
		make(w, key);
		return;
	}
	o->swept[o->n_swept++ % OT_SWEPT_MAX] = w->c->context;
	w->c->own = w;
	front_operate(w->c, "session.list", json_object(), make_swept);
}

/* Go on with a box that another request may have made meanwhile, or make one. */
static void join(struct ot_waiter *w, const char *key)
{
	struct ot_box *b = find_key(w->c, key);
	if (b && b->phase == OT_LIVE) {
		go_on(w, b);
	} else if (b) {
		w->next = b->waiters;
		b->waiters = w;
	} else {
		begin(w, key);
	}
}

/* The sessions are listed, or one is closed: close the next one. */
static void make_swept(struct front_call *c, const json_t *result, const struct err *err)
{
	json_t *stale = json_object_get(c->kept, "stale"), *session;
	char key[OT_KEY_BYTES];
	size_t i;
	(void)err;
	if (!stale) {
		stale = json_need(json_array());
		json_array_foreach(json_object_get(result, "sessions"), i,
			session) if (is_left_behind(session))
			json_add_shared(stale, json_object_get(session, "session"));
		json_put_new(c->kept, "stale", stale);
	}
	size_t n = json_array_size(stale);
	if (n > 0) {
		json_t *params =
			json_need(json_pack("{s:O}", "session", json_array_get(stale, n - 1)));
		(void)json_array_remove(stale, n - 1);
		front_operate(c, "session.close", params, make_swept);
		return;
	}
	snprintf(key, sizeof key, "%s", json_get_text(c->kept, "key"));
	join(take_ptr(c->own), key);
}

/* Is the session still there? If it is not, the user gets a new one. */
static void on_looked(struct front_call *c, const json_t *result, const struct err *err)
{
	struct ot_waiter *w = take_ptr(c->own);
	struct ot_box *b = ot_find(c);
	const char *state = json_get_text(result, "state");
	char key[OT_KEY_BYTES];
	(void)err;
	bool is_there = strcmp(state, "idle") == 0 || strcmp(state, "working") == 0;
	snprintf(key, sizeof key, "%s", json_get_text(c->kept, "key"));
	if (b && is_there) {
		/* Any request is a use of the box, also one that only reads what is known of it. */
		operation_tell(b->context, "session.net", ot_params(c));
		go_on(w, b);
		return;
	}
	if (b)
		end(b);
	join(w, key);
}

static void enter(struct front_call *c, void (*then)(struct front_call *c), const char *key)
{
	struct ot_box *b = find_key(c, key);
	struct ot_waiter *w = xnew(struct ot_waiter);
	*w = (struct ot_waiter){.c = c, .then = then};
	json_put_text(c->kept, "key", key);
	if (!b) {
		begin(w, key);
	} else if (b->phase == OT_MAKING) {
		w->next = b->waiters;
		b->waiters = w;
	} else {
		c->own = w;
		json_put_text(c->kept, "session", b->session);
		front_operate(c, "session.get", ot_params(c), on_looked);
	}
}

/* Return the header @name, "" if it is missing; NULL: it is no id. */
static const char *read_id(const struct front_call *c, const char *name)
{
	const char *value = http_header(c->x, name);
	if (!value || !value[0])
		return "";
	return ot_is_id(value) ? value : NULL;
}

void ot_enter(struct front_call *c, void (*then)(struct front_call *c))
{
	char key[OT_KEY_BYTES];
	json_t *query = NULL;
	struct err err;
	const char *user = read_id(c, "X-User-Id"), *chat = read_id(c, "X-Session-Id");
	const char *place = read_id(c, "X-Terminal-Context-Id");
	if (!user || !chat || !place) {
		ot_refuse(c, 400, "%s is not an id: up to %d bytes of text",
			!user	       ? "X-User-Id"
				: chat ? "X-Terminal-Context-Id"
				       : "X-Session-Id",
			OT_ID_BYTES);
		return;
	}
	if (ot_read_query(http_target(c->x), &query, &err) < 0) {
		ot_refuse(c, 400, "%s", err.msg);
		return;
	}
	const struct digest_part parts[] = {{user, strlen(user)}, {place, strlen(place)}};
	digest_parts(key, parts, ARRAY_LEN(parts));
	c->kept = json_need(json_pack("{s:o}", "query", query));
	json_put_text(c->kept, "chat", chat);
	json_put_text(c->kept, "user", user);
	enter(c, then, key);
}
