/*
 * Watches of the front "e2b": what changes in a directory of a sandbox.
 *
 * A client gets the changes as a stream, or makes a watcher and asks for its events from time to
 * time. Each watch is a call of path.watch. That of a watcher outlives the request, and its events
 * wait here until the client asks. If there are too many, or the kernel has lost some, the next
 * request fails with "data_loss", once, so that the client knows that it must look for itself. A
 * stream then ends with that error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/files.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE "{\"keepalive\":{}}"
#define LOST	  "events were lost, as there were too many: list the directory"
#define HOME	  "/home/user"

enum { WATCHERS_MAX = 16, EVENTS_MAX = 4096, WATCHER_BYTES = 21 };

struct e2b_watcher {
	struct e2b_watcher *next;
	struct e2b_sandbox *s;	     /* NULL after it was removed */
	struct operation_call *call; /* NULL after it has ended */
	struct front_call *maker;    /* the request that waits until it watches; or NULL */
	char id[WATCHER_BYTES];
	json_t *events;
	bool has_lost, has_ended;
	struct err err; /* why it has ended */
};

/* ---- requests and events ---- */

static json_t *watch_params(struct front_call *c, const struct e2b_sandbox *s)
{
	const char *path = json_get_text(c->body, "path");
	json_t *params = json_need(json_object());
	json_put_text(params, "session", s->id);
	json_put_text(params, "path", path[0] ? path : HOME);
	json_put_bool(params, "recursive", json_get_bool(c->body, "recursive"));
	json_put_bool(params, "entries",
		json_get_bool(c->body, "includeEntry") || json_get_bool(c->body, "include_entry"));
	json_put_bool(params, "stream", true);
	c->kept = json_need(
		json_pack("{s:s, s:O}", "sandbox", s->id, "path", json_object_get(params, "path")));
	return params;
}

/* Return the FilesystemEvent for an event of path.watch; NULL if it is none. Owns: the caller
 * decrefs. */
static json_t *change_json(const json_t *event)
{
	static const struct {
		const char *type, *name;
	} types[] = {{"create", "EVENT_TYPE_CREATE"}, {"write", "EVENT_TYPE_WRITE"},
		{"remove", "EVENT_TYPE_REMOVE"}, {"rename", "EVENT_TYPE_RENAME"},
		{"chmod", "EVENT_TYPE_CHMOD"}};
	const json_t *entry = json_object_get(event, "entry");
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (strcmp(json_get_text(event, "type"), types[i].type) != 0)
			continue;
		json_t *out = json_need(json_object());
		json_put_shared(out, "name", json_object_get(event, "name"));
		json_put_text(out, "type", types[i].name);
		if (entry)
			json_put_new(out, "entry", e2b_entry_json(entry));
		return out;
	}
	return NULL;
}

static bool is_event(const json_t *event, const char *name)
{
	return strcmp(json_get_text(event, "event"), name) == 0;
}

/* Write why a watch could not begin, or has ended. */
static const char *say(
	char out[ERR_MSG_BYTES + ERR_HINT_BYTES], const struct front_call *c, const struct err *err)
{
	const char *path = json_get_text(c->kept, "path");
	if (err->code == ERR_NOT_FOUND)
		snprintf(out, ERR_MSG_BYTES, "path %.180s not found: no such file or directory",
			path);
	else if (err->code == ERR_USAGE && strstr(err->msg, "not a directory"))
		snprintf(out, ERR_MSG_BYTES, "path %.180s not a directory", path);
	else
		snprintf(out, ERR_MSG_BYTES + ERR_HINT_BYTES, "%s%s%s", err->msg,
			err->hint[0] ? ": " : "", err->hint);
	return out;
}

/* ---- WatchDir ---- */

static void on_stream_event(struct front_call *c, const json_t *event)
{
	struct e2b_stream *s = c->own;
	bool is_sent = true;
	json_t *change = is_event(event, "change") ? change_json(event) : NULL;
	if (is_event(event, "watching"))
		is_sent = e2b_stream_send(s, json_pack("{s:{}}", "start"));
	else if (change)
		is_sent = e2b_stream_send(s, json_pack("{s:o}", "filesystem", change));
	if (is_event(event, "missed"))
		json_put_bool(c->kept, "lost", true);
	if (!is_sent || is_event(event, "missed"))
		front_cancel(c); /* on_stream_ended() follows */
}

static const struct front_events stream_events = {.event = on_stream_event};

static void on_stream_ended(struct front_call *c, const json_t *result, const struct err *err)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES];
	struct e2b_stream *s = c->own;
	if (json_get_bool(c->kept, "late"))
		e2b_stream_end(s, "deadline_exceeded", "context deadline exceeded");
	else if (json_get_bool(c->kept, "lost"))
		e2b_stream_end(s, "data_loss", LOST);
	else if (result || err->code == ERR_GONE || err->code == ERR_BOX ||
		err->code == ERR_INTERRUPTED)
		e2b_stream_cut(s);
	else
		e2b_stream_end(s, e2b_path_word(err), say(text, c, err));
}

static void on_late(struct front_call *c, struct e2b_stream *s)
{
	(void)s;
	json_put_bool(c->kept, "late", true);
	front_cancel(c);
}

void e2b_start_watch_dir(struct front_call *c, struct e2b_sandbox *s)
{
	json_t *params = watch_params(c, s);
	c->own = e2b_stream_open(c, KEEPALIVE, on_late);
	front_follow(c, "path.watch", params, &stream_events, on_stream_ended);
}

/* ---- watchers ---- */

static void free_watcher(struct e2b_watcher *w)
{
	json_decref(w->events);
	free(w);
}

static void unlink_watcher(struct e2b_watcher *w)
{
	struct e2b_watcher **link = &w->s->watchers;
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	w->s = NULL;
}

/* Free a watcher that is in no list, now or when its call has ended. */
static void release(struct e2b_watcher *w)
{
	if (w->call)
		operation_cancel(w->call);
	else
		free_watcher(w);
}

static void drop(struct e2b_watcher *w)
{
	unlink_watcher(w);
	release(w);
}

void e2b_drop_watchers(struct e2b_sandbox *s)
{
	while (s->watchers) {
		struct e2b_watcher *w = s->watchers;
		s->watchers = w->next;
		w->s = NULL;
		release(w);
	}
}

static void on_watching(struct e2b_watcher *w)
{
	struct front_call *c = take_ptr(w->maker);
	bool is_wanted = c && c->x;
	if (c)
		front_answer(c, 200, json_pack("{s:s}", "watcherId", w->id));
	if (!is_wanted && w->s)
		drop(w);
}

static void on_event(void *arg, const json_t *event)
{
	struct e2b_watcher *w = arg;
	json_t *change = is_event(event, "change") ? change_json(event) : NULL;
	bool is_full = json_array_size(w->events) >= EVENTS_MAX;
	w->has_lost |= is_event(event, "missed") || (change && is_full);
	if (change && !is_full)
		json_add_new(w->events, change);
	else
		json_decref(change);
	if (is_event(event, "watching"))
		on_watching(w);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct e2b_watcher *w = arg;
	struct front_call *c = take_ptr(w->maker);
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES];
	bool is_removed = !w->s || c;
	if (c && result)
		e2b_answer_lost(c, json_get_text(c->kept, "sandbox"));
	else if (c && e2b_is_there(c, err))
		e2b_rpc_refuse(c, e2b_path_word(err), "%s", say(text, c, err));
	w->has_ended = true;
	if (err)
		w->err = *err;
	if (w->s && is_removed)
		unlink_watcher(w);
	if (is_removed)
		free_watcher(w);
}

void e2b_start_create_watcher(struct front_call *c, struct e2b_sandbox *s)
{
	unsigned n = 0;
	for (const struct e2b_watcher *w = s->watchers; w; w = w->next)
		n++;
	if (n >= WATCHERS_MAX) {
		e2b_rpc_refuse(c, "resource_exhausted", "the sandbox has %d watchers: remove some",
			WATCHERS_MAX);
		return;
	}
	struct e2b_watcher *w = xnew(struct e2b_watcher);
	const struct operation_listener listener = {.arg = w, .event = on_event, .done = on_done};
	json_t *params = watch_params(c, s);
	w->s = s;
	w->maker = c;
	w->events = json_need(json_array());
	w->next = s->watchers;
	s->watchers = w;
	e2b_make_id(w->id, sizeof w->id, "w");
	operation_start(s->context, operation_find("path.watch"), params, &listener, &w->call);
	json_decref(params);
}

/* Find the watcher that the request names. Returns: NULL, and the request was answered, if there
 * is none. */
static struct e2b_watcher *find(struct front_call *c, struct e2b_sandbox *s)
{
	const char *id = json_get_text(c->body, "watcherId");
	if (!id[0])
		id = json_get_text(c->body, "watcher_id");
	for (struct e2b_watcher *w = s->watchers; w; w = w->next)
		if (strcmp(w->id, id) == 0 && !w->maker)
			return w;
	e2b_rpc_refuse(c, "not_found", "watcher with id %.64s not found", id);
	return NULL;
}

void e2b_start_watcher_events(struct front_call *c, struct e2b_sandbox *s)
{
	struct e2b_watcher *w = find(c, s);
	if (!w)
		return;
	if (w->has_lost) {
		w->has_lost = false;
		e2b_rpc_refuse(c, "data_loss", LOST);
		return;
	}
	if (w->has_ended && json_array_size(w->events) == 0) {
		e2b_rpc_refuse(c, "internal", "the watcher has ended: %s", w->err.msg);
		return;
	}
	json_t *events = w->events;
	w->events = json_need(json_array());
	front_answer(c, 200, json_pack("{s:o}", "events", events));
}

void e2b_start_remove_watcher(struct front_call *c, struct e2b_sandbox *s)
{
	struct e2b_watcher *w = find(c, s);
	if (!w)
		return;
	drop(w);
	front_answer(c, 200, json_object());
}
