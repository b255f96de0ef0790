/*
 * Finding sessions: by id, by the start of an id, by name.
 *
 * The table contains the entries of an engine's live sessions. The journal contains all sessions. A
 * front end passes a `struct registry`, the view of one owner, to every operation, and the
 * operation finds its session with registry_look_up(). A session that this owner may not see is not
 * found. This alone hides owners from one another: no other function checks it again.
 *
 * registry_find() is for operations that need a live session. It reopens a session that is only in
 * the journal (reopen()). The caller's job then waits in the session's queue until the state is
 * rebuilt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/session_table.h"

#include "base/alloc.h"
#include "base/timer.h"

#include "base/utf8.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/lifetime.h"
#include "registry/standby.h"

#include <stdio.h>
#include <string.h>

enum { PREFIX_MIN = 4 };

const char *registry_owner(const struct registry *r)
{
	return r->owner ? r->owner->name : "";
}

bool registry_sees(const struct registry *r, const char *owner)
{
	return !r->owner || strcmp(r->owner->name, owner) == 0;
}

/* ---- checking the name of a session ---- */

/* Return whether the character at @at is forbidden in names: a space, a slash, or a control
 * character. In UTF-8, the control characters from U+0080 to U+009F are 0xc2 and a second byte
 * below 0xa0. */
static bool is_odd(const char *at)
{
	unsigned char c = (unsigned char)*at, next = (unsigned char)(c ? at[1] : 0);
	return c <= ' ' || c == 0x7f || c == '/' || (c == 0xc2 && next < 0xa0);
}

static int name_taken(const char *name, struct err *err)
{
	return err_fail(err, ERR_USAGE, "take another name, or close that session",
		"session %s exists already", name);
}

int session_table_check_name(
	struct session_table *table, const char *owner, const char *name, struct err *err)
{
	struct journal_session row;
	size_t n = name ? strlen(name) : 0;
	if (!name)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (is_odd(name + i))
			return err_fail(err, ERR_USAGE, "letters, digits, dots and dashes are fine",
				"a session's name has no spaces, slashes or control characters");
	if (utf8_has_invisible(name, n))
		return err_fail(err, ERR_USAGE, "letters, digits, dots and dashes are fine",
			"a session's name has no invisible characters: two names would look the "
			"same");
	if (n == 0 || n >= JOURNAL_NAME_BYTES || !utf8_is_valid(name, n) || name[0] == '-' ||
		strncmp(name, "s-", 2) == 0) {
		err_set(err, ERR_USAGE, "\"%.*s\" cannot be a session's name",
			(int)utf8_cut(name, n, 20), name);
		return err_hint(err, "1 to %d bytes, not beginning with \"-\" or \"s-\"",
			JOURNAL_NAME_BYTES - 1);
	}
	for (struct entry *e = table->first; e; e = e->next)
		if (strcmp(e->name, name) == 0 && strcmp(e->owner, owner) == 0 &&
			e->state != ENTRY_ENDING)
			return name_taken(name, err);
	if (journal_session_of(table->journal, owner, name, &row, err) == 0) {
		journal_session_done(&row);
		return name_taken(name, err);
	}
	return 0;
}

/* ---- finding and reopening sessions ---- */

static bool is_there(const struct entry *e)
{
	return e->state != ENTRY_ENDING && !e->is_unkept;
}

struct entry *session_table_live(struct session_table *table, const char *id)
{
	for (struct entry *e = table->first; e; e = e->next)
		if (is_there(e) && strcmp(e->id, id) == 0)
			return e;
	return NULL;
}

/* Find a live session by its whole id or its name. */
static struct entry *find_live(struct registry *r, const char *session)
{
	for (struct entry *e = r->table->first; e; e = e->next)
		if (is_there(e) &&
			((registry_sees(r, e->owner) && strcmp(e->id, session) == 0) ||
				(e->name[0] && strcmp(e->owner, registry_owner(r)) == 0 &&
					strcmp(e->name, session) == 0)))
			return e;
	return NULL;
}

/* Count the sessions that are not in the journal yet and whose id begins with @start. @id: set
 * to the id of the first one, if any. */
static int begins_live(struct registry *r, const char *start, char id[JOURNAL_ID_BYTES])
{
	int n = 0;
	for (const struct entry *e = r->table->first; e; e = e->next)
		if (is_there(e) && !e->is_kept && registry_sees(r, e->owner) &&
			strncmp(e->id, start, strlen(start)) == 0 && n++ == 0)
			memcpy(id, e->id, sizeof e->id);
	return n;
}

/* Return the name of the owner whose sessions @r shows. Return NULL if @r shows the sessions of
 * all owners. Functions of the journal take an owner in this form. */
static const char *seen(const struct registry *r)
{
	return r->owner ? r->owner->name : NULL;
}

/* Fail with ERR_NOT_FOUND. If a closed session had the name @session, the error names its id. */
static int not_found(struct registry *r, const char *session, struct err *err)
{
	char id[JOURNAL_ID_BYTES];
	struct err ignored;
	if (journal_session_closed(r->table->journal, seen(r), session, id, &ignored) > 0) {
		err_set(err, ERR_NOT_FOUND,
			"no session %s any more: %s had that name, and is closed", session, id);
		return err_hint(err, "make a new one; its steps are kept: `session.log %s`", id);
	}
	return err_fail(err, ERR_NOT_FOUND, "`session.list` lists them", "no session %.*s",
		(int)utf8_cut(session, strlen(session), 80), session);
}

static int find_start(
	struct registry *r, const char *start, char id[JOURNAL_ID_BYTES], struct err *err)
{
	char other[JOURNAL_ID_BYTES];
	if (strlen(start) < PREFIX_MIN || strncmp(start, "s-", 2) != 0)
		return not_found(r, start, err);
	int n = journal_session_begins(r->table->journal, seen(r), start, id, err);
	int n_live = n < 0 ? 0 : begins_live(r, start, n ? other : id);
	if (n < 0)
		return n;
	if (n + n_live == 0)
		return not_found(r, start, err);
	if (n + n_live == 1)
		return 0;
	return err_fail(err, ERR_USAGE, "give more of its id",
		"more than one session begins with %.40s", start);
}

int registry_look_up(struct registry *r, const char *session, struct found *out, struct err *err)
{
	struct journal_session row;
	struct err why = {0};
	*out = (struct found){.live = find_live(r, session)};
	if (out->live) {
		memcpy(out->id, out->live->id, sizeof out->id);
		return 0;
	}
	int bad = journal_session_of(r->table->journal, seen(r), session, &row, &why);
	if (bad == 0) {
		memcpy(out->id, row.id, sizeof out->id);
		journal_session_done(&row);
		out->live = session_table_live(r->table, out->id);
		return 0;
	}
	if (why.code != ERR_NOT_FOUND) {
		*err = why;
		return bad;
	}
	bad = journal_session_ended(r->table->journal, seen(r), session, out->id, err);
	if (bad != 0)
		return MIN(bad, 0);
	bad = find_start(r, session, out->id, err);
	if (bad == 0)
		out->live = session_table_live(r->table, out->id);
	return bad;
}

/* What reopen() learns when it opens a session of the journal again. reopen() calls
 * entry_begin(). If the opening fails before entry_begin() returns, on_reopened() stores the
 * failure here. */
struct reopening {
	struct entry *entry; /* the entry of the session; NULL: the opening failed */
	struct err err;	     /* why the opening failed */
};

static void on_reopened(void *arg, const json_t *result, const struct err *err)
{
	struct reopening *o = arg;
	(void)result;
	if (!err)
		return;
	o->entry = NULL;
	o->err = *err;
}

static int take_row(struct entry *e, const struct journal_session *row, struct err *err)
{
	int64_t n = journal_depth(e->table->journal, row->head, err);
	e->is_kept = true;
	e->created_ms = row->created_ms;
	e->n_steps = (uint64_t)MAX(n, 0);
	e->ttl_ms = row->ttl_ms;
	e->idle_ms = row->idle_ms;
	e->is_tainted = row->is_tainted;
	snprintf(e->head, sizeof e->head, "%s", row->head);
	snprintf(e->fork, sizeof e->fork, "%s", row->fork);
	snprintf(e->parent, sizeof e->parent, "%s", row->parent);
	return (int)MIN(n, 0);
}

/* Check that the session's order and its memory are still allowed. Returns: the bytes of memory
 * that the session is charged for, or negative errno. */
static int64_t admit_row(struct registry *r, const struct journal_session *row, struct err *err)
{
	struct order_kept kept;
	int bad = order_parse(&kept, row->order, row->order_bytes, err);
	if (bad < 0)
		return bad;
	uint64_t memory_bytes = admit_memory(&kept.order.limits);
	bad = admit_order(r, &kept.order, err);
	if (bad == 0)
		bad = admit_session(r, memory_bytes, false, err);
	order_kept_done(&kept);
	return bad < 0 ? bad : (int64_t)memory_bytes;
}

static struct entry *reopen(struct registry *r, const struct journal_session *row, struct err *err)
{
	if (row->closed_ms) {
		(void)lifetime_why(row, err);
		return NULL;
	}
	int64_t memory_bytes = admit_row(r, row, err);
	if (memory_bytes < 0)
		return NULL;
	struct reopening o = {
		.entry = entry_new(r->table, row->owner, row->id, row->name, row->order)};
	struct entry *e = o.entry;
	if (take_row(e, row, err) < 0) {
		entry_end(e);
		return NULL;
	}
	e->memory_bytes = (uint64_t)memory_bytes;
	lifetime_watch(e);
	e->done = on_reopened;
	e->arg = &o;
	entry_begin(e);
	if (!o.entry) {
		*err = o.err;
		return NULL;
	}
	/* If the opening fails later, the jobs in the session's queue get the error. */
	e->done = NULL;
	return e;
}

struct entry *registry_find(struct registry *r, const char *session, struct err *err)
{
	struct journal_session row;
	struct found found;
	if (r->table->is_closing) {
		err_set(err, ERR_GONE, "the engine is stopping");
		return NULL;
	}
	if (registry_look_up(r, session, &found, err) < 0)
		return NULL;
	if (found.live) {
		lifetime_use(found.live);
		return found.live;
	}
	if (journal_session_get(r->table->journal, found.id, &row, err) < 0)
		return NULL;
	struct entry *e = reopen(r, &row, err);
	journal_session_done(&row);
	return e;
}

const struct owner *registry_find_owner(const struct registry *r, const char *name)
{
	const struct registry *view = r->table->all.next;
	while (view && strcmp(view->owner->name, name) != 0)
		view = view->next;
	return view ? view->owner : NULL;
}

/* ---- ending a session; making the view of an owner; work while the engine is idle ---- */

void registry_end(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct found found;
	if (registry_look_up(r, session, &found, &err) < 0) {
		done(arg, NULL, &err);
		return;
	}
	struct entry *e = found.live;
	int bad =
		e && !e->is_kept ? 0 : journal_session_close(r->table->journal, found.id, "", &err);
	if (e && bad >= 0)
		entry_end(e);
	json_t *nothing = json_object();
	done(arg, bad < 0 ? NULL : nothing, bad < 0 ? &err : NULL);
	json_decref(nothing);
}

struct registry *registry_view(struct registry *r, struct owner *owner)
{
	struct registry **at = &r->table->all.next;
	while (*at && (*at)->owner != owner)
		at = &(*at)->next;
	if (!*at) {
		*at = xnew(struct registry);
		**at = (struct registry){.table = r->table, .owner = owner};
	}
	return *at;
}

void session_table_on_idle(uv_timer_t *timer)
{
	struct session_table *r = timer->data;
	struct err err;
	/* libuv runs timers before it reads sockets. If the work before this took long, requests
	 * have arrived that are not read yet. So wait for one more turn of the loop, which
	 * answers these requests. */
	r->is_idle_next = !r->is_idle_next;
	if (r->is_idle_next) {
		timer_start(&r->idle, r->on_idle, 1, 0);
		return;
	}
	/* If the journal cannot be synced now, ignore the error: when the engine is idle the next
	 * time, this function syncs the journal again. */
	(void)journal_idle(r->journal, &err);
	standby_tend(r);
}

struct engine *registry_engine(const struct registry *r)
{
	return r->table->engine;
}
