/* SPDX-License-Identifier: Apache-2.0 */
#include "store/db.h"

#include "store/inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
enum { WAL_HEAD_BYTES = 32, WAL_FRAME_BYTES = 24 + PAGE_BYTES };

static const char *const sql[STMT_END_] = {
#define X(symbol, text) [symbol] = (text),
#include "store/stmt.def"
#undef X
};

static int fail_full(struct journal *j, const char *what, int sys, struct err *err)
{
	err_sys(err, ERR_NO_SPACE, sys, "%s", what);
	return err_hint(err, "free some space where %.120s is; no saved data is lost", j->dir);
}

static int fail_damaged(struct journal *j, const char *what, const char *why, struct err *err)
{
	if (j->vfs.bad_page > 0)
		err_set(err, ERR_DAMAGED, "%s: page %lld of journal.db is damaged", what,
			(long long)j->vfs.bad_page);
	else
		err_set(err, ERR_DAMAGED, "%s: journal.db: %s", what, why);
	return err_hint(err,
		j->is_open ? "restore %.120s from a copy; sessions that do not need it continue"
			   : "restore %.120s from a copy, or move it away to begin anew",
		j->dir);
}

static int fail_access(struct journal *j, const char *what, int sys, struct err *err)
{
	return err_fail_sys(err, ERR_ACCESS, sys ? sys : EACCES,
		"retort must be able to write there; or name another state directory", "%s: %.150s",
		what, j->dir);
}

static int fail_io(struct journal *j, const char *what, int code, struct err *err)
{
	int sys = j->vfs.sys ? j->vfs.sys : sqlite3_system_errno(j->db);
	if (code == SQLITE_IOERR_DATA || code == SQLITE_IOERR_SHORT_READ)
		return fail_damaged(j, what, "it is cut short", err);
	if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
		return fail_full(j, what, sys, err);
	if (sys == EROFS || sys == EACCES || sys == EPERM)
		return fail_access(j, what, sys, err);
	return err_sys(err, ERR_IO, sys ? sys : EIO, "%s: %s", what, sqlite3_errmsg(j->db));
}

int db_fail(struct journal *j, const char *what, struct err *err)
{
	int code = sqlite3_extended_errcode(j->db);
	const char *why = sqlite3_errmsg(j->db);
	switch (code & 0xff) {
	case SQLITE_FULL:
		return fail_full(j, what, ENOSPC, err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_ERROR: /* SQL error: the tables do not fit our statements */
		return fail_damaged(j, what, why, err);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return fail_access(j, what, sqlite3_system_errno(j->db), err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_fail(err, ERR_LIMIT, "end it, then try again",
			"%s: another program has journal.db open", what);
	case SQLITE_NOMEM:
		return err_set(err, ERR_NO_MEMORY, "%s", what);
	case SQLITE_TOOBIG:
		return err_set(err, ERR_LIMIT, "%s: %s", what, why);
	case SQLITE_IOERR:
		return fail_io(j, what, code, err);
	default:
		return err_set(err, ERR_INTERNAL, "%s: %s", what, why);
	}
}

sqlite3_stmt *db_stmt(struct journal *j, enum stmt which, struct err *err)
{
	if (!j->stmts[which] &&
		sqlite3_prepare_v3(j->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			&j->stmts[which], NULL) != SQLITE_OK) {
		db_fail(j, "journal", err);
		return NULL;
	}
	return j->stmts[which];
}

void stmt_reset(sqlite3_stmt **s)
{
	if (!*s)
		return;
	(void)sqlite3_reset(*s);
	(void)sqlite3_clear_bindings(*s); /* the caller may free what the bindings point to */
}

int db_step(struct journal *j, sqlite3_stmt *s, const char *what, struct err *err)
{
	j->vfs.bad_page = 0;
	j->vfs.sys = 0;
	switch (sqlite3_step(s)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return db_fail(j, what, err);
	}
}

int db_step_on(struct journal *j, sqlite3_stmt *s, int64_t after, const char *what, struct err *err)
{
	int r = db_step(j, s, what, err);
	if (r > 0 && sqlite3_column_int64(s, 0) <= after)
		return err_set(err, ERR_DAMAGED, "%s: journal.db: rows are out of order", what);
	return r;
}

void db_bind(sqlite3_stmt *s, int place, const void *data, size_t bytes)
{
	(void)sqlite3_bind_blob64(s, place, data ? data : "", bytes, SQLITE_STATIC);
}

struct cell db_cell(sqlite3_stmt *s, int column)
{
	const void *data = sqlite3_column_blob(s, column);
	return (struct cell){data ? data : "", (size_t)sqlite3_column_bytes(s, column)};
}

bool db_copy(sqlite3_stmt *s, int column, unsigned char *out, size_t bytes)
{
	struct cell c = db_cell(s, column);
	if (c.bytes != bytes)
		return false;
	memcpy(out, c.data, bytes);
	return true;
}

bool db_text(sqlite3_stmt *s, int column, char *out, size_t room)
{
	struct cell c = db_cell(s, column);
	if (c.bytes >= room || memchr(c.data, '\0', c.bytes))
		return false;
	memcpy(out, c.data, c.bytes);
	out[c.bytes] = '\0';
	return true;
}

static int run(struct journal *j, enum stmt which, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, which, err);
	return s ? db_step(j, s, "journal", err) : -EIO;
}

static int64_t find_file(struct journal *j, const char *name, int64_t *bytes)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", j->dir, name);
	*bytes = 0;
	if (stat(path, &st) < 0)
		return 0;
	*bytes = st.st_size;
	return (int64_t)st.st_ino;
}

int64_t db_wal_ino(struct journal *j, int64_t *bytes)
{
	return find_file(j, "journal.db-wal", bytes);
}

void db_note_size(struct journal *j)
{
	(void)find_file(j, "journal.db", &j->db_bytes);
}

static int log_gone(struct journal *j, struct err *err)
{
	/* The log was removed or replaced. This process still has the old log open, but its
	 * pages are lost when it is closed, so copy them to journal.db now. */
	int r = db_checkpoint(j, SQLITE_CHECKPOINT_PASSIVE, err);
	if (r < 0)
		return r;
	return err_fail(err, ERR_ACCESS, "restart the engine: no saved data is lost",
		"%.150s/journal.db-wal: it is not there any more", j->dir);
}

static int log_cut(struct journal *j, struct err *err)
{
	return err_fail(err, ERR_DAMAGED, "restart the engine: it reports what is lost",
		"%.150s/journal.db-wal: another program truncated it", j->dir);
}

/* Fail if journal.db is shorter than after our last write. Somebody else has then truncated it,
 * because we never do. */
static int check_size(struct journal *j, struct err *err)
{
	int64_t bytes;
	if (!find_file(j, "journal.db", &bytes) || bytes >= j->db_bytes)
		return 0;
	return err_fail(err, ERR_DAMAGED, "end the engine, and restore the directory from a copy",
		"%.150s/journal.db: another program truncated it", j->dir);
}

/* Refuse to write when another process has moved, removed or truncated the files. What is
 * written to a removed file is lost when we close the file. What is written to a truncated log
 * lies behind a hole, and is lost at once. */
static int check_place(struct journal *j, struct err *err)
{
	int has_moved = 0;
	int64_t bytes, least = WAL_HEAD_BYTES + (int64_t)j->wal_pages * WAL_FRAME_BYTES;
	if (j->is_nameless)
		return 0;
	(void)sqlite3_file_control(j->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	if (has_moved)
		return err_fail(err, ERR_ACCESS,
			"move it back; or export what you need, and restart the engine",
			"%.150s/journal.db: it is not there any more", j->dir);
	int r = check_size(j, err);
	if (r < 0 || !j->wal_ino)
		return r;
	if (db_wal_ino(j, &bytes) != j->wal_ino)
		return log_gone(j, err);
	return j->wal_pages > 0 && bytes < least ? log_cut(j, err) : 0;
}

int db_begin(struct journal *j, struct err *err)
{
	j->next = j->last;
	int r = check_place(j, err);
	return r < 0 ? r : run(j, STMT_BEGIN, err);
}

int db_commit(struct journal *j, int so_far, struct err *err)
{
	struct err ignored;
	int r = so_far < 0 ? so_far : run(j, STMT_COMMIT, err);
	if (r < 0) {
		/* After some failures, SQLite has already rolled back, so no transaction is
		 * open. */
		if (!sqlite3_get_autocommit(j->db))
			(void)run(j, STMT_ROLLBACK, &ignored);
		return r;
	}
	j->last = j->next;
	log_mark(j);
	return so_far;
}

int db_checkpoint(struct journal *j, int mode, struct err *err)
{
	j->vfs.bad_page = 0;
	j->vfs.sys = 0;
	if (sqlite3_wal_checkpoint_v2(j->db, "main", mode, NULL, NULL) != SQLITE_OK)
		return db_fail(j, "sync the journal", err);
	j->wal_pages = 0;
	db_note_size(j);
	j->synced_seq = j->last.seq;
	log_mark(j);
	return 0;
}

int db_sync_log(struct journal *j, struct err *err)
{
	sqlite3_file *log = NULL;
	j->vfs.sys = 0;
	/* In WAL mode SQLite calls the write-ahead log the "journal" of the database. */
	int code = sqlite3_file_control(j->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&log);
	if (code == SQLITE_OK && log && log->pMethods)
		code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
	if (code != SQLITE_OK)
		return db_fail(j, "sync the journal", err);
	j->synced_seq = j->last.seq;
	log_mark(j);
	return 0;
}
