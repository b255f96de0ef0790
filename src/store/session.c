/* SPDX-License-Identifier: Apache-2.0 */
#include "store/account.h"
#include "store/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int text_check(const char *text, size_t room, const char *what, struct err *err)
{
	if (strnlen(text, room) < room)
		return 0;
	return err_set(err, ERR_USAGE, "%s %.40s…: at most %zu bytes", what, text, room - 1);
}

int digest_check(const char *text, const char *what, struct err *err)
{
	size_t n = strnlen(text, DIGEST_BYTES);
	if (n == 0 || (n == 2 * DIGEST_RAW_BYTES && strspn(text, "0123456789abcdef") == n))
		return 0;
	return err_set(err, ERR_USAGE, "%s %.70s: not the whole digest of a step", what, text);
}

int head_check(struct journal *j, const char *head, struct err *err)
{
	int r = digest_check(head, "head", err);
	int64_t seq = r == 0 && head[0] ? node_seq(j, head, err) : r;
	return seq < 0 ? (int)seq : 0;
}

/* Return whether the fields that version 3 added all have their defaults. If so, the seal leaves
 * them out, like the seals of older journals. */
static bool is_plain(const struct session_row *row)
{
	return !row->owner[0] && !row->ended[0] && row->ttl_ms == 0 && row->idle_ms == 0;
}

static void row_seal(unsigned char out[SEAL_BYTES], const struct session_row *row)
{
	const int64_t numbers[] = {row->n, row->created_ms, row->closed_ms, row->change};
	const char *const texts[] = {row->id, row->name, row->parent, row->fork, row->head};
	struct seal s;
	const char *what = row->is_tainted ? "retort.session.3"
		: is_plain(row)		   ? "retort.session.1"
					   : "retort.session.2";
	seal_begin(&s, what, SEAL_BYTES);
	if (row->is_tainted || !is_plain(row)) {
		seal_text(&s, row->owner);
		seal_text(&s, row->ended);
		seal_int(&s, row->ttl_ms);
		seal_int(&s, row->idle_ms);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		seal_int(&s, numbers[i]);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		seal_text(&s, texts[i]);
	seal_bytes(&s, row->order_digest, DIGEST_RAW_BYTES);
	seal_end(&s, out);
}

/* The columns of @s: n, id, name, parent, fork, head, created_ms, closed_ms, order_digest, change,
 * seal, owner, ttl_ms, idle_ms, ended, tainted, forgotten. */
int session_row_read(sqlite3_stmt *s, struct session_row *row, struct err *err)
{
	unsigned char seal[SEAL_BYTES], stored[SEAL_BYTES];
	*row = (struct session_row){.n = sqlite3_column_int64(s, 0),
		.created_ms = sqlite3_column_int64(s, 6),
		.closed_ms = sqlite3_column_int64(s, 7),
		.change = sqlite3_column_int64(s, 9),
		.ttl_ms = sqlite3_column_int64(s, 12),
		.idle_ms = sqlite3_column_int64(s, 13),
		.is_tainted = sqlite3_column_int64(s, 15) != 0,
		.is_forgotten = sqlite3_column_int64(s, 16) != 0};
	bool is_whole = db_text(s, 1, row->id, sizeof row->id) &&
		db_text(s, 2, row->name, sizeof row->name) &&
		db_text(s, 3, row->parent, sizeof row->parent) &&
		db_text(s, 4, row->fork, sizeof row->fork) &&
		db_text(s, 5, row->head, sizeof row->head) &&
		db_copy(s, 8, row->order_digest, DIGEST_RAW_BYTES) &&
		db_copy(s, 10, stored, sizeof stored) &&
		db_text(s, 11, row->owner, sizeof row->owner) &&
		db_text(s, 14, row->ended, sizeof row->ended);
	row_seal(seal, row);
	if (is_whole && memcmp(seal, stored, sizeof seal) == 0)
		return 0;
	return err_set(err, ERR_DAMAGED, "session %s: its row is damaged", row->id);
}

static int row_check(const char *text, const char *is, struct err *err)
{
	return strcmp(text, is) == 0
		? 1
		: err_set(err, ERR_DAMAGED, "session %s: the index leads to another", text);
}

/* Find a session by its id. Returns: 1 when it exists, 0 when it does not, or negative errno. */
static int find_id(struct journal *j, const char *id, struct session_row *row, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_ID, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
	int r = db_step(j, s, "sessions", err);
	if (r > 0)
		r = session_row_read(s, row, err) < 0 ? -EBADMSG : 1;
	return r > 0 ? row_check(id, row->id, err) : r;
}

/* Find an open session of @owner (NULL: any owner) by its name. Returns: as find_id(). */
static int find_name(struct journal *j, const char *owner, const char *name,
	struct session_row *row, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_NAME, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (owner)
		(void)sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
	int r = db_step(j, s, "sessions", err);
	if (r > 0)
		r = session_row_read(s, row, err) < 0 ? -EBADMSG : 1;
	if (r > 0)
		r = row_check(name, row->name, err);
	if (r <= 0 || !row->owner[0])
		return r;
	r = db_step(j, s, "session", err);
	if (r <= 0)
		return r < 0 ? r : 1;
	return err_fail(
		err, ERR_USAGE, "give its id", "more than one owner has a session %s", name);
}

int session_find(struct journal *j, const char *id, struct session_row *row, struct err *err)
{
	int r = find_id(j, id, row, err);
	return r == 0 ? err_set(err, ERR_NOT_FOUND, "session %s does not exist", id) : MIN(r, 0);
}

static int write_row(struct journal *j, enum stmt how, const struct session_row *row,
	const unsigned char seal[SEAL_BYTES], struct err *err)
{
	const char *const texts[] = {row->id, row->name, row->parent, row->fork, row->head};
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, how, err);
	if (!s)
		return -EIO;
	for (int i = 0; i < (int)ARRAY_LEN(texts); i++)
		(void)sqlite3_bind_text(s, 1 + i, texts[i], -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 6, row->created_ms);
	(void)sqlite3_bind_int64(s, 7, row->closed_ms);
	db_bind(s, 8, row->order_digest, DIGEST_RAW_BYTES);
	(void)sqlite3_bind_int64(s, 9, row->change);
	db_bind(s, 10, seal, SEAL_BYTES);
	(void)sqlite3_bind_int64(s, 11, row->n);
	(void)sqlite3_bind_text(s, 12, row->owner, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 13, row->ttl_ms);
	(void)sqlite3_bind_int64(s, 14, row->idle_ms);
	(void)sqlite3_bind_text(s, 15, row->ended, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int(s, 16, row->is_tainted);
	return db_step(j, s, "session", err);
}

/* Write only the columns that a step changes. When a column with an index is assigned, SQLite
 * writes the index, too, even if the value of the column stays the same. */
static int write_head(struct journal *j, const struct session_row *row,
	const unsigned char seal[SEAL_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_HEAD, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, row->head, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 2, row->change);
	db_bind(s, 3, seal, SEAL_BYTES);
	(void)sqlite3_bind_int64(s, 4, row->n);
	return db_step(j, s, "session", err);
}

static bool is_of_head(enum change_kind kind)
{
	return kind == CHANGE_MOVE || kind == CHANGE_STEP || kind == CHANGE_AGAIN ||
		kind == CHANGE_AGAIN_BACK;
}

int session_write(struct journal *j, struct session_row *row, enum change_kind kind,
	const unsigned char *digest, struct err *err)
{
	unsigned char seal[SEAL_BYTES];
	row->change = j->next.seq + 1;
	row_seal(seal, row);
	enum stmt how = kind == CHANGE_SESSION ? STMT_SESSION_ADD : STMT_SESSION_SET;
	int r = is_of_head(kind) ? write_head(j, row, seal, err)
				 : write_row(j, how, row, seal, err);
	return r < 0 ? r : log_add(j, kind, row->n, digest, seal, err);
}

static int name_free(
	struct journal *j, const char *owner, const char *name, const char *id, struct err *err)
{
	struct session_row other;
	int r = name[0] ? find_name(j, owner, name, &other, err) : 0;
	if (r <= 0 || strcmp(other.id, id) == 0)
		return MIN(r, 0);
	return err_fail(err, ERR_USAGE, "take another name, or close that session",
		"session name %s: session %s has it", name, other.id);
}

static int add(struct journal *j, struct journal_session *s, struct err *err)
{
	struct session_row row = {.created_ms = s->created_ms,
				   .ttl_ms = s->ttl_ms,
				   .idle_ms = s->idle_ms,
				   .is_tainted = s->is_tainted},
			   other;
	int r = find_id(j, s->id, &other, err);
	if (r > 0)
		return err_set(err, ERR_USAGE, "session %s: it exists already", s->id);
	r = r < 0 ? r : name_free(j, s->owner, s->name, s->id, err);
	if (r == 0 && s->parent[0])
		r = session_find(j, s->parent, &other, err);
	if (r == 0)
		r = head_check(j, s->fork, err);
	if (r == 0)
		r = blob_add(j, s->order, s->order_bytes, NULL, row.order_digest, err);
	if (r < 0)
		return r;
	memcpy(row.id, s->id, sizeof row.id);
	memcpy(row.name, s->name, sizeof row.name);
	memcpy(row.owner, s->owner, sizeof row.owner);
	memcpy(row.parent, s->parent, sizeof row.parent);
	memcpy(row.fork, s->fork, sizeof row.fork);
	memcpy(row.head, s->fork, sizeof row.head);
	cleanup_stmt sqlite3_stmt *last = db_stmt(j, STMT_SESSION_LAST, err);
	r = last ? db_step(j, last, "session", err) : -EIO;
	if (r < 0)
		return r;
	row.n = r > 0 ? sqlite3_column_int64(last, 0) + 1 : 1;
	r = account_add(j, row.owner, (int64_t)s->order_bytes + ACCOUNT_ROW_BYTES, err);
	return r < 0 ? r : session_write(j, &row, CHANGE_SESSION, NULL, err);
}

int journal_session_add(struct journal *j, struct journal_session *s, struct err *err)
{
	int r = text_check(s->id, sizeof s->id, "session", err);
	if (r == 0)
		r = text_check(s->name, sizeof s->name, "session name", err);
	if (r == 0)
		r = text_check(s->parent, sizeof s->parent, "session", err);
	if (r == 0)
		r = text_check(s->owner, sizeof s->owner, "owner", err);
	if (r == 0 && !s->id[0])
		r = err_set(err, ERR_USAGE, "session: it has no id");
	if (r < 0)
		return r;
	if (!s->created_ms)
		s->created_ms = now_ms();
	r = db_begin(j, err);
	r = r < 0 ? r : db_commit(j, add(j, s, err), err);
	if (r == 0)
		memcpy(s->head, s->fork, sizeof s->head);
	return r;
}

static void copy(struct journal_session *out, const struct session_row *row)
{
	*out = (struct journal_session){.created_ms = row->created_ms,
		.closed_ms = row->closed_ms,
		.ttl_ms = row->ttl_ms,
		.idle_ms = row->idle_ms,
		.is_tainted = row->is_tainted,
		.is_forgotten = row->is_forgotten};
	memcpy(out->id, row->id, sizeof out->id);
	memcpy(out->name, row->name, sizeof out->name);
	memcpy(out->owner, row->owner, sizeof out->owner);
	memcpy(out->ended, row->ended, sizeof out->ended);
	memcpy(out->parent, row->parent, sizeof out->parent);
	memcpy(out->fork, row->fork, sizeof out->fork);
	memcpy(out->head, row->head, sizeof out->head);
}

static int fill(struct journal *j, const struct session_row *row, struct journal_session *out,
	struct err *err)
{
	char *order = NULL;
	size_t bytes = 0;
	int r = blob_read(j, row->order_digest, true, &order, &bytes, err);
	if (r < 0 && err->code == ERR_NOT_FOUND)
		return err_set(err, ERR_DAMAGED, "session %s: its parameters are missing", row->id);
	if (r < 0)
		return err_wrap(err, "session %s", row->id);
	copy(out, row);
	out->order = out->owned = order;
	out->order_bytes = bytes;
	return 0;
}

int journal_session_of(struct journal *j, const char *owner, const char *id_or_name,
	struct journal_session *out, struct err *err)
{
	struct session_row row;
	*out = (struct journal_session){0};
	int r = find_id(j, id_or_name, &row, err);
	if (r > 0 && owner && strcmp(row.owner, owner) != 0)
		r = 0;
	if (r == 0)
		r = find_name(j, owner, id_or_name, &row, err);
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "session %s does not exist", id_or_name);
	return r < 0 ? r : fill(j, &row, out, err);
}

int journal_session_get(
	struct journal *j, const char *id_or_name, struct journal_session *out, struct err *err)
{
	return journal_session_of(j, NULL, id_or_name, out, err);
}

static int find_past(struct journal *j, enum stmt which, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, which, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (owner)
		(void)sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
	int r = db_step(j, s, "session", err);
	if (r > 0 && !db_text(s, 0, id, JOURNAL_ID_BYTES))
		return err_set(err, ERR_DAMAGED, "session %.40s…: its id is too long", name);
	return r;
}

int journal_session_ended(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err)
{
	return find_past(j, STMT_SESSION_ENDED, owner, name, id, err);
}

int journal_session_closed(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err)
{
	return find_past(j, STMT_SESSION_CLOSED, owner, name, id, err);
}

int64_t journal_session_count(struct journal *j, const char *owner, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s =
		db_stmt(j, owner ? STMT_SESSION_COUNT : STMT_SESSION_OPEN, err);
	if (!s)
		return -EIO;
	if (owner)
		(void)sqlite3_bind_text(s, 1, owner, -1, SQLITE_STATIC);
	int r = db_step(j, s, "session", err);
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

int journal_session_begins(struct journal *j, const char *owner, const char *start,
	char id[JOURNAL_ID_BYTES], struct err *err)
{
	bool is_closed[2] = {false, false};
	int n = 0, r = 0;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_SESSION_START, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, start, -1, SQLITE_STATIC);
	if (owner)
		(void)sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
	while (n < 2 && (r = db_step(j, s, "session", err)) > 0) {
		is_closed[n] = sqlite3_column_int(s, 1) != 0;
		if (n++ == 0 && !db_text(s, 0, id, JOURNAL_ID_BYTES))
			return err_set(
				err, ERR_DAMAGED, "session %.40s…: its id is too long", start);
	}
	if (r < 0)
		return r;
	return n == 2 && !is_closed[0] && is_closed[1] ? 1 : n;
}

void journal_session_done(struct journal_session *s)
{
	free(s->owned);
	*s = (struct journal_session){0};
}

/* Read the next row of @which after row number @after. Returns: 1, 0 after the last row, or
 * negative errno. */
static int next(
	struct journal *j, enum stmt which, int64_t after, struct session_row *row, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, which, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, after);
	int r = db_step_on(j, s, after, "session", err);
	return r > 0 && session_row_read(s, row, err) < 0 ? -EBADMSG : r;
}

int journal_session_mortal(
	struct journal *j, int64_t *after, struct journal_session *out, struct err *err)
{
	struct session_row row;
	int r = next(j, STMT_SESSION_MORTAL, *after, &row, err);
	if (r <= 0)
		return r;
	*after = row.n;
	copy(out, &row);
	return 1;
}

int64_t journal_sessions(struct journal *j, journal_session_fn *fn, void *user, struct err *err)
{
	struct session_row row = {0};
	int64_t n = 0;
	int r;
	while ((r = next(j, STMT_SESSION_NEXT, row.n, &row, err)) > 0) {
		struct journal_session s;
		r = fill(j, &row, &s, err);
		if (r < 0)
			return r;
		r = fn(user, &s, err);
		journal_session_done(&s);
		n += r >= 0;
		if (r != 0)
			break;
	}
	return r < 0 ? r : n;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

int64_t journal_session_numbers(
	struct journal *j, const char *owner, int64_t **out, struct err *err)
{
	int64_t *numbers = NULL, r;
	size_t n = 0, room = 0;
	cleanup_stmt sqlite3_stmt *s =
		db_stmt(j, owner ? STMT_SESSION_NUMBERS : STMT_SESSION_NUMBERS_ALL, err);
	if (!s)
		return -EIO;
	if (owner)
		(void)sqlite3_bind_text(s, 1, owner, -1, SQLITE_STATIC);
	while ((r = db_step(j, s, "session", err)) > 0) {
		if (n == room) {
			room = room ? room * 2 : 64;
			int64_t *more = realloc(numbers, room * sizeof *more);
			if (!more) {
				r = err_set(err, ERR_NO_MEMORY, "no memory for a list of sessions");
				break;
			}
			numbers = more;
		}
		numbers[n++] = sqlite3_column_int64(s, 0);
	}
	if (r < 0) {
		free(numbers);
		return r;
	}
	if (n > 0)
		qsort(numbers, n, sizeof *numbers, by_number);
	*out = numbers;
	return (int64_t)n;
}

int journal_session_at(
	struct journal *j, int64_t number, struct journal_session *out, struct err *err)
{
	struct session_row row;
	int r = next(j, STMT_SESSION_NEXT, number - 1, &row, err);
	if (r <= 0 || row.n != number || row.closed_ms)
		return MIN(r, 0);
	r = fill(j, &row, out, err);
	return r < 0 ? r : 1;
}

int64_t journal_session_number(struct journal *j, const char *id, struct err *err)
{
	struct session_row row;
	int r = session_find(j, id, &row, err);
	return r < 0 ? r : row.n;
}

/* Make one change to a session's row. Called inside a transaction. */
static int change(
	struct journal *j, const char *id, enum change_kind kind, const char *text, struct err *err)
{
	struct session_row row;
	unsigned char digest[DIGEST_RAW_BYTES];
	int r = session_find(j, id, &row, err);
	if (r < 0 || (kind == CHANGE_CLOSE && row.closed_ms) ||
		(kind == CHANGE_TAINT && row.is_tainted))
		return r;
	if (row.closed_ms)
		return err_set(err, ERR_USAGE, "session %s: it is closed", id);
	if (kind == CHANGE_MOVE) {
		r = head_check(j, text, err);
		if (r == 0)
			memcpy(row.head, text, strlen(text) + 1);
	} else if (kind == CHANGE_RENAME) {
		r = text_check(text, sizeof row.name, "session name", err);
		r = r < 0 ? r : name_free(j, row.owner, text, id, err);
		if (r == 0)
			memcpy(row.name, text, strlen(text) + 1);
	} else if (kind == CHANGE_TAINT) {
		row.is_tainted = true;
	} else if (kind == CHANGE_ORDER) {
		r = blob_add(j, text, strlen(text), NULL, row.order_digest, err);
		if (r >= 0)
			r = account_add(j, row.owner, (int64_t)strlen(text), err);
	} else {
		r = text_check(text, sizeof row.ended, "end of a session", err);
		if (r == 0)
			memcpy(row.ended, text, strlen(text) + 1);
		row.closed_ms = now_ms();
	}
	if (r < 0)
		return r;
	bool has_digest = kind == CHANGE_MOVE && digest_read(digest, row.head) == 0;
	return session_write(j, &row, kind, has_digest ? digest : NULL, err);
}

static int change_once(
	struct journal *j, const char *id, enum change_kind kind, const char *text, struct err *err)
{
	int r = db_begin(j, err);
	return r < 0 ? r : db_commit(j, change(j, id, kind, text, err), err);
}

int journal_session_move(struct journal *j, const char *id, const char *head, struct err *err)
{
	return change_once(j, id, CHANGE_MOVE, head, err);
}

int journal_session_rename(struct journal *j, const char *id, const char *name, struct err *err)
{
	return change_once(j, id, CHANGE_RENAME, name, err);
}

int journal_session_reorder(struct journal *j, const char *id, const char *order, struct err *err)
{
	return change_once(j, id, CHANGE_ORDER, order, err);
}

int journal_session_taint(struct journal *j, const char *id, struct err *err)
{
	return change_once(j, id, CHANGE_TAINT, "", err);
}

int journal_session_close(struct journal *j, const char *id, const char *ended, struct err *err)
{
	return change_once(j, id, CHANGE_CLOSE, ended, err);
}
