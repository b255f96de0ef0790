/* Walks over the tree of steps. SPDX-License-Identifier: Apache-2.0 */
#include "store/inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A change that created a step, or that ran an existing step again. */
struct attempt {
	int64_t seq, at_ms;
	enum change_kind kind;
	const char *session;
	char digest[DIGEST_BYTES];
};

struct walk {
	enum journal_read how;
	journal_node_fn *fn;
	void *user;
	const char *want;	       /* digest that the step must have; NULL: any */
	const char *parent;	       /* digest that the step's parent must have; NULL: any */
	const struct attempt *attempt; /* the run of the step to report; NULL: the first run */
	char next[DIGEST_BYTES];       /* digest of the step's parent */
};

static void tell_attempt(struct journal_node *node, const struct attempt *a)
{
	bool is_back = strcmp(node->outcome, "rolled_back") == 0;
	node->attempt = a->seq;
	snprintf(node->session, sizeof node->session, "%s", a->session);
	if (a->kind == CHANGE_STEP)
		return;
	node->created_ms = a->at_ms;
	if (a->kind == CHANGE_AGAIN ? is_back : strcmp(node->outcome, "lost") != 0)
		snprintf(node->outcome, sizeof node->outcome, "%s",
			a->kind == CHANGE_AGAIN ? "committed" : "rolled_back");
}

/* Read a step and call the callback. No statement is in use meanwhile, so the callback may use the
 * journal. */
static int tell(struct journal *j, int64_t seq, struct walk *w, struct err *err)
{
	struct journal_node node;
	int r = node_read(j, seq, w->how, &node, err);
	if (r < 0)
		return r;
	memcpy(w->next, node.parent, sizeof w->next);
	if (w->attempt)
		tell_attempt(&node, w->attempt);
	if ((w->want && strcmp(node.digest, w->want) != 0) ||
		(w->parent && strcmp(node.parent, w->parent) != 0))
		r = err_set(err, ERR_DAMAGED, "step %s: it is in the place of another step",
			node.digest);
	else
		r = w->fn(w->user, &node, err);
	journal_node_done(&node);
	return r;
}

int64_t journal_way_up(struct journal *j, struct journal_way *way, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err)
{
	struct walk w = {.how = way->how, .fn = fn, .user = user};
	int64_t n = 0;
	int r = way->at[0] ? text_check(way->at, sizeof way->at, "step", err) : 0;
	while (way->at[0] && r == 0 && (max == 0 || (uint64_t)n < max)) {
		bool is_first = way->before == 0;
		int64_t seq = node_seq(j, way->at, err);
		if (seq < 0 && !is_first && err->code == ERR_NOT_FOUND)
			return err_set(err, ERR_DAMAGED, "step %s: it is missing", way->at);
		if (seq < 0)
			return seq;
		/* A parent must have a lower row number than its child, so this loop ends. */
		if (!is_first && seq >= way->before)
			return err_set(
				err, ERR_DAMAGED, "step %s: it is its own ancestor", way->at);
		way->before = seq;
		w.want = is_first ? NULL : way->at;
		r = tell(j, seq, &w, err);
		memcpy(way->at, w.next, sizeof way->at);
		n += r >= 0;
	}
	return r < 0 ? r : n;
}

static int begin_way(struct journal_way *way, const char *digest, struct err *err)
{
	if (text_check(digest, sizeof way->at, "step", err) < 0)
		return -err_errno(err->code);
	memcpy(way->at, digest, strlen(digest) + 1);
	return 0;
}

int64_t journal_ancestors(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err)
{
	struct journal_way way = {.how = JOURNAL_WHOLE};
	int r = begin_way(&way, digest, err);
	return r < 0 ? r : journal_way_up(j, &way, max, fn, user, err);
}

int64_t journal_brief(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err)
{
	struct journal_way way = {.how = JOURNAL_BRIEF};
	int r = begin_way(&way, digest, err);
	return r < 0 ? r : journal_way_up(j, &way, max, fn, user, err);
}

static int64_t next_child(struct journal *j, int64_t parent, int64_t after, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_CHILD, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, parent);
	(void)sqlite3_bind_int64(s, 2, after);
	int r = db_step_on(j, s, after, "steps", err);
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

int64_t journal_children(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err)
{
	char parent_hex[DIGEST_BYTES] = "";
	struct walk w = {.fn = fn, .user = user, .parent = parent_hex};
	int64_t n = 0, seq = 0, parent = 0;
	int r = 0;
	if (digest[0]) {
		struct journal_node node;
		r = journal_node_get(j, digest, &node, err);
		if (r < 0)
			return r;
		parent = node.seq;
		memcpy(parent_hex, node.digest, sizeof parent_hex);
		journal_node_done(&node);
	}
	while (r == 0 && (max == 0 || (uint64_t)n < max)) {
		seq = next_child(j, parent, seq, err);
		if (seq <= 0)
			return seq < 0 ? seq : n;
		r = tell(j, seq, &w, err);
		n += r >= 0;
	}
	return r < 0 ? r : n;
}

static int64_t get_depth(
	struct journal *j, const unsigned char name[DIGEST_RAW_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_DEPTH, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, name, DIGEST_RAW_BYTES);
	int r = db_step(j, s, "steps", err);
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

static int pass(void *user, const struct journal_node *node, struct err *err)
{
	(void)user, (void)node, (void)err;
	return 0;
}

int64_t journal_depth(struct journal *j, const char *digest, struct err *err)
{
	unsigned char name[DIGEST_RAW_BYTES];
	struct err named;
	if (!digest[0])
		return 0;
	if (digest_read(name, digest) < 0)
		return digest_check(digest, "step", err);
	int64_t n = get_depth(j, name, err);
	/* Walk step by step, so that the error message names the damaged step. */
	if (n < 0 && err->code == ERR_DAMAGED &&
		journal_ancestors(j, digest, 0, pass, NULL, &named) < 0)
		*err = named;
	return n;
}

int journal_again(struct journal *j, const char *owner, const char *digest,
	struct journal_again *out, struct err *err)
{
	unsigned char name[DIGEST_RAW_BYTES];
	if (digest_read(name, digest) < 0)
		return digest_check(digest, "step", err);
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_STEP_AGAIN, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, name, sizeof name);
	(void)sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
	int r = db_step(j, s, "steps", err);
	if (r <= 0)
		return r;
	*out = (struct journal_again){
		.at_ms = sqlite3_column_int64(s, 1), .is_back = sqlite3_column_int(s, 2) != 0};
	if (!db_text(s, 0, out->session, sizeof out->session))
		return err_set(err, ERR_DAMAGED, "step %s: its session's id is too long", digest);
	return 1;
}

/*
 * Go one run back in the log of changes. A run of a step is a change in this log. Find the newest
 * change by which session number @session ran a step and whose number is lower than a->seq. Fill @a
 * with this change.
 * Returns: 1; 0 if there is no such change; or negative errno.
 */
static int next_attempt(struct journal *j, int64_t session, struct attempt *a, struct err *err)
{
	unsigned char name[DIGEST_RAW_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_STEP, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, session);
	(void)sqlite3_bind_int64(s, 2, a->seq);
	int r = db_step(j, s, "change", err);
	if (r <= 0)
		return r;
	a->seq = sqlite3_column_int64(s, 0);
	a->kind = (enum change_kind)sqlite3_column_int(s, 2);
	a->at_ms = sqlite3_column_int64(s, 3);
	if (!db_copy(s, 1, name, sizeof name))
		return err_set(
			err, ERR_DAMAGED, "change %lld: it names no step", (long long)a->seq);
	digest_write(a->digest, name);
	return 1;
}

int64_t journal_session_steps(struct journal *j, struct journal_attempts *of, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err)
{
	struct attempt a = {.seq = of->before > 0 ? of->before : INT64_MAX, .session = of->session};
	struct walk w = {.how = of->how, .fn = fn, .user = user, .want = a.digest, .attempt = &a};
	struct session_row row;
	int64_t n = 0;
	int r = session_find(j, of->session, &row, err);
	if (r < 0)
		return r;
	while (r == 0 && (max == 0 || (uint64_t)n < max)) {
		r = next_attempt(j, row.n, &a, err);
		if (r <= 0)
			break;
		int64_t seq = node_seq(j, a.digest, err);
		r = seq < 0 ? (int)seq : tell(j, seq, &w, err);
		of->before = a.seq;
		n += r >= 0;
	}
	return r < 0 ? r : n;
}
