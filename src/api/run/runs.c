/*
 * The runs that an engine remembers.
 *
 * Each step that a client starts is a run. The runs of a session are in a list, the newest last. So
 * a client that lost its connection can later get the record, and read the output in parts. This
 * takes memory, so there are three limits. Whenever a run has grown, make_room() enforces them:
 *
 *   RUNS_PER_SESSION    runs of a session: the oldest that is done is removed
 *   RUNS_SESSION_BYTES  memory of a session's runs: the oldest that is done is dropped
 *   RUNS_TOTAL_BYTES    memory of all runs: the oldest that is done is dropped
 *
 * The last limit affects all callers. So runs of the caller whose run has grown are dropped before
 * runs of other callers. To drop a run means to delete its output, value and code, and to keep only
 * how it ended. A run that has not ended is never dropped; each of its streams has at most
 * RUN_LIVE_BYTES.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run/discard.h"
#include "api/run/inside.h"
#include "base/json.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_BYTES = 64, SESSIONS_MIN = 16 };

struct session_runs {
	char session[REGISTRY_ID_BYTES];
	struct run *first, *last;
	unsigned n;
	size_t bytes;
};

/* ---- references to a run, and its state ---- */

void run_hold(struct run *run)
{
	run->n_holds++;
}

void run_release(struct run *run)
{
	if (--run->n_holds > 0)
		return;
	step_order_let_go(run->order);
	json_decref(run->record);
	json_decref(run->displays);
	for (int i = 0; i < 2; i++)
		buf_done(&run->out[i]);
	free(run);
}

bool run_is_done(const struct run *run)
{
	return run->is_done;
}

const char *run_id(const struct run *run)
{
	return run->id;
}

/* ---- the list of runs of each session ---- */

static struct session_runs *find_session(struct runs *r, const char *session)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->sessions[i].session, session) == 0)
			return &r->sessions[i];
	return NULL;
}

static struct session_runs *get_session(struct runs *r, const char *session)
{
	struct session_runs *of = find_session(r, session);
	if (of)
		return of;
	if (r->n == r->max) {
		size_t max = MAX(2 * r->max, (size_t)SESSIONS_MIN);
		struct session_runs *sessions = realloc(r->sessions, max * sizeof *sessions);
		if (!sessions)
			xdie("the runs of a session");
		r->sessions = sessions;
		r->max = max;
	}
	of = &r->sessions[r->n++];
	*of = (struct session_runs){.n = 0};
	snprintf(of->session, sizeof of->session, "%s", session);
	return of;
}

static void count(struct run *run, size_t bytes)
{
	struct session_runs *of = run->is_listed ? find_session(run->runs, run->session) : NULL;
	if (!of)
		return;
	of->bytes += bytes - run->bytes;
	run->runs->bytes += bytes - run->bytes;
	run->bytes = bytes;
}

void run_unlist(struct run *run)
{
	struct session_runs *of = find_session(run->runs, run->session);
	count(run, 0);
	if (run->prev)
		run->prev->next = run->next;
	else
		of->first = run->next;
	if (run->next)
		run->next->prev = run->prev;
	else
		of->last = run->prev;
	of->n--;
	run->is_listed = false;
	run->next = run->prev = NULL;
	run_release(run);
}

void run_list(struct run *run)
{
	struct session_runs *of = get_session(run->runs, run->session);
	run->prev = of->last;
	*(of->last ? &of->last->next : &of->first) = run;
	of->last = run;
	of->n++;
	run->is_listed = true;
	run_hold(run);
}

void runs_forget(void *runs, const char *session)
{
	struct runs *r = runs;
	struct session_runs *of = find_session(r, session);
	if (!of)
		return;
	size_t bytes = of->bytes;
	json_t *records = json_array();
	for (struct run *run = of->first, *next; run; run = next) {
		next = run->next;
		(void)json_array_append(records, run->record);
		(void)json_array_append(records, run->displays);
		run_unlist(run);
	}
	*of = r->sessions[--r->n];
	discard(r->loop, records, bytes);
}

struct runs *runs_open(uv_loop_t *loop)
{
	struct runs *r = xnew(struct runs);
	r->loop = loop;
	return r;
}

void runs_close(struct runs *r)
{
	if (!r)
		return;
	r->loop = NULL; /* do not use threads: the loop may be closed already */
	while (r->n > 0)
		runs_forget(r, r->sessions[0].session);
	free(r->sessions);
	free(r);
}

/* ---- limits of memory: dropping old runs ---- */

/* Estimate the memory of @json. */
size_t run_json_bytes(const json_t *json)
{
	size_t n = NODE_BYTES, i;
	const char *key;
	json_t *value;
	if (json_is_string(json))
		return n + json_string_length(json);
	json_object_foreach(json_unconst(json), key, value) n +=
		strlen(key) + run_json_bytes(value);
	if (json_is_array(json))
		json_array_foreach(json, i, value) n += run_json_bytes(value);
	return n;
}

size_t run_bytes(const struct run *run)
{
	size_t n = sizeof *run + run->out[0].bytes + run->out[1].bytes;
	if (run->order)
		n += run->order->code_bytes;
	if (run->record)
		n += run_json_bytes(run->record);
	return run->displays ? n + run_json_bytes(run->displays) : n;
}

/* Drop a run that is done: delete its output, value and code, and keep only how it ended. */
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
		json_put_text(rest, i ? "stderr" : "stdout", "");
	(void)json_object_set_new(rest, "displays", json_array());
	(void)json_object_set_new(rest, "files", json_array());
	(void)json_object_set_new(rest, "truncated", json_pack("{s:b}", "dropped", true));
	if (run->record) {
		discard(run->runs->loop, run->record, run->bytes);
		run->record = rest;
	} else {
		json_decref(rest);
	}
	step_order_let_go(take_ptr(run->order));
	run->is_dropped = true;
	count(run, run_bytes(run));
}

/* Choose the next run to drop. Only a run that is done, and not dropped yet, can be chosen. Return
 * the oldest such run of @owner. If @owner has no such run, return the oldest of all owners, or
 * NULL. */
static struct run *oldest(struct runs *r, const struct registry *owner)
{
	struct run *own = NULL, *any = NULL;
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->sessions[i].first; run; run = run->next) {
			if (!run->is_done || run->is_dropped)
				continue;
			if (!any || run->number < any->number)
				any = run;
			if (run->registry == owner && (!own || run->number < own->number))
				own = run;
		}
	return own ? own : any;
}

static struct run *oldest_of(const struct session_runs *of, bool is_to_drop)
{
	struct run *run = of->first;
	while (run && (!run->is_done || (is_to_drop && run->is_dropped)))
		run = run->next;
	return run;
}

static void make_room(struct run *run)
{
	struct runs *r = run->runs;
	struct run *old;
	struct session_runs *of = find_session(r, run->session);
	while (of && of->n > RUNS_PER_SESSION && (old = oldest_of(of, false)))
		run_unlist(old);
	while (of && of->bytes > RUNS_SESSION_BYTES && (old = oldest_of(of, true)))
		drop(old);
	while (r->bytes > RUNS_TOTAL_BYTES && (old = oldest(r, run->registry)))
		drop(old);
}

void run_count(struct run *run, size_t bytes)
{
	bool is_more = bytes > run->bytes;
	count(run, bytes);
	if (is_more && run->is_listed)
		make_room(run);
}

/* ---- finding a run ---- */

/* Return whether a caller may see the run. It may if @registry, the registry as the caller sees
 * it, shows the session of the run. */
static bool is_visible(const struct run *run, struct registry *registry)
{
	struct registry_identity identity;
	struct err err;
	return registry_identify(registry, run->session, &identity, &err) == 0;
}

struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err)
{
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->sessions[i].first; run; run = run->next)
			if (strcmp(run->id, id) == 0 && is_visible(run, registry))
				return run;
	(void)err_set(err, ERR_NOT_FOUND, "no run %.*s", (int)utf8_cut(id, strlen(id), 64), id);
	(void)err_hint(
		err, "the last %d runs of a session are kept until it is closed", RUNS_PER_SESSION);
	return NULL;
}

struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err)
{
	struct registry_identity identity;
	if (registry_identify(registry, session, &identity, err) < 0)
		return NULL;
	struct session_runs *of = find_session(r, identity.session);
	for (struct run *run = of ? of->last : NULL; run; run = run->prev)
		if (strncmp(param_text(run->record, "step", ""), step, strlen(step)) == 0)
			return run;
	(void)err_set(err, ERR_NOT_FOUND, "no run of step %.*s in %.80s",
		(int)utf8_cut(step, strlen(step), 72), step, session);
	(void)err_hint(err, "the last %d runs of a session are kept; `session.log` has all steps",
		RUNS_PER_SESSION);
	return NULL;
}
