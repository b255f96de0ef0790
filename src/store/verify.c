/* Verification of the whole journal. SPDX-License-Identifier: Apache-2.0 */
#include "store/inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct check {
	struct journal *j;
	journal_damage_fn *fn;
	void *user;
	int64_t n_damaged;
	/* How many steps, blobs and sessions exist according to the log of changes. */
	int64_t n_nodes, n_blobs, n_sessions;
	struct err err; /* error of the row being examined */
};

static void tell(struct check *c, const char *what, const char *why)
{
	c->n_damaged++;
	c->fn(c->user, what, why);
}

/* Report "@what @n". */
static void tell_number(struct check *c, const char *what, int64_t n, const char *why)
{
	char name[64];
	snprintf(name, sizeof name, "%s %lld", what, (long long)n);
	tell(c, name, why);
}

/* Report c->err, whose message has the form "step 3f9a…: why". */
static void tell_error(struct check *c)
{
	char what[ERR_MSG_BYTES];
	memcpy(what, c->err.msg, sizeof what);
	char *colon = strstr(what, ": ");
	if (colon)
		*colon = '\0';
	tell(c, what, colon ? colon + 2 : c->err.msg);
}

/* Verify the file page by page, without SQLite's page cache. */
static int check_pages(struct check *c, struct err *err)
{
	unsigned char page[PAGE_BYTES];
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	if (sqlite3_file_control(c->j->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
		!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return db_fail(c->j, "read journal.db", err);
	for (sqlite3_int64 at = 0; at < size; at += PAGE_BYTES) {
		c->j->vfs.bad_page = 0;
		int code = file->pMethods->xRead(file, page, PAGE_BYTES, at);
		if (c->j->vfs.bad_page > 0)
			tell_number(c, "page", at / PAGE_BYTES + 1, "it is damaged");
		else if (code != SQLITE_OK)
			tell_number(c, "page", at / PAGE_BYTES + 1, "it cannot be read");
	}
	return 0;
}

static void check_structure(struct check *c)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(c->j->db, "PRAGMA integrity_check(100)", -1, &s, NULL);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);
		if (text && strcmp(text, "ok") != 0)
			tell(c, "journal.db", text);
		code = SQLITE_OK;
	}
	if (code != SQLITE_DONE)
		tell(c, "journal.db", sqlite3_errmsg(c->j->db));
	(void)sqlite3_finalize(s);
}

static void check_blobs(struct check *c)
{
	int64_t id = 0;
	for (;;) {
		cleanup_stmt sqlite3_stmt *s = db_stmt(c->j, STMT_BLOB_NEXT, &c->err);
		if (!s) {
			tell_error(c);
			return;
		}
		(void)sqlite3_bind_int64(s, 1, id);
		int r = db_step_on(c->j, s, id, "blobs", &c->err);
		if (r < 0)
			tell_error(c);
		if (r <= 0)
			return;
		id = sqlite3_column_int64(s, 0);
		if (blob_check(s, &c->err) < 0)
			tell_error(c);
	}
}

static int64_t next_node(struct check *c, int64_t after)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(c->j, STMT_NODE_NEXT, &c->err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, after);
	int r = db_step_on(c->j, s, after, "steps", &c->err);
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

static void check_nodes(struct check *c)
{
	int64_t seq = 0;
	while ((seq = next_node(c, seq)) > 0) {
		struct journal_node node;
		if (node_read(c->j, seq, JOURNAL_WHOLE, &node, &c->err) < 0)
			tell_error(c);
		journal_node_done(&node);
	}
	if (seq < 0)
		tell_error(c);
}

/* Check that the step or blob of change @seq can be found by its digest. */
static void check_noted(
	struct check *c, int64_t seq, enum change_kind kind, const unsigned char *digest)
{
	char hex[DIGEST_BYTES], what[80];
	sqlite3_stmt *b = NULL;
	int64_t r;
	digest_write(hex, digest);
	snprintf(what, sizeof what, "%s %s", kind == CHANGE_BLOB ? "blob" : "step", hex);
	if (kind == CHANGE_BLOB) {
		b = db_stmt(c->j, STMT_BLOB_FIND, &c->err);
		if (b)
			db_bind(b, 1, digest, DIGEST_RAW_BYTES);
		r = b && db_step(c->j, b, "blob", &c->err) > 0 ? 1 : -1;
		stmt_reset(&b);
		c->n_blobs++;
	} else if (kind == CHANGE_MOVE) {
		/* An undo may have moved the head to a step that was pruned later, so the step
		 * may be missing. */
		return;
	} else {
		r = node_seq(c->j, hex, &c->err);
		c->n_nodes += kind == CHANGE_STEP;
	}
	if (r < 0) {
		char why[64];
		snprintf(why, sizeof why, "change %lld made it, and it is not there",
			(long long)seq);
		tell(c, what, why);
	}
}

/* Verify a gap: its checksum, and that it follows the change before it. Returns: the number of its
 * last change. */
static int64_t check_gap(struct check *c, struct chain_end *end, sqlite3_stmt *s)
{
	unsigned char seal[SEAL_BYTES];
	int64_t seq = sqlite3_column_int64(s, 0), first = sqlite3_column_int64(s, 4);
	struct cell stored = db_cell(s, 5);
	log_gap_seal(seal, first, seq, db_cell(s, 6));
	if (stored.bytes != SEAL_BYTES || memcmp(seal, stored.data, SEAL_BYTES) != 0 ||
		!db_copy(s, 6, end->chain, CHAIN_BYTES))
		tell_number(c, "change", seq, "it is damaged");
	if (first != end->seq + 1)
		tell_number(c, "change", end->seq + 1, "it is missing");
	return end->seq = seq;
}

/* Verify the next change. Returns: its number, 0 after the last one, or negative errno. */
static int64_t check_change(struct check *c, struct chain_end *end)
{
	unsigned char chain[CHAIN_BYTES], digest[DIGEST_RAW_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(c->j, STMT_CHANGE_NEXT, &c->err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, end->seq);
	int r = db_step_on(c->j, s, end->seq, "log of changes", &c->err);
	if (r <= 0)
		return r;
	int64_t seq = sqlite3_column_int64(s, 0), kind = sqlite3_column_int64(s, 1);
	if (kind == CHANGE_GAP)
		return check_gap(c, end, s);
	if (seq != end->seq + 1)
		tell_number(c, "change", end->seq + 1, "it is missing");
	log_chain(chain, end->chain, s);
	if (!db_copy(s, 6, end->chain, CHAIN_BYTES) || memcmp(chain, end->chain, CHAIN_BYTES) != 0)
		tell_number(c, "change", seq, "it is damaged");
	if (db_copy(s, 3, digest, sizeof digest))
		check_noted(c, seq, (enum change_kind)kind, digest);
	c->n_sessions += kind == CHANGE_SESSION;
	return end->seq = seq;
}

static void check_changes(struct check *c)
{
	struct chain_end end = {0};
	int64_t r;
	while ((r = check_change(c, &end)) > 0)
		;
	if (r < 0)
		tell_error(c);
	if (end.seq != c->j->last.seq || memcmp(end.chain, c->j->last.chain, CHAIN_BYTES) != 0)
		tell(c, "log of changes", "it does not end where it did");
}

static int check_session(void *user, const struct journal_session *session, struct err *err)
{
	struct check *c = user;
	const char *const places[] = {session->fork, session->head};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char what[96];
		if (session->is_forgotten || !places[i][0] || node_seq(c->j, places[i], err) >= 0)
			continue;
		snprintf(what, sizeof what, "session %s", session->id);
		tell(c, what,
			i ? "its current step is missing"
			  : "the step that it was branched from is missing");
	}
	return 0;
}

/* Check that the row of each session is the one that its last change wrote. */
static void check_sessions(struct check *c)
{
	int r;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(c->j, STMT_SESSION_CHANGES, &c->err);
		while ((r = s ? db_step(c->j, s, "sessions", &c->err) : -EIO) > 0) {
			struct cell logged = db_cell(s, 2), stored = db_cell(s, 4);
			if (sqlite3_column_int64(s, 1) == sqlite3_column_int64(s, 3) &&
				logged.bytes == stored.bytes &&
				memcmp(logged.data, stored.data, logged.bytes) == 0)
				continue;
			tell_number(c, "session number", sqlite3_column_int64(s, 0),
				"it differs from its last change");
		}
	}
	if (r < 0)
		tell_error(c);
	if (journal_sessions(c->j, check_session, c, &c->err) < 0)
		tell_error(c);
}

static void check_counts(struct check *c)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(c->j, STMT_COUNTS, &c->err);
	if (!s || db_step(c->j, s, "count", &c->err) <= 0) {
		tell_error(c);
		return;
	}
	if (sqlite3_column_int64(s, 0) != c->n_nodes)
		tell(c, "steps", "the log of changes has another number of them");
	if (sqlite3_column_int64(s, 1) != c->n_sessions)
		tell(c, "sessions", "the log of changes has another number of them");
	if (sqlite3_column_int64(s, 2) != c->n_blobs)
		tell(c, "blobs", "the log of changes has another number of them");
}

int64_t journal_verify(struct journal *j, journal_damage_fn *fn, void *user, struct err *err)
{
	struct check c = {.j = j, .fn = fn, .user = user};
	/* Copy the write-ahead log to journal.db and empty SQLite's cache, so that the checks
	 * below read journal.db itself. */
	if (db_checkpoint(j, SQLITE_CHECKPOINT_TRUNCATE, &c.err) < 0) {
		if (c.err.code != ERR_DAMAGED) {
			*err = c.err;
			return -EIO;
		}
		tell_error(&c);
	}
	(void)sqlite3_db_release_memory(j->db);
	j->vfs.is_tolerant = true;
	int r = check_pages(&c, err);
	if (r == 0) {
		check_structure(&c);
		check_nodes(&c);
		check_blobs(&c);
		check_changes(&c);
		check_sessions(&c);
		check_counts(&c);
	}
	(void)sqlite3_db_release_memory(j->db);
	j->vfs.is_tolerant = false;
	return r < 0 ? r : c.n_damaged;
}
