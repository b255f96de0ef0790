/*
 * Lists of sessions, newest first, made in slices (sliced_work.c).
 *
 * A live session is described by its entry, any other by its row in the journal. Live sessions that
 * are not written to the journal yet are the newest, so they come first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/listing.h"

#include "base/json.h"
#include "base/alloc.h"
#include "registry/history.h"
#include "registry/lifetime.h"
#include "registry/start/order_text.h"
#include "registry/sliced_work.h"

#include <stdlib.h>

json_t *listing_row(struct session_table *r, const struct journal_session *s, const char *state)
{
	struct err err;
	int64_t n_steps = journal_depth(r->journal, s->head, &err);
	if (n_steps < 0)
		state = "damaged"; /* session.log reports where the history is damaged */
	char runtime[16];
	order_text_runtime(s->order, s->order_bytes, runtime, sizeof runtime);
	json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "session", s->id, "state", state,
		"head", s->head, "steps", (json_int_t)MAX(n_steps, 0), "created_ms",
		(json_int_t)s->created_ms, "runtime", runtime);
	if (s->name[0])
		json_put_text(row, "name", s->name);
	if (s->parent[0])
		json_put_text(row, "parent", s->parent);
	if (s->is_tainted)
		json_put_bool(row, "untrusted", true);
	lifetime_tell_stored(r, s, row);
	return row;
}

json_t *listing_owned(const struct registry *r, const char *owner, json_t *row)
{
	if (!r->owner && owner[0])
		json_put_text(row, "owner", owner);
	return row;
}

/* Return whether @e belongs in a list although it is not in the journal yet. */
static bool is_new(const struct registry *r, const struct entry *e)
{
	return e->state != ENTRY_ENDING && !e->is_kept && !e->is_unkept &&
		registry_sees(r, e->owner);
}

struct listing {
	struct sliced_work work;
	json_t *rows;
	int64_t *numbers; /* row numbers of sessions in the journal, oldest first */
	int64_t n_left;
	uint64_t limit;
};

static int add_one(struct sliced_work *work, struct err *err)
{
	struct listing *l = container_of(work, struct listing, work);
	struct registry *r = work->registry;
	struct session_table *table = r->table;
	struct journal_session s;
	if (l->n_left == 0 || json_array_size(l->rows) >= l->limit)
		return 0;
	int bad = journal_session_at(table->journal, l->numbers[--l->n_left], &s, err);
	if (bad <= 0) /* the session was closed since its number was read */
		return bad < 0 ? bad : 1;
	const struct entry *live = session_table_live(table, s.id);
	json_t *row = live ? entry_json(live) : listing_row(table, &s, "stored");
	(void)json_array_append_new(l->rows, listing_owned(r, s.owner, row));
	journal_session_done(&s);
	return 1;
}

static json_t *end_list(struct sliced_work *work, bool is_good)
{
	struct listing *l = container_of(work, struct listing, work);
	json_t *out = is_good ? json_pack("{s:O}", "sessions", l->rows) : NULL;
	if (out && l->n_left > 0)
		json_put_bool(out, "truncated", true);
	json_decref(l->rows);
	free(l->numbers);
	free(l);
	return out;
}

/* Add sessions that are not in the journal yet. They are the newest, so they come first. Then
 * find the row numbers of all others that were made before the session @before. Returns: 0, or
 * negative errno. */
static int begin(struct listing *l, const char *before, struct err *err)
{
	struct registry *r = l->work.registry;
	struct journal *j = r->table->journal;
	struct found found;
	int64_t end = INT64_MAX;
	if (before && registry_look_up(r, before, &found, err) < 0)
		return -err_errno(err->code);
	if (before && !(found.live && !found.live->is_kept))
		end = journal_session_number(j, found.id, err);
	l->n_left = end < 0
		? end
		: journal_session_numbers(j, r->owner ? registry_owner(r) : NULL, &l->numbers, err);
	if (l->n_left < 0)
		return (int)l->n_left;
	while (l->n_left > 0 && l->numbers[l->n_left - 1] >= end)
		l->n_left--;
	for (const struct entry *e = before ? NULL : r->table->first; e; e = e->next)
		if (is_new(r, e))
			(void)json_array_append_new(
				l->rows, listing_owned(r, e->owner, entry_json(e)));
	return 0;
}

void registry_list(
	struct registry *r, const struct registry_listing *which, registry_done_fn *done, void *arg)
{
	struct err err;
	struct listing *l = xnew(struct listing);
	l->work = (struct sliced_work){
		.registry = r, .part = add_one, .end = end_list, .done = done, .arg = arg};
	l->rows = json_array();
	l->limit = which->limit;
	if (begin(l, which->before, &err) == 0) {
		sliced_work_begin(&l->work);
		return;
	}
	(void)end_list(&l->work, false);
	done(arg, NULL, &err);
}

int64_t registry_count(const struct registry *r, struct err *err)
{
	int64_t n =
		journal_session_count(r->table->journal, r->owner ? registry_owner(r) : NULL, err);
	for (const struct entry *e = r->table->first; e && n >= 0; e = e->next)
		n += is_new(r, e);
	return n;
}
