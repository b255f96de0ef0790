/*
 * Queries about sessions, answered from the table and the journal: descriptions, logs, graphs.
 *
 * A journal stores each step once, under its digest. So one step can be in the past of several
 * sessions. They may even belong to several owners, if the same code gave the same result. Such a
 * step is shown to an owner as if nobody else had made it: with the session, time and outcome of
 * its first run in one of the owner's own sessions (struct telling).
 *
 * Long logs are read in slices (sliced_work.c), because reading thousands of rows at once would
 * block other clients of the engine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/history.h"

#include "base/json.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/listing.h"
#include "registry/start/order_text.h"
#include "registry/sliced_work.h"
#include "session/step/record.h"
#include "store/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_MAX = 10000, LOG_BYTES_MAX = 32 << 20 };

/* ---- descriptions of sessions, and rows of steps ---- */

static int stored(
	struct registry *r, const char *session, struct journal_session *out, struct err *err)
{
	struct found found;
	int bad = registry_look_up(r, session, &found, err);
	if (bad < 0)
		return bad;
	if (found.live && !found.live->is_kept)
		return err_fail(err, ERR_BUSY, "ask again in a moment", "session %s is being made",
			found.id);
	return journal_session_get(r->table->journal, found.id, out, err);
}

int registry_identify(
	struct registry *r, const char *session, struct registry_identity *out, struct err *err)
{
	struct journal_session row = {0};
	struct found found;
	int bad = registry_look_up(r, session, &found, err);
	if (bad == 0 && !found.live)
		bad = journal_session_get(r->table->journal, found.id, &row, err);
	if (bad < 0)
		return bad;
	const struct order_checked *order = found.live ? found.live->order : NULL;
	snprintf(out->session, sizeof out->session, "%.*s", REGISTRY_ID_BYTES - 1, found.id);
	if (found.live)
		snprintf(out->runtime, sizeof out->runtime, "%s",
			order ? order->runtime->name : "python");
	else
		order_text_runtime(row.order, row.order_bytes, out->runtime, sizeof out->runtime);
	journal_session_done(&row);
	return 0;
}

json_t *registry_get(struct registry *r, const char *session, struct err *err)
{
	struct journal_session row = {0};
	struct found found;
	if (registry_look_up(r, session, &found, err) < 0)
		return NULL;
	if (found.live)
		return listing_owned(r, found.live->owner, entry_json(found.live));
	if (stored(r, session, &row, err) < 0)
		return NULL;
	json_t *out = listing_owned(
		r, row.owner, listing_row(r->table, &row, row.closed_ms ? "closed" : "stored"));
	journal_session_done(&row);
	return out;
}

/* Rows for the steps that an owner sees. The journal stores a step once, with the session, time
 * and outcome of its first run, even if sessions of several owners have run it. If the first run
 * was in another owner's session, the row shows the first run in one of the owner's own sessions
 * instead. So nothing reveals that anybody else has run the step. */
struct telling {
	const struct registry *registry;
	const char *session; /* the session whose steps are listed */
	json_t *rows;
	size_t code_bytes; /* total length of the code of the steps in `rows` */
	/* Id of the session that is_own() checked last. */
	char first[JOURNAL_ID_BYTES];
	bool is_own; /* whether the session `first` belongs to the owner */
};

static bool is_own(struct telling *t, const struct journal_node *node)
{
	struct journal_session row;
	struct err err;
	if (!t->registry->owner || strcmp(node->session, t->session) == 0)
		return true;
	if (strcmp(node->session, t->first) == 0)
		return t->is_own;
	memcpy(t->first, node->session, sizeof t->first);
	t->is_own = journal_session_of(t->registry->table->journal, registry_owner(t->registry),
			    node->session, &row, &err) == 0;
	if (t->is_own)
		journal_session_done(&row);
	return t->is_own;
}

static json_t *row_of(const struct journal_node *node, const char *session, const char *outcome,
	int64_t created_ms)
{
	bool is_text = utf8_is_valid(node->code, node->code_bytes);
	json_t *code = is_text ? json_stringn_nocheck(node->code, node->code_bytes) : NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "step", node->digest,
		"parent", node->parent, "session", session, "runtime", node->runtime, "status",
		node->status, "outcome", outcome, "code", code ? code : json_string(""),
		"created_ms", (json_int_t)created_ms, "seq", (json_int_t)node->seq);
}

static int add_step(void *user, const struct journal_node *node, struct err *err)
{
	struct telling *t = user;
	const char *session = node->session, *outcome = node->outcome;
	int64_t created_ms = node->created_ms;
	struct journal_again again;
	if (!is_own(t, node)) {
		int r = journal_again(t->registry->table->journal, registry_owner(t->registry),
			node->digest, &again, err);
		if (r < 0)
			return r;
		session = r > 0 ? again.session : t->session;
		outcome = record_outcome_word(
			r > 0 && again.is_back ? RECORD_ROLLED_BACK : RECORD_COMMITTED);
		created_ms = r > 0 ? again.at_ms : 0;
	}
	t->code_bytes += node->code_bytes;
	(void)json_array_append_new(t->rows, row_of(node, session, outcome, created_ms));
	return 0;
}

static bool is_full(const struct telling *t)
{
	return json_array_size(t->rows) >= LOG_MAX || t->code_bytes >= LOG_BYTES_MAX;
}

/* Add a row for a step on the path from a session's head to its first step. Such a step is part
 * of the state, so it is shown as committed, even if its first run was rolled back. */
static int add_kept(void *user, const struct journal_node *node, struct err *err)
{
	const struct telling *t = user;
	int r = add_step(user, node, err);
	if (r < 0)
		return r;
	json_t *row = json_array_get(t->rows, json_array_size(t->rows) - 1);
	return json_object_set_new(row, "outcome", json_string("committed")) < 0
		? err_set(err, ERR_NO_MEMORY, "no memory for the steps")
		: 0;
}

struct attempts {
	struct telling *telling;
	/*
	 * A JSON object with rows of the log, one for each step on the path from the session's head
	 * to its first step. The key of a row is the digest of the step.
	 *
	 * An attempt is one run of a step. When add_attempt() reads the attempt that made one of
	 * these steps, it removes the row of the step from `path`. A row that is removed here stays
	 * in the log.
	 */
	json_t *path;
};

/*
 * Add one attempt to the log. An attempt is one run of a step. This function is called for each
 * attempt of a session, from the newest to the oldest.
 *
 * The steps on the path from the session's head to its first step have rows in a->path. The key of
 * a row is the digest of the step. If a->path has a row with the digest of the attempt, and the
 * attempt was not rolled back, this attempt made the step. The row then gets the time and the
 * number of the attempt, and is removed from a->path.
 *
 * Any other attempt gets a new row in the log, for example:
 * - an attempt that was rolled back;
 * - an older attempt with the same digest as a newer one. The newer attempt has got the row in
 *   a->path, so this row is not in a->path any more.
 */
static int add_attempt(void *user, const struct journal_node *node, struct err *err)
{
	struct attempts *a = user;
	json_t *row = json_object_get(a->path, node->digest);
	(void)err;
	if (row && strcmp(node->outcome, "rolled_back") != 0) {
		json_put_int(row, "created_ms", node->created_ms);
		json_put_int(row, "at", node->attempt);
		(void)json_object_del(a->path, node->digest);
		return 0;
	}
	a->telling->code_bytes += node->code_bytes;
	row = row_of(node, node->session, node->outcome, node->created_ms);
	json_put_int(row, "at", node->attempt);
	(void)json_array_append_new(a->telling->rows, row);
	return 0;
}

struct keyed {
	json_t *row;
	json_int_t first, second;
};

static int newest_first(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? 1 : -1;
	return (x->second < y->second) - (x->second > y->second);
}

/* Return @rows sorted by the member @by (newest first), then by "seq". If @by is NULL, @rows are
 * in this order already. For an owner, remove "seq" from the rows, because it reveals how many
 * steps all owners have run. */
static json_t *sorted(const struct registry *r, const json_t *rows, const char *by)
{
	size_t n = json_array_size(rows);
	json_t *out = json_array();
	struct keyed *all = calloc(n + 1, sizeof *all);
	for (size_t i = 0; all && i < n; i++) {
		json_t *row = json_array_get(rows, i);
		all[i].row = row;
		all[i].first = by ? json_integer_value(json_object_get(row, by)) : 0;
		all[i].second = json_integer_value(json_object_get(row, "seq"));
	}
	if (all && n > 0 && by)
		qsort(all, n, sizeof *all, newest_first);
	for (size_t i = 0; all && i < n; i++) {
		(void)json_object_del(all[i].row, "at");
		if (r->owner)
			(void)json_object_del(all[i].row, "seq");
		(void)json_array_append(out, all[i].row);
	}
	free(all);
	return out;
}

/* ---- the log of a session ---- */

struct logging {
	struct sliced_work work;
	struct telling telling;
	struct journal_session row;
	struct journal_way way;
	bool is_all, is_on_path, is_cut;
	struct journal_attempts attempts_of;
	struct attempts attempts;
	int64_t n_attempts;
};

static struct logging *logging_of(struct sliced_work *work)
{
	return container_of(work, struct logging, work);
}

/*
 * Begin to read the attempts of the session. An attempt is one run of a step. The log has rows for
 * the steps on the path from the session's head to its first step already. Only other attempts get
 * new rows: those that were rolled back or undone.
 *
 * At the end, log_end() sorts all rows by the number "at", the largest first. The "at" of an
 * attempt is the number of the attempt, which is above 0. This function gives the rows of the path
 * provisional numbers: 0 for the newest step, -1 for the step before the newest, and so on.
 * - If a step was run in this session, add_attempt() replaces the provisional number by the number
 *   of the attempt.
 * - If a step was inherited from the parent session, this session has no attempt of the step. The
 *   row keeps the provisional number, so it comes after the rows of all attempts.
 */
static void begin_others(struct logging *l)
{
	struct telling *t = &l->telling;
	l->attempts = (struct attempts){t, json_object()};
	l->attempts_of = (struct journal_attempts){.session = l->row.id, .how = JOURNAL_BRIEF};
	for (size_t i = 0; i < json_array_size(t->rows); i++) {
		json_t *row = json_array_get(t->rows, i);
		json_put_bool(row, "on_path", true);
		json_put_int(row, "at", -(json_int_t)i);
		(void)json_object_set(
			l->attempts.path, json_string_value(json_object_get(row, "step")), row);
	}
}

static int log_part(struct sliced_work *work, struct err *err)
{
	struct logging *l = logging_of(work);
	struct journal *j = work->registry->table->journal;
	if (l->is_on_path && l->way.at[0] && !is_full(&l->telling)) {
		int64_t n = journal_way_up(j, &l->way, 1, add_kept, &l->telling, err);
		return n < 0 ? (int)n : 1;
	}
	l->is_cut |= l->way.at[0] != '\0';
	if (!l->is_all)
		return 0;
	if (l->is_on_path)
		begin_others(l);
	l->is_on_path = false;
	bool is_over = l->n_attempts == LOG_MAX || l->telling.code_bytes >= LOG_BYTES_MAX;
	l->is_cut |= is_over;
	int64_t n = is_over
		? 0
		: journal_session_steps(j, &l->attempts_of, 1, add_attempt, &l->attempts, err);
	l->n_attempts += n > 0;
	return (int)n;
}

static json_t *log_end(struct sliced_work *work, bool is_good)
{
	struct logging *l = logging_of(work);
	json_t *out = is_good
		? json_pack("{s:s, s:s, s:o}", "session", l->row.id, "head", l->row.head, "steps",
			  sorted(work->registry, l->telling.rows, l->is_all ? "at" : NULL))
		: NULL;
	if (out && l->is_cut)
		json_put_bool(out, "truncated", true);
	json_decref(l->attempts.path);
	json_decref(l->telling.rows);
	journal_session_done(&l->row);
	free(l);
	return out;
}

void registry_log(
	struct registry *r, const char *session, bool is_all, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct logging *l = xnew(struct logging);
	if (stored(r, session, &l->row, &err) < 0) {
		free(l);
		done(arg, NULL, &err);
		return;
	}
	l->work = (struct sliced_work){
		.registry = r, .part = log_part, .end = log_end, .done = done, .arg = arg};
	l->telling = (struct telling){.registry = r, .session = l->row.id, .rows = json_array()};
	l->way.how = JOURNAL_BRIEF;
	memcpy(l->way.at, l->row.head, sizeof l->way.at);
	l->is_all = is_all;
	l->is_on_path = true;
	sliced_work_begin(&l->work);
}

/* ---- the graph of all sessions ---- */

struct graph {
	struct sliced_work work;
	struct telling telling;
	struct journal_session row; /* session whose steps are being added */
	struct journal_way way;
	json_t *seen; /* digests of the steps added so far */
	json_t *heads;
	int64_t *numbers;
	int64_t n_numbers, at;
};

static int add_new_step(void *user, const struct journal_node *node, struct err *err)
{
	struct graph *g = user;
	if (json_object_get(g->seen, node->digest))
		return 1; /* stop: this step and all its ancestors were added for another session */
	json_put_bool(g->seen, node->digest, true);
	return add_kept(&g->telling, node, err);
}

static int next_head(struct graph *g, struct err *err)
{
	struct registry *r = g->work.registry;
	journal_session_done(&g->row);
	if (g->at == g->n_numbers || g->at == LOG_MAX)
		return 0;
	int n = journal_session_at(r->table->journal, g->numbers[g->at++], &g->row, err);
	if (n <= 0) /* the session was closed since its number was read */
		return n < 0 ? n : 1;
	memcpy(g->way.at, g->row.head, sizeof g->way.at);
	g->way.before = 0;
	g->way.how = JOURNAL_BRIEF;
	g->telling.session = g->row.id;
	(void)json_array_append_new(g->heads, listing_row(r->table, &g->row, "open"));
	return 1;
}

static int graph_part(struct sliced_work *work, struct err *err)
{
	struct graph *g = container_of(work, struct graph, work);
	size_t n_before = json_array_size(g->telling.rows);
	if (!g->way.at[0] || is_full(&g->telling))
		return next_head(g, err);
	int64_t n =
		journal_way_up(work->registry->table->journal, &g->way, 1, add_new_step, g, err);
	if (json_array_size(g->telling.rows) == n_before)
		g->way.at[0] = '\0';
	return n < 0 ? (int)n : 1;
}

static json_t *graph_end(struct sliced_work *work, bool is_good)
{
	struct graph *g = container_of(work, struct graph, work);
	const struct registry *r = work->registry;
	json_t *out = is_good ? json_pack("{s:o, s:O}", "steps",
					sorted(r, g->telling.rows, r->owner ? "created_ms" : "seq"),
					"heads", g->heads)
			      : NULL;
	if (out && (is_full(&g->telling) || g->at < g->n_numbers))
		json_put_bool(out, "truncated", true);
	json_decref(g->seen);
	json_decref(g->telling.rows);
	json_decref(g->heads);
	journal_session_done(&g->row);
	free(g->numbers);
	free(g);
	return out;
}

void registry_graph(struct registry *r, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct graph *g = xnew(struct graph);
	int64_t n = journal_session_numbers(
		r->table->journal, r->owner ? registry_owner(r) : NULL, &g->numbers, &err);
	if (n < 0) {
		free(g);
		done(arg, NULL, &err);
		return;
	}
	g->work = (struct sliced_work){
		.registry = r, .part = graph_part, .end = graph_end, .done = done, .arg = arg};
	g->telling = (struct telling){.registry = r, .session = "", .rows = json_array()};
	g->seen = json_object();
	g->heads = json_array();
	g->n_numbers = n;
	sliced_work_begin(&g->work);
}

json_t *registry_templates(struct registry *r, struct err *err)
{
	(void)err;
	return templates_json(r->table->templates, r->owner ? registry_owner(r) : NULL);
}

/* ---- statistics of all sessions ---- */

static void add_entry(struct stats *out, const struct entry *e)
{
	out->n_sessions[e->state]++;
	out->n_boxes += e->session && session_box(e->session);
	if (e->state != ENTRY_ENDING)
		out->memory_bytes += e->memory_bytes;
	const struct job *job = e->first;
	for (; job; job = job->next)
		if (job->is_started)
			out->n_working += job->kind == JOB_RUN;
		else
			out->n_queued++;
}

void registry_stats(const struct registry *r, struct stats *out)
{
	const struct session_table *table = r->table;
	uint64_t n_kept = 0;
	struct err err;
	*out = (struct stats){.n_expired = table->n_expired, .steps = table->steps};
	for (int i = 0; i < ADMIT_END_; i++)
		out->n_refused[i] = table->n_refused[i];
	for (const struct entry *e = table->first; e; e = e->next) {
		add_entry(out, e);
		n_kept += e->is_kept && e->state != ENTRY_ENDING;
	}
	int64_t n = journal_session_count(table->journal, NULL, &err);
	out->n_sessions[STATS_STORED] = n > (int64_t)n_kept ? (uint64_t)n - n_kept : 0;
	out->journal_bytes = journal_bytes(table->journal);
	out->network = gateway_totals(table->engine->gateway);
	out->n_journal_changes = journal_changes(table->journal);
	out->n_templates = templates_stats(table->templates, out->templates, TEMPLATES_MAX);
}

/* ---- the export of a record ---- */

struct exporting {
	struct sliced_work work;
	struct journal_export *export;
	json_t *answer;
};

static struct exporting *exporting_of(struct sliced_work *work)
{
	return container_of(work, struct exporting, work);
}

static int export_part(struct sliced_work *work, struct err *err)
{
	_Static_assert((int)EXPORT_AWAY == (int)SLICED_WORK_AWAY, "they mean the same");
	return journal_export_part(exporting_of(work)->export, err);
}

/* Make the answer from the exported text. If the record is long, this runs in a thread. */
static void make_answer(struct exporting *x)
{
	size_t bytes;
	char *text = journal_export_take(x->export, &bytes);
	/* The text is JSON that export.c has just written, so it is valid UTF-8. */
	if (text)
		x->answer = json_pack("{s:o*}", "record", json_stringn_nocheck(text, bytes));
	free(text);
}

static void export_away(struct sliced_work *work)
{
	struct exporting *x = exporting_of(work);
	journal_export_away(x->export);
	if (journal_export_is_whole(x->export))
		make_answer(x);
}

static json_t *export_end(struct sliced_work *work, bool is_good)
{
	struct exporting *x = exporting_of(work);
	if (is_good && !x->answer)
		make_answer(x);
	json_t *out = x->answer;
	journal_export_done(x->export);
	free(x);
	return out;
}

void registry_export(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct journal_session row;
	struct exporting *x = xnew(struct exporting);
	int bad = stored(r, session, &row, &err);
	if (bad == 0) {
		bad = journal_export_begin(&x->export, r->table->journal, row.id, NULL, &err);
		journal_session_done(&row);
	}
	if (bad < 0) {
		free(x);
		done(arg, NULL, &err);
		return;
	}
	x->work = (struct sliced_work){.registry = r,
		.part = export_part,
		.away = export_away,
		.end = export_end,
		.done = done,
		.arg = arg};
	sliced_work_begin(&x->work);
}

json_t *registry_head(struct registry *r, const char *session, struct err *err)
{
	struct journal_session row;
	struct journal_node node;
	if (stored(r, session, &row, err) < 0)
		return NULL;
	int bad = journal_node_get(r->table->journal, row.head, &node, err);
	journal_session_done(&row);
	if (bad < 0)
		return NULL;
	json_t *out =
		json_pack("{s:s, s:s, s:s, s:o*, s:o*}", "step", node.digest, "parent", node.parent,
			"runtime", node.runtime, "code", json_stringn(node.code, node.code_bytes),
			"record", json_stringn(node.record, node.record_bytes));
	journal_node_done(&node);
	if (!out)
		err_set(err, ERR_NO_MEMORY, "no memory for a step");
	return out;
}
