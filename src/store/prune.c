/* SPDX-License-Identifier: Apache-2.0 */
#include "store/prune.h"

#include "base/alloc.h"
#include "store/account.h"
#include "store/call_step.h"
#include "store/file_step.h"
#include "store/gap.h"
#include "store/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * ROWS_EACH and BYTES_EACH limit the work of one call of journal_prune_part(): ROWS_EACH is the
 * number of rows that the call examines, BYTES_EACH the number of bytes of blobs that it deletes.
 * NOTED_MAX is the number of digests that the journal's list `noted` has at most when a pruning
 * begins.
 * PREFIX_BYTES is the number of bytes that STMT_BLOB_PREFIX reads of a blob.
 */
enum { ROWS_EACH = 64, BYTES_EACH = 1 << 20, NOTED_MAX = 1 << 16, PREFIX_BYTES = 9 };

enum phase { PHASE_STEPS, PHASE_NODES, PHASE_ORDERS, PHASE_BLOBS, PHASE_ROOM, PHASE_END_ };

/*
 * Theory: steps are examined from the newest to the oldest. A step is deleted if it has no child,
 * if no session that is kept ran it, and if no session that is kept was branched from it. Then all
 * references to blobs are collected, and the blobs without a reference are deleted. Meanwhile,
 * blob_add() notes the blobs that become referenced.
 */
struct journal_prune {
	struct journal *j;
	enum phase phase;
	int64_t session; /* number of the current forgotten session; 0: find the next one */
	/* sessions with this number or a higher one have been examined in this pass */
	int64_t before;
	int64_t change; /* number of the change that was examined last in this session */
	char owner[JOURNAL_OWNER_BYTES];
	unsigned char order[DIGEST_RAW_BYTES];
	bool has_gone_on; /* this pass has deleted a step or a session */
	/* Row numbers: of the row that was examined last, and of the last row to examine. */
	int64_t at, last;
	struct digest_list used;
	/* Number of digests of j->noted that were already copied to `used`. */
	size_t n_noted;
	int64_t n_free;
	struct journal_pruned done;
};

void digest_note(struct digest_list *l, const unsigned char digest[DIGEST_RAW_BYTES])
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		void *more = realloc(l->at, room * sizeof *l->at);
		if (!more) {
			l->is_broken = true;
			return;
		}
		l->at = more;
		l->room = room;
	}
	memcpy(l->at[l->n++], digest, DIGEST_RAW_BYTES);
}

static void settle_one(struct digest_list *l, const char *digest)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	if (!digest || digest_read(raw, digest) < 0)
		return;
	for (size_t i = l->n; i-- > 0;)
		if (memcmp(l->at[i], raw, DIGEST_RAW_BYTES) == 0) {
			memmove(l->at[i], l->at[--l->n], DIGEST_RAW_BYTES);
			return;
		}
}

void digest_settle(struct digest_list *l, const struct journal_node *node)
{
	struct file_step file;
	struct err ignored;
	if (l->n == 0)
		return;
	if (file_step_is(node)) {
		if (file_step_read(&file, node, &ignored) == 0)
			settle_one(l, file.digest);
		return;
	}
	json_t *calls = call_step_calls(node);
	for (size_t i = 0; i < json_array_size(calls); i++)
		settle_one(
			l, json_string_value(json_object_get(json_array_get(calls, i), "answer")));
	json_decref(calls);
}

void digest_list_done(struct digest_list *l)
{
	free(l->at);
	*l = (struct digest_list){0};
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, DIGEST_RAW_BYTES);
}

/* ---- marking sessions as forgotten ---- */

int64_t journal_forget(
	struct journal *j, const struct prune_which *which, bool is_dry, struct err *err)
{
	int64_t n = 0;
	int r = db_begin(j, err);
	if (r < 0)
		return r;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_FORGET_LIST, err);
		r = s ? 0 : -EIO;
		if (s && which->owner)
			(void)sqlite3_bind_text(s, 1, which->owner, -1, SQLITE_STATIC);
		if (s) {
			(void)sqlite3_bind_int64(s, 2, which->before_ms);
			(void)sqlite3_bind_int64(
				s, 3, (int64_t)MIN(which->keep, (uint64_t)INT64_MAX));
			(void)sqlite3_bind_int64(s, 4, is_dry ? -1 : PRUNE_FORGET_MAX);
		}
		while (r == 0 && (r = db_step(j, s, "session", err)) > 0) {
			cleanup_stmt sqlite3_stmt *set = db_stmt(j, STMT_FORGET, err);
			n++;
			if (set)
				(void)sqlite3_bind_int64(set, 1, sqlite3_column_int64(s, 0));
			r = is_dry ? 0 : set ? db_step(j, set, "session", err) : -EIO;
		}
	}
	r = db_commit(j, r, err);
	return r < 0 ? r : n;
}

/* ---- deletion of steps and sessions ---- */

static int drop_row(struct journal *j, enum stmt how, int64_t number, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, how, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, number);
	return db_step(j, s, "prune", err);
}

static int is_needed(struct journal *j, int64_t seq, const unsigned char digest[DIGEST_RAW_BYTES],
	struct err *err)
{
	char hex[DIGEST_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_NEEDED, err);
	if (!s)
		return -EIO;
	digest_write(hex, digest);
	(void)sqlite3_bind_int64(s, 1, seq);
	db_bind(s, 2, digest, DIGEST_RAW_BYTES);
	(void)sqlite3_bind_text(s, 3, hex, -1, SQLITE_TRANSIENT);
	int r = db_step(j, s, "steps", err);
	return r > 0 ? sqlite3_column_int(s, 0) != 0 : r < 0 ? r : 1;
}

static int64_t blob_bytes(struct journal *j, const char *digest)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	struct err ignored;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_LENGTH, &ignored);
	if (!s || digest_read(raw, digest) < 0)
		return 0;
	db_bind(s, 1, raw, sizeof raw);
	return db_step(j, s, "blob", &ignored) > 0 ? sqlite3_column_int64(s, 0) : 0;
}

/* Compute all that was charged for a step: for the step itself when it was committed, and for
 * its file or the responses of its tools when these were stored. */
static int64_t whole_weight(struct journal *j, const struct journal_node *node)
{
	struct file_step file;
	struct err ignored;
	int64_t bytes = account_weight(node);
	if (file_step_is(node))
		return file_step_read(&file, node, &ignored) == 0 ? bytes + (int64_t)file.size_bytes
								  : bytes;
	json_t *calls = call_step_calls(node);
	for (size_t i = 0; i < json_array_size(calls); i++) {
		const char *answer =
			json_string_value(json_object_get(json_array_get(calls, i), "answer"));
		bytes += answer ? blob_bytes(j, answer) : 0;
	}
	json_decref(calls);
	return bytes;
}

static int credit(struct journal *j, const struct journal_node *node, struct err *err)
{
	char owner[JOURNAL_OWNER_BYTES];
	int r;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_OWNER, err);
		if (!s)
			return -EIO;
		(void)sqlite3_bind_text(s, 1, node->session, -1, SQLITE_STATIC);
		r = db_step(j, s, "session", err);
		if (r <= 0 || !db_text(s, 0, owner, sizeof owner))
			return MIN(r, 0);
	}
	return account_add(j, owner, -whole_weight(j, node), err);
}

/* Delete a step unless it is needed. Returns: 1 if deleted, 0 if kept, or negative errno. */
static int prune_step(struct journal_prune *p, int64_t seq,
	const unsigned char digest[DIGEST_RAW_BYTES], struct err *err)
{
	struct journal_node node;
	int r = is_needed(p->j, seq, digest, err);
	if (r != 0)
		return MIN(r, 0);
	r = node_read(p->j, seq, JOURNAL_WHOLE, &node, err);
	if (r < 0) /* a damaged step is kept for journal_verify() to report */
		return r == -EIO ? r : 0;
	r = credit(p->j, &node, err);
	journal_node_done(&node);
	if (r >= 0)
		r = gap_make(p->j, STMT_NODE_CHANGES, digest, p->session, err);
	if (r >= 0)
		r = drop_row(p->j, STMT_NODE_DROP, seq, err);
	p->done.n_steps += r >= 0;
	p->has_gone_on |= r >= 0;
	return r < 0 ? r : 1;
}

static int prune_session(struct journal_prune *p, struct err *err)
{
	struct journal *j = p->j;
	char hex[DIGEST_BYTES];
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_HAS, err);
		if (s)
			(void)sqlite3_bind_int64(s, 1, p->session);
		int has = s ? db_step(j, s, "session", err) : -EIO;
		if (has <= 0 || sqlite3_column_int(s, 0))
			return MIN(has, 0);
	}
	digest_write(hex, p->order);
	int r = account_add(j, p->owner, -(blob_bytes(j, hex) + ACCOUNT_ROW_BYTES), err);
	if (r >= 0)
		r = gap_make(j, STMT_SESSION_LOGGED, NULL, p->session, err);
	if (r >= 0)
		r = drop_row(j, STMT_SESSION_DROP, p->session, err);
	p->done.n_sessions += r >= 0;
	p->has_gone_on |= r >= 0;
	return r;
}

/* Find the next forgotten session. Returns: 1, 0 after the last one, or negative errno. */
static int next_session(struct journal_prune *p, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_FORGOTTEN_NEXT, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, p->before);
	int r = db_step(p->j, s, "session", err);
	if (r <= 0)
		return r;
	p->session = p->before = sqlite3_column_int64(s, 0);
	p->change = INT64_MAX;
	if (!db_text(s, 1, p->owner, sizeof p->owner) || !db_copy(s, 2, p->order, DIGEST_RAW_BYTES))
		return err_set(err, ERR_DAMAGED, "session number %lld: it is incomplete",
			(long long)p->session);
	return 1;
}

/* Do a small piece of the work. If there is no current session, find the next forgotten session.
 * Otherwise, delete the next step of the current session unless it is needed; after the last
 * step, delete the session unless some of its steps remain. Returns: 1; 0 after the last
 * session; or negative errno. */
static int prune_one(struct journal_prune *p, struct err *err)
{
	unsigned char digest[DIGEST_RAW_BYTES];
	int64_t seq = 0;
	if (p->session == 0)
		return next_session(p, err);
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_FORGOTTEN_STEP, err);
		if (!s)
			return -EIO;
		(void)sqlite3_bind_int64(s, 1, p->session);
		(void)sqlite3_bind_int64(s, 2, p->change);
		int r = db_step(p->j, s, "steps", err);
		if (r < 0)
			return r;
		if (r > 0 && db_copy(s, 2, digest, sizeof digest)) {
			p->change = sqlite3_column_int64(s, 0);
			seq = sqlite3_column_int64(s, 1);
		}
	}
	int r = seq > 0 ? prune_step(p, seq, digest, err) : prune_session(p, err);
	if (seq == 0)
		p->session = 0;
	return r < 0 ? r : 1;
}

static int part_steps(struct journal_prune *p, struct err *err)
{
	int r = 1;
	for (int i = 0; i < ROWS_EACH && r > 0; i++)
		r = prune_one(p, err);
	if (r != 0)
		return r;
	/* A step that was kept may have lost its last child since it was examined, because the
	 * child is in a session that was examined later. So repeat until a pass deletes nothing. */
	p->before = INT64_MAX;
	p->session = 0;
	if (!p->has_gone_on)
		p->phase = PHASE_NODES;
	p->has_gone_on = false;
	return 1;
}

/* ---- finding referenced blobs, and deletion of all others ---- */

static void note_hex(struct journal_prune *p, const char *digest)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	if (digest && digest_read(raw, digest) == 0)
		digest_note(&p->used, raw);
}

/*
 * Note the blobs to which a record refers: the content of a file, or the answers of tool calls.
 * Reading a long record takes time. So first read only the beginning of a long record, which shows
 * whether the record may have tool calls. The keys of canonical JSON are sorted: a record with tool
 * calls begins with the key "argv" if it has that key, and otherwise with "calls". A long record
 * that begins with another key has no tool calls, and is not read.
 */
static int note_record(struct journal_prune *p, const char *runtime, struct cell record,
	bool is_large, struct err *err)
{
	char *text = NULL;
	struct journal_node node = {.record = record.data, .record_bytes = record.bytes};
	struct file_step file;
	struct err ignored;
	if (is_large) {
		cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_BLOB_PREFIX, err);
		if (!s)
			return -EIO;
		db_bind(s, 1, record.data, record.bytes);
		int r = db_step(p->j, s, "blob", err);
		struct cell begin = r > 0 ? db_cell(s, 0) : (struct cell){"", 0};
		bool has_calls = begin.bytes == PREFIX_BYTES &&
			(memcmp(begin.data, "{\"calls\":", PREFIX_BYTES) == 0 ||
				memcmp(begin.data, "{\"argv\":[", PREFIX_BYTES) == 0);
		if (r < 0 || !has_calls)
			return MIN(r, 0);
		r = blob_read(p->j, record.data, true, &text, &node.record_bytes, err);
		if (r < 0)
			return r;
		node.record = text;
	}
	snprintf(node.runtime, sizeof node.runtime, "%s", runtime);
	if (file_step_is(&node) && file_step_read(&file, &node, &ignored) == 0)
		note_hex(p, file.digest);
	json_t *calls = call_step_calls(&node);
	for (size_t i = 0; i < json_array_size(calls); i++)
		note_hex(p, json_string_value(json_object_get(json_array_get(calls, i), "answer")));
	json_decref(calls);
	free(text);
	return 0;
}

/* Note the blobs of the next step. Returns: 1, 0 after the last step, or negative errno. */
static int note_node(struct journal_prune *p, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_NODE_TEXTS, err);
	char runtime[JOURNAL_WORD_BYTES];
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, p->at);
	int r = db_step_on(p->j, s, p->at, "steps", err);
	if (r <= 0)
		return r;
	p->at = sqlite3_column_int64(s, 0);
	int large = sqlite3_column_int(s, 1);
	for (int i = 0; i < 3; i++)
		if ((large >> i & 1) && db_cell(s, 3 + i).bytes == DIGEST_RAW_BYTES)
			digest_note(&p->used, db_cell(s, 3 + i).data);
	if (!db_text(s, 2, runtime, sizeof runtime))
		return err_set(
			err, ERR_DAMAGED, "step number %lld: it is incomplete", (long long)p->at);
	r = note_record(p, runtime, db_cell(s, 4), large >> 1 & 1, err);
	return r < 0 ? r : 1;
}

static int note_order(struct journal_prune *p, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_ORDER_NEXT, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, p->at);
	int r = db_step_on(p->j, s, p->at, "session", err);
	if (r <= 0)
		return r;
	p->at = sqlite3_column_int64(s, 0);
	if (db_cell(s, 1).bytes == DIGEST_RAW_BYTES)
		digest_note(&p->used, db_cell(s, 1).data);
	return 1;
}

static bool is_used(struct journal_prune *p, const unsigned char digest[DIGEST_RAW_BYTES])
{
	const struct digest_list *noted = &p->j->noted;
	if (p->used.n > 0 && bsearch(digest, p->used.at, p->used.n, DIGEST_RAW_BYTES, by_bytes))
		return true;
	for (size_t i = p->n_noted; i < noted->n; i++)
		if (memcmp(noted->at[i], digest, DIGEST_RAW_BYTES) == 0)
			return true;
	return false;
}

static int begin_blobs(struct journal_prune *p, struct err *err)
{
	struct digest_list *noted = &p->j->noted;
	for (size_t i = 0; i < noted->n; i++)
		digest_note(&p->used, noted->at[i]);
	p->n_noted = noted->n;
	if (p->used.is_broken || noted->is_broken)
		return err_set(err, ERR_NO_MEMORY, "no memory for a list of what is referred to");
	if (p->used.n > 0)
		qsort(p->used.at, p->used.n, DIGEST_RAW_BYTES, by_bytes);
	cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_BLOB_LAST, err);
	int r = s ? db_step(p->j, s, "blobs", err) : -EIO;
	p->last = r > 0 ? sqlite3_column_int64(s, 0) : 0;
	p->at = 0;
	p->phase = PHASE_BLOBS;
	return MIN(r, 0);
}

/* Delete the next blob unless it is referenced. Returns: the work done, measured in bytes; 0 after
 * the last blob; or negative errno. */
static int64_t prune_blob(struct journal_prune *p, struct err *err)
{
	unsigned char digest[DIGEST_RAW_BYTES];
	int64_t bytes;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_BLOB_ID_NEXT, err);
		if (!s)
			return -EIO;
		(void)sqlite3_bind_int64(s, 1, p->at);
		(void)sqlite3_bind_int64(s, 2, p->last);
		int r = db_step_on(p->j, s, p->at, "blobs", err);
		if (r <= 0)
			return r;
		p->at = sqlite3_column_int64(s, 0);
		bytes = sqlite3_column_int64(s, 2);
		if (!db_copy(s, 1, digest, sizeof digest) || is_used(p, digest))
			return 1;
	}
	int r = gap_make(p->j, STMT_BLOB_CHANGES, digest, 0, err);
	if (r >= 0)
		r = drop_row(p->j, STMT_BLOB_DROP, p->at, err);
	p->done.n_blobs += r >= 0;
	return r < 0 ? r : bytes + BYTES_EACH / ROWS_EACH;
}

static int part_blobs(struct journal_prune *p, struct err *err)
{
	int64_t r = 1, bytes = 0;
	for (int i = 0; i < ROWS_EACH && bytes < BYTES_EACH && r > 0; i++) {
		r = prune_blob(p, err);
		bytes += r;
	}
	if (r == 0)
		p->phase = PHASE_ROOM;
	return r < 0 ? (int)r : 1;
}

static int part_notes(
	struct journal_prune *p, int (*one)(struct journal_prune *, struct err *), struct err *err)
{
	int r = 1;
	for (int i = 0; i < ROWS_EACH && r > 0; i++)
		r = one(p, err);
	return r;
}

/* ---- return of free pages to the file system ---- */

static int64_t free_pages(struct journal *j, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_FREE_PAGES, err);
	int r = s ? db_step(j, s, "journal", err) : -EIO;
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

static int part_room(struct journal_prune *p, struct err *err)
{
	int64_t n = free_pages(p->j, err);
	if (n <= 0 || n == p->n_free) { /* no free page is left, or the last vacuum released none */
		p->phase = PHASE_END_;
		return n < 0 ? (int)n : db_checkpoint(p->j, SQLITE_CHECKPOINT_PASSIVE, err);
	}
	p->n_free = n;
	cleanup_stmt sqlite3_stmt *s = db_stmt(p->j, STMT_VACUUM, err);
	int r = s ? 1 : -EIO;
	while (r > 0)
		r = db_step(p->j, s, "journal", err);
	return r < 0 ? r : 1;
}

/* ---- beginning, phases and end of a pruning ---- */

int journal_prune_begin(struct journal_prune **out, struct journal *j, struct err *err)
{
	if (j->is_pruning)
		return err_set(err, ERR_BUSY, "the journal is being pruned already");
	struct journal_prune *p = xnew(struct journal_prune);
	p->j = j;
	p->before = INT64_MAX;
	p->n_free = -1;
	/* Shorten the list `noted` to its newest NOTED_MAX digests. While the digest of a blob
	 * is in the list, the blob is not deleted. A digest leaves the list when a step that
	 * refers to the blob is stored. If NOTED_MAX newer digests are in the list, such a step
	 * is no longer expected. */
	struct digest_list *noted = &j->noted;
	if (noted->n > NOTED_MAX) {
		memmove(noted->at, noted->at + (noted->n - NOTED_MAX),
			NOTED_MAX * sizeof *noted->at);
		noted->n = NOTED_MAX;
	}
	j->is_pruning = true;
	*out = p;
	return 0;
}

static int part(struct journal_prune *p, struct err *err)
{
	int r;
	switch (p->phase) {
	case PHASE_STEPS:
		return part_steps(p, err);
	case PHASE_NODES:
		r = part_notes(p, note_node, err);
		if (r == 0) {
			p->phase = PHASE_ORDERS;
			p->at = 0;
		}
		return r < 0 ? r : 1;
	case PHASE_ORDERS:
		r = part_notes(p, note_order, err);
		r = r == 0 ? begin_blobs(p, err) : r;
		return r < 0 ? r : 1;
	case PHASE_BLOBS:
		return part_blobs(p, err);
	case PHASE_ROOM:
	case PHASE_END_:
		break;
	}
	return 0;
}

int journal_prune_part(struct journal_prune *p, struct err *err)
{
	if (p->phase == PHASE_END_)
		return 0;
	if (p->phase == PHASE_ROOM)
		return part_room(p, err);
	int r = db_begin(p->j, err);
	p->j->ahead.change = -1;
	return r < 0 ? r : db_commit(p->j, part(p, err), err);
}

struct journal_pruned journal_prune_end(struct journal_prune *p)
{
	struct journal_pruned done = {0};
	if (!p)
		return done;
	done = p->done;
	p->j->is_pruning = false;
	digest_list_done(&p->used);
	free(p);
	return done;
}
