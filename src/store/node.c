/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "store/account.h"
#include "store/file_step.h"
#include "store/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text over STEP_INLINE_MAX is stored as a blob: bit i of `large` is set for text i, and its
 * column contains the blob's digest. */
enum { NODE_TEXTS = 3, TEXT_RECORD = 1, PREFIX_MIN = 4 };

struct texts {
	char *data[NODE_TEXTS];
	size_t bytes[NODE_TEXTS];
};

/* The columns of STMT_NODE_GET: those of the table `node` in their order, then the session's id. */
enum column {
	COL_SEQ,
	COL_DIGEST,
	COL_PARENT_SEQ,
	COL_SESSION,
	COL_RUNTIME,
	COL_STATUS,
	COL_OUTCOME,
	COL_CREATED,
	COL_LARGE,
	/* The column of the text `code`. The next two columns are those of the texts `record`
	 * (COL_CODE + 1) and `extra` (COL_CODE + 2). */
	COL_CODE,
	COL_PARENT = COL_CODE + NODE_TEXTS,
	COL_SEAL,
	COL_SESSION_ID,
};

void journal_digest(char out[DIGEST_BYTES], const struct journal_node *node)
{
	const struct step_texts texts = {.parent = node->parent,
		.runtime = node->runtime,
		.code = {node->code, node->code_bytes},
		.record = {node->record, node->record_bytes}};
	step_digest(out, &texts);
}

/* Compute the seal of a row: a checksum over the columns that the digest leaves out, namely
 * numbers, words and `extra`. */
static void node_seal(
	unsigned char out[SEAL_BYTES], const struct journal_node *node, const int64_t numbers[3])
{
	struct seal s;
	seal_begin(&s, "retort.node.1", SEAL_BYTES);
	seal_text(&s, node->digest);
	seal_int(&s, node->seq);
	seal_int(&s, node->created_ms);
	for (int i = 0; i < 3; i++)
		seal_int(&s, numbers[i]);
	seal_text(&s, node->status);
	seal_text(&s, node->outcome);
	seal_bytes(&s, node->extra, node->extra_bytes);
	seal_end(&s, out);
}

static int step_number(struct journal *j, sqlite3_stmt *s, int64_t seq, struct err *err)
{
	char what[40];
	snprintf(what, sizeof what, "step number %lld", (long long)seq);
	(void)sqlite3_bind_int64(s, 1, seq);
	return db_step(j, s, what, err);
}

static int get_digest(
	struct journal *j, int64_t seq, unsigned char out[DIGEST_RAW_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_DIGEST, err);
	if (!s)
		return -EIO;
	int r = step_number(j, s, seq, err);
	return r > 0 && !db_copy(s, 0, out, DIGEST_RAW_BYTES) ? 0 : r;
}

static int read_texts(
	struct journal *j, sqlite3_stmt *s, enum journal_read how, struct texts *t, struct err *err)
{
	int64_t large = sqlite3_column_int64(s, COL_LARGE);
	/*
	 * A long text of a step is stored as a blob. Decide whether to compare each blob that is
	 * read with the blob's own digest.
	 * - If the record is read, this is not necessary. The digest of the step covers code and
	 *   record, and the seal of the row covers `extra` and the other columns.
	 * - If a long record is left out (JOURNAL_BRIEF), the digest of the step cannot be
	 *   verified. So the comparison is necessary.
	 */
	bool is_checked = how == JOURNAL_BRIEF && (large >> TEXT_RECORD & 1);
	for (int i = 0; i < NODE_TEXTS; i++) {
		struct cell c = db_cell(s, COL_CODE + i);
		bool is_large = large >> i & 1;
		if (is_large && i == TEXT_RECORD && how == JOURNAL_BRIEF)
			continue;
		if (is_large) {
			if (c.bytes != DIGEST_RAW_BYTES)
				return err_set(err, ERR_DAMAGED, "a text has no digest");
			int r = blob_read(j, c.data, is_checked, &t->data[i], &t->bytes[i], err);
			if (r < 0)
				return r;
			continue;
		}
		t->data[i] = malloc(c.bytes + 1);
		if (!t->data[i])
			return err_set(err, ERR_NO_MEMORY, "a step");
		memcpy(t->data[i], c.data, c.bytes);
		t->data[i][c.bytes] = '\0';
		t->bytes[i] = c.bytes;
	}
	return 0;
}

/* Fill @out from the current row, without verifying it. */
static int read_row(struct journal *j, sqlite3_stmt *s, enum journal_read how,
	struct journal_node *out, struct err *err)
{
	unsigned char parent[DIGEST_RAW_BYTES];
	struct texts *t = xnew(struct texts);
	out->owned = t;
	int r = read_texts(j, s, how, t, err);
	if (r < 0)
		return r;
	out->code = t->data[0], out->code_bytes = t->bytes[0];
	out->record = t->data[1], out->record_bytes = t->bytes[1];
	out->extra = t->data[2], out->extra_bytes = t->bytes[2];
	out->seq = sqlite3_column_int64(s, COL_SEQ);
	out->created_ms = sqlite3_column_int64(s, COL_CREATED);
	bool is_first = sqlite3_column_bytes(s, COL_PARENT) == 0;
	if (!is_first && !db_copy(s, COL_PARENT, parent, sizeof parent))
		return err_set(err, ERR_DAMAGED, "its parent is not a digest");
	if (!is_first)
		digest_write(out->parent, parent);
	if (!db_text(s, COL_SESSION_ID, out->session, sizeof out->session) ||
		!db_text(s, COL_RUNTIME, out->runtime, sizeof out->runtime) ||
		!db_text(s, COL_STATUS, out->status, sizeof out->status) ||
		!db_text(s, COL_OUTCOME, out->outcome, sizeof out->outcome))
		return err_set(err, ERR_DAMAGED, "a word is too long");
	return 0;
}

int journal_node_check(const struct journal_node *node, struct err *err)
{
	char digest[DIGEST_BYTES];
	journal_digest(digest, node);
	return strcmp(digest, node->digest) == 0
		? 0
		: err_set(err, ERR_DAMAGED, "its contents were changed, or damaged");
}

/* Verify the digest and the seal of a row, and that the row of its parent has the parent's
 * digest. */
static int check_row(struct journal *j, sqlite3_stmt *s, enum journal_read how,
	const struct journal_node *node, struct err *err)
{
	const int64_t numbers[3] = {sqlite3_column_int64(s, COL_PARENT_SEQ),
		sqlite3_column_int64(s, COL_SESSION), sqlite3_column_int64(s, COL_LARGE)};
	unsigned char seal[SEAL_BYTES], parent[DIGEST_RAW_BYTES];
	struct cell stored = db_cell(s, COL_SEAL);
	char hex[DIGEST_BYTES] = "";
	int r = node->record && how != JOURNAL_RAW ? journal_node_check(node, err) : 0;
	if (r < 0)
		return r;
	node_seal(seal, node, numbers);
	if (stored.bytes != SEAL_BYTES || memcmp(seal, stored.data, SEAL_BYTES) != 0)
		return err_set(err, ERR_DAMAGED, "its row is damaged");
	if (numbers[0] != 0) {
		r = get_digest(j, numbers[0], parent, err);
		if (r < 0)
			return r;
		if (r > 0)
			digest_write(hex, parent);
	}
	if (strcmp(hex, node->parent) != 0)
		return err_set(err, ERR_DAMAGED, "its parent has moved");
	return 0;
}

int node_read(struct journal *j, int64_t seq, enum journal_read how, struct journal_node *out,
	struct err *err)
{
	unsigned char digest[DIGEST_RAW_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_GET, err);
	*out = (struct journal_node){0};
	if (!s)
		return -EIO;
	int r = step_number(j, s, seq, err);
	if (r < 0)
		return r;
	if (r == 0 || !db_copy(s, COL_DIGEST, digest, sizeof digest))
		return err_set(
			err, ERR_DAMAGED, "step number %lld: it is not there", (long long)seq);
	digest_write(out->digest, digest);
	r = read_row(j, s, how, out, err);
	if (r == 0)
		r = check_row(j, s, how, out, err);
	if (r < 0) {
		char hex[DIGEST_BYTES];
		digest_write(hex, digest);
		journal_node_done(out);
		(void)err_wrap(err, "step %s", hex);
		return r;
	}
	return 0;
}

void journal_node_done(struct journal_node *node)
{
	struct texts *t = node->owned;
	for (int i = 0; t && i < NODE_TEXTS; i++)
		free(t->data[i]);
	free(t);
	*node = (struct journal_node){0};
}

static void set_digit(unsigned char *bytes, size_t place, unsigned digit)
{
	unsigned shift = place % 2 ? 0 : 4;
	bytes[place / 2] = (unsigned char)((bytes[place / 2] & ~(0xfU << shift)) | digit << shift);
}

static unsigned digit_of(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

static int no_name(const char *text, struct err *err)
{
	err_set(err, ERR_USAGE, "step %.70s: not an id of a step", text);
	return err_hint(err, "a step is named by %d to %d hexadecimal digits", PREFIX_MIN,
		2 * DIGEST_RAW_BYTES);
}

/* Compute the least and the greatest digest that begin with the digits @text. */
static int prefix_range(const char *text, unsigned char low[DIGEST_RAW_BYTES],
	unsigned char high[DIGEST_RAW_BYTES], struct err *err)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");
	if (text[n] || n < PREFIX_MIN || n > 2 * DIGEST_RAW_BYTES)
		return no_name(text, err);
	memset(low, 0, DIGEST_RAW_BYTES);
	memset(high, 0xff, DIGEST_RAW_BYTES);
	for (size_t i = 0; i < n; i++) {
		unsigned digit = digit_of(text[i]);
		set_digit(low, i, digit);
		set_digit(high, i, digit);
	}
	return 0;
}

int journal_start_check(const char *text, struct err *err)
{
	unsigned char low[DIGEST_RAW_BYTES], high[DIGEST_RAW_BYTES];
	return prefix_range(text, low, high, err);
}

int64_t node_seq(struct journal *j, const char *digest, struct err *err)
{
	unsigned char low[DIGEST_RAW_BYTES], high[DIGEST_RAW_BYTES];
	int r = prefix_range(digest, low, high, err);
	if (r < 0)
		return r;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_FIND, err);
	if (!s)
		return -EIO;
	char what[80];
	snprintf(what, sizeof what, "step %s", digest);
	db_bind(s, 1, low, sizeof low);
	db_bind(s, 2, high, sizeof high);
	r = db_step(j, s, what, err);
	if (r == 0)
		return err_fail(err, ERR_NOT_FOUND, "`session.log` lists a session's steps",
			"step %s does not exist", digest);
	int64_t seq = r > 0 ? sqlite3_column_int64(s, 0) : r;
	r = r > 0 ? db_step(j, s, what, err) : r;
	if (r > 0)
		return err_fail(err, ERR_USAGE, "give more digits of it",
			"step %s: more than one step's id begins so", digest);
	return r < 0 ? r : seq;
}

int journal_node_get(
	struct journal *j, const char *digest, struct journal_node *out, struct err *err)
{
	*out = (struct journal_node){0};
	int64_t seq = node_seq(j, digest, err);
	int r = seq < 0 ? (int)seq : node_read(j, seq, JOURNAL_WHOLE, out, err);
	if (r == 0 && strncasecmp(out->digest, digest, strlen(digest)) != 0) {
		journal_node_done(out);
		return err_set(err, ERR_DAMAGED, "step %s: the index leads to another", digest);
	}
	return r;
}

static int check_given(const struct journal_node *node, struct err *err)
{
	const size_t bytes[] = {node->code_bytes, node->record_bytes, node->extra_bytes};
	for (int i = 0; i < NODE_TEXTS; i++)
		if (bytes[i] > JOURNAL_BLOB_MAX)
			return err_set(err, ERR_LIMIT, "step with a text of %zu bytes: at most %d",
				bytes[i], (int)JOURNAL_BLOB_MAX);
	int r = digest_check(node->parent, "parent", err);
	if (r == 0)
		r = text_check(node->runtime, sizeof node->runtime, "runtime", err);
	if (r == 0)
		r = text_check(node->status, sizeof node->status, "status", err);
	return r < 0 ? r : text_check(node->outcome, sizeof node->outcome, "outcome", err);
}

static int bind_texts(struct journal *j, sqlite3_stmt *s, const struct journal_node *node,
	unsigned char digests[NODE_TEXTS][DIGEST_RAW_BYTES], struct err *err)
{
	const struct cell texts[NODE_TEXTS] = {{node->code, node->code_bytes},
		{node->record, node->record_bytes}, {node->extra, node->extra_bytes}};
	int large = 0;
	for (int i = 0; i < NODE_TEXTS; i++) {
		if (texts[i].bytes <= STEP_INLINE_MAX) {
			db_bind(s, 1 + COL_CODE + i, texts[i].data, texts[i].bytes);
			continue;
		}
		const unsigned char *sum = node->name && i < (int)ARRAY_LEN(node->name->sums)
			? node->name->sums[i]
			: NULL;
		int r = blob_add(j, texts[i].data, texts[i].bytes, sum, digests[i], err);
		if (r < 0)
			return r;
		db_bind(s, 1 + COL_CODE + i, digests[i], DIGEST_RAW_BYTES);
		large |= 1 << i;
	}
	return large;
}

static int64_t next_seq(struct journal *j, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_LAST, err);
	if (!s)
		return -EIO;
	int r = db_step(j, s, "steps", err);
	return r < 0 ? r : r > 0 ? sqlite3_column_int64(s, 0) + 1 : 1;
}

static void bind_word(sqlite3_stmt *s, int column, const char *word)
{
	(void)sqlite3_bind_text(s, 1 + column, word, -1, SQLITE_STATIC);
}

static int read_ahead(struct journal *j, const char *session, const char *parent, struct err *err)
{
	struct ahead *a = &j->ahead;
	if (a->change == j->last.seq && strcmp(a->row.id, session) == 0 &&
		strcmp(a->parent, parent) == 0)
		return 0;
	a->change = -1;
	int r = session_find(j, session, &a->row, err);
	if (r == 0 && a->row.closed_ms)
		r = err_set(err, ERR_USAGE, "session %s: it is closed", session);
	if (r < 0)
		return r;
	a->parent_seq = parent[0] ? node_seq(j, parent, err) : 0;
	a->seq = a->parent_seq < 0 ? a->parent_seq : next_seq(j, err);
	if (a->seq < 0)
		return (int)a->seq;
	snprintf(a->parent, sizeof a->parent, "%s", parent);
	a->change = j->last.seq;
	return 0;
}

void journal_prepare(struct journal *j, const char *session, const char *parent)
{
	struct err ignored; /* journal_commit() will report the same error */
	(void)read_ahead(j, session, parent, &ignored);
}

static int add_node(struct journal *j, struct journal_node *node, struct err *err)
{
	unsigned char digest[DIGEST_RAW_BYTES], parent[DIGEST_RAW_BYTES], seal[SEAL_BYTES];
	unsigned char digests[NODE_TEXTS][DIGEST_RAW_BYTES];
	bool is_first = node->parent[0] == '\0';
	int64_t parent_seq = j->ahead.parent_seq, session = j->ahead.row.n;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_NODE_ADD, err);
	if (!s)
		return -EIO;
	int large = bind_texts(j, s, node, digests, err);
	if (large < 0)
		return large;
	node->seq = j->ahead.seq;
	const int64_t numbers[3] = {parent_seq, session, large};
	node_seal(seal, node, numbers);
	(void)digest_read(digest, node->digest);
	(void)sqlite3_bind_int64(s, 1 + COL_SEQ, node->seq);
	db_bind(s, 1 + COL_DIGEST, digest, sizeof digest);
	(void)sqlite3_bind_int64(s, 1 + COL_PARENT_SEQ, parent_seq);
	(void)sqlite3_bind_int64(s, 1 + COL_SESSION, session);
	bind_word(s, COL_RUNTIME, node->runtime);
	bind_word(s, COL_STATUS, node->status);
	bind_word(s, COL_OUTCOME, node->outcome);
	(void)sqlite3_bind_int64(s, 1 + COL_CREATED, node->created_ms);
	(void)sqlite3_bind_int64(s, 1 + COL_LARGE, large);
	if (!is_first)
		(void)digest_read(parent, node->parent);
	db_bind(s, 1 + COL_PARENT, parent, is_first ? 0 : sizeof parent);
	db_bind(s, 1 + COL_SEAL, seal, sizeof seal);
	return db_step(j, s, "keep a step", err);
}

/* Find a stored step whose digest is that of @node. Returns: 1 when there is one, with its seq
 * and created_ms in @node; 0 when there is none; or negative errno. */
static int find_same(struct journal *j, struct journal_node *node, struct err *err)
{
	struct journal_node there;
	struct err why = {0};
	int64_t seq = node_seq(j, node->digest, &why);
	if (seq < 0 && why.code == ERR_NOT_FOUND)
		return 0;
	int r = seq < 0 ? (int)seq : node_read(j, seq, JOURNAL_WHOLE, &there, &why);
	if (r < 0) {
		*err = why;
		return r;
	}
	node->seq = there.seq;
	node->created_ms = there.created_ms;
	journal_node_done(&there);
	return 1;
}

static int commit(struct journal *j, struct journal_node *node, const char *head, struct err *err)
{
	unsigned char digest[DIGEST_RAW_BYTES];
	int r = read_ahead(j, node->session, node->parent, err);
	if (r < 0)
		return r;
	struct session_row row = j->ahead.row;
	int is_old = find_same(j, node, err);
	r = is_old == 0 ? add_node(j, node, err) : is_old;
	if (r >= 0)
		r = account_add(
			j, row.owner, is_old ? ACCOUNT_ROW_BYTES : account_weight(node), err);
	if (r < 0)
		return r;
	if (head && (r = head_check(j, head, err)) < 0)
		return r;
	memcpy(row.head, head ? head : node->digest, strlen(head ? head : node->digest) + 1);
	(void)digest_read(digest, node->digest);
	enum change_kind again = head ? CHANGE_AGAIN_BACK : CHANGE_AGAIN;
	r = session_write(j, &row, is_old ? again : CHANGE_STEP, digest, err);
	return r < 0 ? r : is_old;
}

int journal_commit(struct journal *j, struct journal_node *node, const char *head, struct err *err)
{
	int r = check_given(node, err);
	if (r < 0)
		return r;
	if (!node->created_ms)
		node->created_ms = now_ms();
	if (node->name)
		memcpy(node->digest, node->name->digest, sizeof node->digest);
	else
		journal_digest(node->digest, node);
	r = db_begin(j, err);
	if (r == 0)
		r = db_commit(j, commit(j, node, head, err), err);
	if (r >= 0 && !j->is_pruning)
		digest_settle(&j->noted, node);
	return r;
}
