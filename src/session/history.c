/* What can be told of sessions and their files without a step. SPDX-License-Identifier: Apache-2.0
 */
#include "session/history.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "sandbox/syscalls.h"
#include "session/entry.h"
#include "session/job.h"
#include "session/lifetime.h"
#include "session/outcome.h"
#include "session/put.h"
#include "session/roll.h"
#include "session/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_MAX = 10000, READ_MAX = 16 << 20, VOLUME_FILES_MAX = 1000, VOLUMES_DEEP = 4 };

/* ---- sessions ---- */

struct listing {
	struct registry *registry;
	json_t *rows;
};

static json_t *row_json(struct roll *r, const struct journal_session *s, const char *state)
{
	struct err err;
	int64_t n_steps = journal_depth(r->journal, s->head, &err);
	if (n_steps < 0)
		state = "damaged"; /* its log says where */
	json_t *order = json_loadb(s->order, s->order_bytes, 0, NULL);
	const char *runtime = json_string_value(json_object_get(order, "runtime"));
	json_t *row = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "session", s->id, "state", state,
		"head", s->head, "steps", (json_int_t)MAX(n_steps, 0), "created_ms",
		(json_int_t)s->created_ms, "runtime", runtime ? runtime : "python");
	if (s->name[0])
		(void)json_object_set_new(row, "name", json_string(s->name));
	if (s->parent[0])
		(void)json_object_set_new(row, "parent", json_string(s->parent));
	if (s->is_tainted)
		(void)json_object_set_new(row, "untrusted", json_true());
	lifetime_tell_stored(r, s, row);
	json_decref(order);
	return row;
}

/* Whose it is, for whoever sees everybody's. */
static json_t *with_owner(const struct registry *r, const char *owner, json_t *row)
{
	if (!r->owner && owner[0])
		(void)json_object_set_new(row, "owner", json_string(owner));
	return row;
}

static int add_listed(void *user, const struct journal_session *s, struct err *err)
{
	struct listing *l = user;
	struct roll *roll = l->registry->roll;
	(void)err;
	if (!registry_sees(l->registry, s->owner))
		return 0;
	const struct entry *live = roll_live(roll, s->id);
	json_t *row = live ? entry_json(live) : row_json(roll, s, "stored");
	(void)json_array_append_new(l->rows, with_owner(l->registry, s->owner, row));
	return 0;
}

json_t *registry_list(struct registry *r, struct err *err)
{
	struct listing l = {r, json_array()};
	if (journal_sessions(r->roll->journal, true, add_listed, &l, err) < 0) {
		json_decref(l.rows);
		return NULL;
	}
	json_t *rows = json_array(); /* those that are not kept yet are the newest */
	for (const struct entry *e = r->roll->first; e; e = e->next)
		if (e->state != ENTRY_ENDING && !e->is_kept && !e->is_unkept &&
			registry_sees(r, e->owner))
			(void)json_array_append_new(rows, with_owner(r, e->owner, entry_json(e)));
	for (size_t i = json_array_size(l.rows); i-- > 0;)
		(void)json_array_append(rows, json_array_get(l.rows, i));
	json_decref(l.rows);
	return json_pack("{s:o}", "sessions", rows);
}

static int stored(
	struct registry *r, const char *session, struct journal_session *out, struct err *err)
{
	struct found found;
	int bad = registry_look_up(r, session, &found, err);
	if (bad < 0)
		return bad;
	if (found.live && !found.live->is_kept) {
		err_set(err, ERR_BUSY, "session %s is being made", found.id);
		return err_hint(err, "ask again in a moment");
	}
	return journal_session_get(r->roll->journal, found.id, out, err);
}

json_t *registry_get(struct registry *r, const char *session, struct err *err)
{
	struct journal_session row = {0};
	struct found found;
	if (registry_look_up(r, session, &found, err) < 0)
		return NULL;
	if (found.live)
		return with_owner(r, found.live->owner, entry_json(found.live));
	if (stored(r, session, &row, err) < 0)
		return NULL;
	json_t *out = with_owner(
		r, row.owner, row_json(r->roll, &row, row.closed_ms ? "closed" : "stored"));
	journal_session_done(&row);
	return out;
}

/*
 * Steps on their way out. One step of the journal can be in the past of several sessions, also of
 * different owners, when the same code came to the same result. It says in which it was made first,
 * when, and what became of it there. An owner is told the same of the first that is his, so that
 * nothing shows whether anybody else was there before.
 */
struct telling {
	const struct registry *registry;
	const char *session; /* whose steps are told */
	json_t *rows;
	char first[JOURNAL_ID_BYTES]; /* the session asked about last, and is it the owner's? */
	bool is_own;
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
	t->is_own = journal_session_of(t->registry->roll->journal, registry_owner(t->registry),
			    node->session, &row, &err) == 0;
	if (t->is_own)
		journal_session_done(&row);
	return t->is_own;
}

static json_t *row_of(const struct journal_node *node, const char *session, const char *outcome,
	int64_t created_ms)
{
	json_t *code = json_stringn(node->code, node->code_bytes);
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
		int r = journal_again(t->registry->roll->journal, registry_owner(t->registry),
			node->digest, &again, err);
		if (r < 0)
			return r;
		session = r > 0 ? again.session : t->session;
		outcome = record_outcome_word(
			r > 0 && again.is_back ? RECORD_ROLLED_BACK : RECORD_COMMITTED);
		created_ms = r > 0 ? again.at_ms : 0;
	}
	(void)json_array_append_new(t->rows, row_of(node, session, outcome, created_ms));
	return 0;
}

/* A step on the way to a head is part of its state, whatever it was when it was run first. */
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
	json_t *path; /* rows by digest: of steps on the path whose attempt has not been met */
};

/* The newest that was kept is what stands on the path. */
static int add_attempt(void *user, const struct journal_node *node, struct err *err)
{
	struct attempts *a = user;
	json_t *row = json_object_get(a->path, node->digest);
	(void)err;
	if (row && strcmp(node->outcome, "rolled_back") != 0) {
		(void)json_object_set_new(
			row, "created_ms", json_integer((json_int_t)node->created_ms));
		(void)json_object_set_new(row, "at", json_integer((json_int_t)node->attempt));
		(void)json_object_del(a->path, node->digest);
		return 0;
	}
	row = row_of(node, node->session, node->outcome, node->created_ms);
	(void)json_object_set_new(row, "at", json_integer((json_int_t)node->attempt));
	(void)json_array_append_new(a->telling->rows, row);
	return 0;
}

static int by_member(const void *a, const void *b, const char *name)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	json_int_t i = json_integer_value(json_object_get(x, name));
	json_int_t j = json_integer_value(json_object_get(y, name));
	return (i < j) - (i > j);
}

static int by_seq(const void *a, const void *b)
{
	return by_member(a, b, "seq");
}

static int by_time(const void *a, const void *b)
{
	int r = by_member(a, b, "created_ms");
	return r ? r : by_seq(a, b);
}

static int by_attempt(const void *a, const void *b)
{
	return by_member(a, b, "at");
}

typedef int order_fn(const void *a, const void *b);

/* Newest first; without @order they stand so already. The numbers count everybody's steps: an owner
 * is not told them. */
static json_t *sorted(const struct registry *r, const json_t *rows, order_fn *order)
{
	size_t n = json_array_size(rows);
	json_t *out = json_array();
	json_t **all = calloc(n + 1, sizeof(json_t *));
	for (size_t i = 0; all && i < n; i++)
		all[i] = json_array_get(rows, i);
	if (all && n > 0 && order)
		qsort(all, n, sizeof(json_t *), order);
	for (size_t i = 0; all && i < n; i++) {
		(void)json_object_del(all[i], "at");
		if (r->owner)
			(void)json_object_del(all[i], "seq");
		(void)json_array_append(out, all[i]);
	}
	free(all);
	return out;
}

/* With each attempt that was rolled back or gone back behind. Those of other sessions, on the way
 * to where this one was branched, come before all that it has run. Returns: how many attempts. */
static int64_t add_others(struct telling *t, struct err *err)
{
	struct attempts a = {t, json_object()};
	for (size_t i = 0; i < json_array_size(t->rows); i++) {
		json_t *row = json_array_get(t->rows, i);
		(void)json_object_set_new(row, "on_path", json_true());
		(void)json_object_set_new(row, "at", json_integer(-(json_int_t)i));
		(void)json_object_set(a.path, json_string_value(json_object_get(row, "step")), row);
	}
	int64_t n = journal_session_steps(
		t->registry->roll->journal, t->session, LOG_MAX, add_attempt, &a, err);
	json_decref(a.path);
	return n;
}

json_t *registry_log(struct registry *r, const char *session, bool is_all, struct err *err)
{
	struct journal_session row;
	if (stored(r, session, &row, err) < 0)
		return NULL;
	struct telling t = {.registry = r, .session = row.id, .rows = json_array()};
	int64_t n = journal_ancestors(r->roll->journal, row.head, LOG_MAX, add_kept, &t, err);
	int64_t n_all = n >= 0 && is_all ? add_others(&t, err) : 0;
	bool is_good = n >= 0 && n_all >= 0;
	json_t *out = is_good ? json_pack("{s:s, s:s, s:o}", "session", row.id, "head", row.head,
					"steps", sorted(r, t.rows, is_all ? by_attempt : NULL))
			      : NULL;
	if (out && (n == LOG_MAX || n_all == LOG_MAX))
		(void)json_object_set_new(out, "truncated", json_true());
	json_decref(t.rows);
	journal_session_done(&row);
	return out;
}

struct graph {
	struct telling telling;
	json_t *seen; /* by digest */
	json_t *heads;
};

static int add_new_step(void *user, const struct journal_node *node, struct err *err)
{
	struct graph *g = user;
	if (json_object_get(g->seen, node->digest))
		return 1; /* from here on they are there */
	(void)json_object_set_new(g->seen, node->digest, json_true());
	int r = add_kept(&g->telling, node, err);
	return r < 0 ? r : json_array_size(g->telling.rows) >= LOG_MAX;
}

static int add_head(void *user, const struct journal_session *s, struct err *err)
{
	struct graph *g = user;
	struct roll *roll = g->telling.registry->roll;
	if (!registry_sees(g->telling.registry, s->owner))
		return 0;
	g->telling.session = s->id;
	int64_t n = journal_ancestors(roll->journal, s->head, 0, add_new_step, g, err);
	(void)json_array_append_new(g->heads, row_json(roll, s, s->closed_ms ? "closed" : "open"));
	return n < 0 ? (int)n : 0;
}

json_t *registry_graph(struct registry *r, struct err *err)
{
	struct graph g = {
		{.registry = r, .session = "", .rows = json_array()}, json_object(), json_array()};
	const json_t *steps = g.telling.rows;
	json_t *out = NULL;
	if (journal_sessions(r->roll->journal, true, add_head, &g, err) >= 0)
		out = json_pack("{s:o, s:O}", "steps",
			sorted(r, steps, r->owner ? by_time : by_seq), "heads", g.heads);
	if (out && json_array_size(steps) >= LOG_MAX)
		(void)json_object_set_new(out, "truncated", json_true());
	json_decref(g.seen);
	json_decref(g.telling.rows);
	json_decref(g.heads);
	return out;
}

json_t *registry_templates(struct registry *r, struct err *err)
{
	(void)err;
	return templates_json(r->roll->templates, r->owner ? registry_owner(r) : NULL);
}

/* ---- in numbers ---- */

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
	const struct roll *roll = r->roll;
	uint64_t n_kept = 0;
	struct err err;
	*out = (struct stats){.n_expired = roll->n_expired, .steps = roll->steps};
	for (int i = 0; i < ADMIT_END_; i++)
		out->n_refused[i] = roll->n_refused[i];
	for (const struct entry *e = roll->first; e; e = e->next) {
		add_entry(out, e);
		n_kept += e->is_kept && e->state != ENTRY_ENDING;
	}
	int64_t n = journal_session_count(roll->journal, NULL, &err);
	out->n_sessions[STATS_STORED] = n > (int64_t)n_kept ? (uint64_t)n - n_kept : 0;
	out->journal_bytes = journal_bytes(roll->journal);
	out->n_journal_changes = journal_changes(roll->journal);
	out->n_templates = templates_stats(roll->templates, out->templates, TEMPLATES_MAX);
}

int registry_export(
	struct registry *r, const char *session, char **out, size_t *bytes, struct err *err)
{
	struct journal_session row;
	int bad = stored(r, session, &row, err);
	if (bad < 0)
		return bad;
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);
	bad = f ? journal_export(r->roll->journal, row.id, NULL, f, err)
		: err_set(err, ERR_NO_MEMORY, "no memory for the record");
	if (f && fclose(f) != 0 && bad == 0)
		bad = err_set(err, ERR_NO_MEMORY, "no memory for the record");
	if (bad == 0)
		*out = take_ptr(text);
	free(text);
	journal_session_done(&row);
	return bad;
}

/* ---- files ---- */

static int workspace_of(struct registry *r, const char *session, struct err *err)
{
	const struct entry *e = registry_find(r, session, err);
	if (!e)
		return -1;
	int fd = e->session ? session_workspace_fd(e->session) : -1;
	if (fd < 0) {
		err_set(err, ERR_BUSY, "the session's box is not there yet");
		err_hint(err, "run a step first, or ask again");
	}
	return fd;
}

/* What is listed: the rows, and what there is room for of volumes, which may be large. */
struct file_listing {
	json_t *rows;
	size_t room;
	bool is_cut;
};

static void add_file(
	struct file_listing *l, const char *above, const struct workspace_file *f, bool is_volume)
{
	cleanup_buf struct buf path = BUF_INIT(3 * 2 * 4096);
	if (utf8_repair(&path, above, strlen(above), NULL) < 0 ||
		(*above && buf_add(&path, "/") < 0) ||
		utf8_repair(&path, f->path, strlen(f->path), NULL) < 0)
		return;
	json_t *row = json_pack("{s:o, s:I, s:s, s:I}", "path",
		json_stringn(buf_str(&path), path.bytes), "size", (json_int_t)f->size_bytes, "mime",
		workspace_mime(f->path), "modified_ms", (json_int_t)(f->changed_ns / 1000000));
	if (is_volume)
		(void)json_object_set_new(row, "volume", json_true());
	(void)json_array_append_new(l->rows, row);
}

/* A volume is a file, or has files. @path is from the top; what lies deeper than a few volumes in
 * one another is left out. */
static void add_volume(struct file_listing *l, int top_fd, const char *path, int depth)
{
	struct workspace inside;
	struct stat st;
	struct err ignored;
	cleanup_fd int fd =
		sys_open_beneath(top_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || l->room == 0 || depth > VOLUMES_DEEP)
		return;
	if (S_ISREG(st.st_mode)) {
		const struct workspace_file file = {.path = (char *)(uintptr_t)path,
			.size_bytes = (uint64_t)st.st_size,
			.changed_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec};
		l->room--;
		add_file(l, "", &file, true);
	}
	if (!S_ISDIR(st.st_mode) || workspace_scan_some(&inside, fd, l->room, &ignored) < 0)
		return;
	l->room -= inside.n_files;
	l->is_cut = l->is_cut || inside.is_cut;
	for (size_t i = 0; i < inside.n_files; i++) {
		const struct workspace_file *f = &inside.files[i];
		cleanup_buf struct buf whole = BUF_INIT(2 * 4096);
		if (f->kind == WORKSPACE_FILE)
			add_file(l, path, f, true);
		else if (f->kind == WORKSPACE_MOUNT &&
			buf_addf(&whole, "%s/%s", path, f->path) == 0)
			add_volume(l, top_fd, buf_str(&whole), depth + 1);
	}
	workspace_done(&inside);
}

json_t *registry_file_list(struct registry *r, const char *session, struct err *err)
{
	struct workspace now;
	int fd = workspace_of(r, session, err);
	if (fd < 0 || workspace_scan(&now, fd, err) < 0)
		return NULL;
	struct file_listing l = {
		.rows = json_array(), .room = VOLUME_FILES_MAX, .is_cut = now.is_cut};
	for (size_t i = 0; i < now.n_files; i++) {
		if (now.files[i].kind == WORKSPACE_FILE)
			add_file(&l, "", &now.files[i], false);
		else if (now.files[i].kind == WORKSPACE_MOUNT)
			add_volume(&l, fd, now.files[i].path, 0);
	}
	json_t *out = json_pack("{s:o}", "files", l.rows);
	if (l.is_cut)
		(void)json_object_set_new(out, "truncated", json_true());
	workspace_done(&now);
	return out;
}

static json_t *content_json(
	const char *path, char *data, size_t bytes, const struct stat *st, uint64_t offset)
{
	bool is_text = utf8_is_valid(data, bytes);
	size_t room = base64_bytes(bytes);
	char *coded = is_text ? NULL : malloc(room + 1);
	if (coded)
		base64_encode(coded, data, bytes);
	json_t *content = is_text ? json_stringn_nocheck(data, bytes)
		: coded		  ? json_stringn_nocheck(coded, room)
				  : NULL;
	free(coded);
	json_t *out = content ? json_pack("{s:s, s:o, s:s, s:I, s:I}", "path", path, "content",
					content, "encoding", is_text ? "utf-8" : "base64", "size",
					(json_int_t)st->st_size, "offset", (json_int_t)offset)
			      : NULL;
	/* Who copies files out makes one of those names, too. */
	if (out && st->st_nlink > 1)
		(void)json_object_set_new(out, "inode",
			json_sprintf("%llx-%llx", (unsigned long long)st->st_dev,
				(unsigned long long)st->st_ino));
	return out;
}

json_t *registry_file_read(struct registry *r, const char *session, const char *path,
	uint64_t offset, uint64_t limit, struct err *err)
{
	struct stat st;
	char clean[WIRE_PATH_BYTES];
	int dir = file_path_clean(path, clean, err) < 0 ? -1 : workspace_of(r, session, err);
	if (dir < 0)
		return NULL;
	path = clean;
	cleanup_fd int fd =
		sys_open_beneath(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) < 0) {
		bool is_missing = errno == ENOENT;
		if (errno == ELOOP) {
			err_set(err, ERR_ACCESS,
				"read %s: it is, or leads through, a symbolic link", path);
			err_hint(err, "links are not followed: name the file itself");
			return NULL;
		}
		err_sys(err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, errno, "read %s", path);
		if (is_missing)
			err_hint(err, "`file.list` lists them");
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_ACCESS, "%s is no regular file", path);
		return NULL;
	}
	size_t room = (size_t)MIN(limit ? limit : READ_MAX, (uint64_t)READ_MAX);
	room = (size_t)MIN((uint64_t)room, (uint64_t)st.st_size);
	char *data = malloc(room + 1);
	ssize_t n = data ? pread(fd, data, room, (off_t)offset) : -1;
	json_t *out = n < 0 ? NULL : content_json(path, data, (size_t)n, &st, offset);
	free(data);
	if (!out)
		err_set(err, ERR_IO, "cannot read %s", path);
	return out;
}
