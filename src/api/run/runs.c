/* The book: shelves, room, finding. SPDX-License-Identifier: Apache-2.0 */
#include "api/run/discard.h"
#include "api/run/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_BYTES = 64, SHELVES_MIN = 16 };

struct shelf {
	char session[REGISTRY_ID_BYTES];
	struct run *first, *last;
	unsigned n;
	size_t bytes;
};

/* ---- runs ---- */

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
	snprintf(shelf->session, sizeof shelf->session, "%s", session);
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

void run_unshelve(struct run *run)
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

int run_shelve(struct run *run)
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
	size_t bytes = shelf->bytes;
	json_t *records = json_array();
	while (shelf->first) {
		struct run *run = shelf->first;
		(void)json_array_append(records, run->record);
		(void)json_array_append(records, run->displays);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the shelf */
		run_unshelve(run);
	}
	*shelf = r->shelves[--r->n];
	discard(r->loop, records, bytes);
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
	r->loop = NULL; /* it may have ended */
	while (r->n > 0)
		runs_forget(r, r->shelves[0].session);
	free(r->shelves);
	free(r);
}

/* ---- room ---- */

/* About what it holds in memory. */
size_t run_json_bytes(const json_t *json)
{
	size_t n = NODE_BYTES, i;
	const char *key;
	json_t *value;
	if (json_is_string(json))
		return n + json_string_length(json);
	json_object_foreach((json_t *)(uintptr_t)json, key, value) n +=
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
		discard(run->runs->loop, run->record, run->bytes);
		run->record = rest;
	} else {
		json_decref(rest);
	}
	step_order_let_go(take_ptr(run->order));
	run->is_dropped = true;
	count(run, run_bytes(run));
}

/* The oldest one that is done and holds what can be dropped; of @owner, when there is one. */
static struct run *oldest(struct runs *r, const struct registry *owner)
{
	struct run *own = NULL, *any = NULL;
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->shelves[i].first; run; run = run->next) {
			if (!run->is_done || run->is_dropped)
				continue;
			if (!any || run->number < any->number)
				any = run;
			if (run->registry == owner && (!own || run->number < own->number))
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

static void make_room(struct run *run)
{
	struct runs *r = run->runs;
	struct run *old;
	struct shelf *shelf = find_shelf(r, run->session);
	while (shelf && shelf->n > RUNS_PER_SESSION && (old = oldest_of(shelf, false)))
		run_unshelve(old);
	while (shelf && shelf->bytes > RUNS_SESSION_BYTES && (old = oldest_of(shelf, true)))
		drop(old);
	while (r->bytes > RUNS_TOTAL_BYTES && (old = oldest(r, run->registry)))
		drop(old);
}

void run_count(struct run *run, size_t bytes)
{
	bool is_more = bytes > run->bytes;
	count(run, bytes);
	if (is_more && run->is_shelved)
		make_room(run);
}

/* ---- finding ---- */

/* What the caller's registry does not show is not there. */
static bool is_visible(const struct run *run, struct registry *registry)
{
	struct registry_identity identity;
	struct err err;
	return registry_identify(registry, run->session, &identity, &err) == 0;
}

struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err)
{
	for (size_t i = 0; i < r->n; i++)
		for (struct run *run = r->shelves[i].first; run; run = run->next)
			if (strcmp(run->id, id) == 0 && is_visible(run, registry))
				return run;
	(void)err_set(err, ERR_NOT_FOUND, "no run %.*s", (int)utf8_cut(id, strlen(id), 64), id);
	(void)err_hint(
		err, "the last %d of a session are kept until it is closed", RUNS_PER_SESSION);
	return NULL;
}

struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err)
{
	struct registry_identity identity;
	if (registry_identify(registry, session, &identity, err) < 0)
		return NULL;
	struct shelf *shelf = find_shelf(r, identity.session);
	for (struct run *run = shelf ? shelf->last : NULL; run; run = run->prev)
		if (strncmp(param_text(run->record, "step", ""), step, strlen(step)) == 0)
			return run;
	(void)err_set(err, ERR_NOT_FOUND, "no run of step %.*s in %.80s",
		(int)utf8_cut(step, strlen(step), 72), step, session);
	(void)err_hint(err, "the last %d of a session are kept; `session.log` has all steps",
		RUNS_PER_SESSION);
	return NULL;
}
