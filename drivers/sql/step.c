/*
 * Run one step: split the code into statements, run them, and describe a failure.
 *
 * run_all() skips blanks and runs a dot command or a statement, until the code ends. SQLite tells
 * where a statement ends. prepare() may have to prepare a statement several times. If SQLite does
 * not know a table, and a file of that name exists, a virtual table over the file is created and
 * the statement is prepared again. If the statement writes and "main" is still a database in
 * memory, the database file is opened first.
 *
 * Atomicity (run_prepared()). Before the first statement that writes, a savepoint is set, to
 * which the step rolls back if it fails. Some statements cannot run within a savepoint (VACUUM,
 * ATTACH, some PRAGMAs), and others handle transactions themselves (BEGIN, COMMIT, SAVEPOINT …).
 * Before such a statement the savepoint is released. That keeps what the step has done so far
 * (has_kept), and a later failure undoes only what follows. The result of a failed step says what
 * was undone: the whole step, a part of it, or a transaction that earlier steps had begun.
 *
 * Counting changed rows. "N rows changed" must not count rows that were rolled back. SQLite's
 * commit and rollback hooks report whole transactions. For the program's own savepoints SQLite has
 * no hook. So see_savepoint() recognizes SAVEPOINT, at which it stores the count, and ROLLBACK TO,
 * at which it restores the count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "step.h"

#include "base/utf8.h"
#include "dot_command.h"
#include "sum_warning.h"
#include "result.h"
#include "scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TRIES_MAX = FILES_MAX + 8, DOT_LINE_BYTES = 8192 };

/* ---- failures ---- */

#define CODE(name)                                                                                 \
	{                                                                                          \
		SQLITE_##name, "SQLITE_" #name                                                     \
	}

static const char *code_name(int rc)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {CODE(ERROR), CODE(PERM), CODE(BUSY), CODE(LOCKED), CODE(NOMEM), CODE(READONLY),
		CODE(INTERRUPT), CODE(IOERR), CODE(CORRUPT), CODE(FULL), CODE(CANTOPEN),
		CODE(PROTOCOL), CODE(SCHEMA), CODE(TOOBIG), CODE(CONSTRAINT), CODE(MISMATCH),
		CODE(AUTH), CODE(RANGE), CODE(NOTADB), CODE(CONSTRAINT_CHECK),
		CODE(CONSTRAINT_FOREIGNKEY), CODE(CONSTRAINT_NOTNULL), CODE(CONSTRAINT_PRIMARYKEY),
		CODE(CONSTRAINT_TRIGGER), CODE(CONSTRAINT_UNIQUE), CODE(CONSTRAINT_ROWID),
		CODE(CONSTRAINT_DATATYPE), CODE(CONSTRAINT_VTAB), CODE(CORRUPT_VTAB),
		CODE(READONLY_DBMOVED), CODE(READONLY_DIRECTORY), CODE(CANTOPEN_ISDIR),
		CODE(IOERR_READ), CODE(IOERR_WRITE), CODE(IOERR_FSYNC), CODE(IOERR_SHORT_READ)};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].code == rc)
			return names[i].name;
	return (rc & 0xff) != rc ? code_name(rc & 0xff) : "SQLITE_UNKNOWN";
}

static const char *error_name(int rc)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {{SQLITE_CONSTRAINT, "ConstraintError"}, {SQLITE_BUSY, "BusyError"},
		{SQLITE_LOCKED, "BusyError"}, {SQLITE_CORRUPT, "DatabaseError"},
		{SQLITE_NOTADB, "DatabaseError"}, {SQLITE_CANTOPEN, "DatabaseError"},
		{SQLITE_FULL, "DiskError"}, {SQLITE_IOERR, "DiskError"},
		{SQLITE_TOOBIG, "LimitError"}, {SQLITE_NOMEM, "LimitError"},
		{SQLITE_AUTH, "DeniedError"}, {SQLITE_READONLY, "DeniedError"}};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].code == (rc & 0xff))
			return names[i].name;
	return "SQLError";
}

/*
 * Set the line number and text of the error at @at. If @is_exact, also mark the position with a
 * caret below the line.
 */
static void locate(struct step *s, const char *at, bool is_exact)
{
	struct step_error *e = &s->error;
	const char *start = s->code;
	e->line = 1;
	for (const char *p = s->code; p < at; p++)
		if (*p == '\n') {
			e->line++;
			start = p + 1;
		}
	size_t column = (size_t)(at - start);
	start = s->typed ? s->typed + (start - s->code) : start;
	size_t bytes = strcspn(start, "\r\n");
	if (bytes >= sizeof e->source)
		bytes = utf8_cut(start, bytes, sizeof e->source - 1);
	memcpy(e->source, start, bytes);
	e->source[bytes] = '\0';
	if (!is_exact || column > bytes)
		return;
	size_t n = utf8_count(start, column);
	for (size_t i = 0; i < n; i++)
		e->caret[i] = i < column && start[i] == '\t' ? '\t' : ' ';
	e->caret[n] = '^';
}

int step_fail(struct step *s, const char *at, const char *name, const char *fmt, ...)
{
	va_list ap;
	s->error = (struct step_error){.name = name};
	va_start(ap, fmt);
	vsnprintf(s->error.message, sizeof s->error.message, fmt, ap);
	va_end(ap);
	locate(s, at, false);
	return -1;
}

/* Return the table that SQLite's last message reports as unknown, or NULL for another message. */
static const char *unknown_table(sqlite3 *h)
{
	static const char says[] = "no such table: ";
	const char *text = sqlite3_errmsg(h);
	return strncmp(text, says, sizeof says - 1) == 0 ? text + sizeof says - 1 : NULL;
}

/*
 * Return a hint for a statement of another database system, for which there is a dot command here;
 * or "".
 */
static const char *foreign(const char *sql)
{
	static const struct {
		const char *word, *hint;
	} words[] = {{"DESCRIBE", ": use .schema TABLE"}, {"DESC", ": use .schema TABLE"},
		{"SHOW", ": use .tables or .schema TABLE"},
		{"USE", ": there is one database, retort.db; .tables lists its tables"}};
	struct token t = scan_token(&sql);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (scan_is(&t, words[i].word))
			return words[i].hint;
	return t.bytes == 1 && *t.text == '\\' ? ": use .tables or .schema TABLE" : "";
}

/* Return a hint to append to SQLite's error message for @sql, or "". */
static const char *hint(struct db *db, int rc, const char *sql)
{
	char path[FILES_PATH_BYTES];
	const char *unknown = rc == SQLITE_ERROR ? unknown_table(db->h) : NULL;
	if (unknown && files_is_table(unknown) && files_find(unknown, path))
		return ": put the name of a file in quotes";
	if ((rc & 0xff) == SQLITE_IOERR && sqlite3_system_errno(db->h) == EFBIG)
		return ": the file would exceed its size limit: raise it with --file-size";
	return rc == SQLITE_ERROR ? foreign(sql) : "";
}

int step_fail_sql(struct step *s, const char *at, int rc)
{
	struct db *db = s->db;
	if ((rc & 0xff) == SQLITE_INTERRUPT || db_stop)
		return step_fail(s, at, "Interrupted", "the statement was stopped");
	bool is_refused = db->reason[0] && ((rc & 0xff) == SQLITE_AUTH || rc == SQLITE_ERROR);
	bool is_current = db->h && (sqlite3_errcode(db->h) & 0xff) == (rc & 0xff);
	const char *text = sqlite3_errstr(rc);
	if (is_refused) {
		rc = SQLITE_AUTH;
		text = db->reason;
	} else if (is_current) {
		text = sqlite3_errmsg(db->h);
	}
	int offset = is_current ? sqlite3_error_offset(db->h) : -1;
	(void)step_fail(s, at, error_name(rc), "%s%s (%s)", text,
		is_current ? hint(db, rc, at) : "", code_name(rc));
	if (offset >= 0 && (size_t)offset <= strlen(at))
		locate(s, at + offset, true);
	return -1;
}

/* ---- results ---- */

/* Send the previous result as a display. Only the last result is the step's value. */
static void flush_value(struct step *s)
{
	if (s->value.bytes > 0)
		s->display(s->arg, &s->value);
	buf_clear(&s->value);
}

int step_text(struct step *s, const char *text, size_t bytes)
{
	flush_value(s);
	buf_add(&s->value, "{\"text/plain\":");
	(void)utf8_quote(&s->value, text, bytes);
	buf_add(&s->value, "}");
	if (buf_error(&s->value) == 0)
		return 0;
	buf_clear(&s->value);
	return step_fail(
		s, s->code, "LimitError", "the text has %zu bytes, which is too long", bytes);
}

static int take_rows(struct step *s, sqlite3_stmt *stmt)
{
	struct result result;
	int rc = SQLITE_NOMEM;
	flush_value(s);
	if (result_begin(&result, stmt, s->value_bytes) == 0) {
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
			if (result_row(&result, stmt) < 0) {
				rc = SQLITE_NOMEM;
				break;
			}
		if (rc == SQLITE_DONE && result_write(&result, &s->value) < 0) {
			buf_clear(&s->value);
			rc = SQLITE_TOOBIG;
		}
		if (rc == SQLITE_DONE && result.has_no_utf8)
			fputs("retort: note: bytes that are not UTF-8 are shown as \\xNN: "
			      "convert a file with iconv -f latin1 -t utf-8\n",
				stderr);
	}
	result_done(&result);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int take_change(sqlite3_stmt *stmt)
{
	int rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- statements ---- */

/*
 * Return whether the statement must run without the step's savepoint: either SQLite refuses it
 * within a savepoint, or it handles transactions itself.
 */
static bool is_outside(const char *sql)
{
	static const char *const words[] = {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT",
		"RELEASE", "VACUUM", "PRAGMA", "ATTACH", "DETACH"};
	struct token t = scan_token(&sql);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (scan_is(&t, words[i]))
			return true;
	return false;
}

/* ---- number of changed rows, without those rolled back ---- */

static int on_commit(void *arg)
{
	struct step *s = arg;
	s->n_committed = s->n_changed;
	return 0;
}

static void on_rollback(void *arg)
{
	struct step *s = arg;
	s->n_changed = s->n_committed;
}

/*
 * Recognize SAVEPOINT a and ROLLBACK [TRANSACTION] TO [SAVEPOINT] a, for which SQLite has no hooks,
 * and adapt the count of changed rows.
 */
static void see_savepoint(struct step *s, const char *sql)
{
	char name[STEP_NAME_BYTES];
	struct token t = scan_token(&sql);
	bool is_set = scan_is(&t, "SAVEPOINT"), is_back = scan_is(&t, "ROLLBACK");
	bool has_to = false;
	if (!is_set && !is_back)
		return;
	t = scan_token(&sql);
	for (; is_back && t.kind == SCAN_WORD; t = scan_token(&sql)) {
		bool is_to = scan_is(&t, "TO");
		if (!is_to && !scan_is(&t, "TRANSACTION") && !(has_to && scan_is(&t, "SAVEPOINT")))
			break;
		has_to |= is_to;
	}
	if ((is_back && !has_to) || t.kind == SCAN_END || !scan_plain(&t, name, sizeof name))
		return;
	if (is_set && s->n_marks < STEP_MARKS_MAX) {
		struct step_mark *mark = &s->marks[s->n_marks++];
		strcpy(mark->name, name);
		mark->n_changed = s->n_changed;
	}
	if (!is_back)
		return;
	while (s->n_marks > 0 && strcasecmp(s->marks[s->n_marks - 1].name, name) != 0)
		s->n_marks--;
	/*
	 * A savepoint that is not in the list was set by an earlier step. So all rows that this
	 * step has changed are undone.
	 */
	s->n_changed = s->n_marks > 0 ? s->marks[s->n_marks - 1].n_changed : 0;
}

static bool changes_rows(const char *sql)
{
	static const char *const words[] = {"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"};
	struct token t = scan_token(&sql);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (scan_is(&t, words[i]))
			return true;
	return false;
}

/*
 * Create the table that PRAGMA table_info(NAME) asks for, if NAME is a file. SQLite would not
 * report the unknown table, but return no rows.
 */
static int resolve_asked(struct db *db, const char *sql)
{
	char name[FILES_NAME_BYTES];
	struct token t = scan_token(&sql);
	if (!scan_is(&t, "PRAGMA"))
		return SQLITE_OK;
	t = scan_token(&sql);
	if (!scan_is(&t, "table_info") && !scan_is(&t, "table_xinfo"))
		return SQLITE_OK;
	t = scan_token(&sql);
	t = scan_token(&sql); /* the token after the parenthesis or the equals sign */
	if (t.kind == SCAN_END || !scan_plain(&t, name, sizeof name) ||
		sqlite3_table_column_metadata(
			db->h, NULL, name, NULL, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK)
		return SQLITE_OK;
	int r = files_resolve(&db->files, db, name);
	return r < 0 ? -r : SQLITE_OK;
}

/*
 * Prepare a statement. Create tables for the files that it names, and the database file if it
 * writes.
 */
static int prepare(struct step *s, const char *sql, sqlite3_stmt **out, const char **tail)
{
	struct db *db = s->db;
	char name[FILES_NAME_BYTES];
	int rc = resolve_asked(db, sql);
	if (rc != SQLITE_OK)
		return rc;
	for (int i = 0; i < TRIES_MAX; i++) {
		db->reason[0] = '\0';
		db->wants_file = false;
		rc = sqlite3_prepare_v2(db->h, sql, -1, out, tail);
		const char *unknown = rc == SQLITE_OK ? NULL : unknown_table(db->h);
		if (rc == SQLITE_OK && db->wants_file && !db->is_file) {
			(void)sqlite3_finalize(*out);
			*out = NULL;
			rc = db_use_file(db);
			if (rc != SQLITE_OK)
				break;
		} else if (unknown && strlen(unknown) < sizeof name) {
			strcpy(name, unknown);
			int r = files_resolve(&db->files, db, name);
			if (r < 0)
				return -r;
			/*
			 * Prepare again to get SQLite's message, which files_resolve() may have
			 * overwritten.
			 */
			if (r == 0)
				return sqlite3_prepare_v2(db->h, sql, -1, out, tail);
		} else {
			break;
		}
	}
	return rc;
}

/*
 * Release the savepoint before a statement that cannot run within one. What the step has done so
 * far is then kept, even if the step fails later.
 */
static int keep(struct step *s)
{
	bool has_point = db_has_point(s->db);
	int rc = db_release(s->db);
	s->has_kept |= has_point && rc == SQLITE_OK;
	return rc;
}

/*
 * Return whether the statement had an effect that a failure of the step does not undo. A PRAGMA
 * that only answers a question had none.
 */
static bool stays(sqlite3_stmt *stmt, const char *sql)
{
	return is_outside(sql) && !(sqlite3_stmt_readonly(stmt) && sqlite3_column_count(stmt) > 0);
}

static int run_prepared(struct step *s, sqlite3_stmt *stmt, const char *sql)
{
	struct db *db = s->db;
	int rc = SQLITE_OK;
	(void)sqlite3_commit_hook(db->h, on_commit, s);
	(void)sqlite3_rollback_hook(db->h, on_rollback, s);
	if (is_outside(sql))
		rc = keep(s);
	else if (!sqlite3_stmt_readonly(stmt))
		rc = db_point(db);
	db->is_running = true;
	if (rc == SQLITE_OK)
		rc = sqlite3_column_count(stmt) > 0 ? take_rows(s, stmt) : take_change(stmt);
	db->is_running = false;
	if (rc == SQLITE_OK && sqlite3_column_count(stmt) == 0 && changes_rows(sql)) {
		s->has_changed = true;
		s->n_changed += (uint64_t)sqlite3_changes64(db->h);
	}
	if (rc == SQLITE_OK) {
		see_savepoint(s, sql);
		s->has_kept |= stays(stmt, sql);
	}
	if (rc == SQLITE_OK && sqlite3_column_count(stmt) > 0)
		sum_warning(db, sqlite3_sql(stmt));
	return rc;
}

/* Run the first statement in @sql. *@tail is set to the text after it. */
static int run_one(struct step *s, const char *sql, const char *at, const char **tail)
{
	sqlite3_stmt *stmt = NULL;
	int rc = prepare(s, sql, &stmt, tail);
	if (rc == SQLITE_OK && db_stop)
		rc = SQLITE_INTERRUPT;
	if (rc == SQLITE_OK && stmt)
		rc = run_prepared(s, stmt, sql);
	int r = rc == SQLITE_OK ? 0 : step_fail_sql(s, at, rc);
	(void)sqlite3_finalize(stmt);
	return r;
}

int step_statement(struct step *s, const char *sql, const char *at)
{
	const char *tail;
	return run_one(s, sql, at, &tail);
}

static int run_dot(struct step *s, const char **at)
{
	char line[DOT_LINE_BYTES];
	size_t bytes = strcspn(*at, "\r\n");
	const char *start = *at;
	*at += bytes;
	if (bytes >= sizeof line)
		return step_fail(s, start, "SQLError", "the command is longer than %d bytes",
			DOT_LINE_BYTES);
	memcpy(line, start, bytes);
	line[bytes] = '\0';
	return dot_command_run(s, line, start);
}

static int run_all(struct step *s)
{
	const char *at = s->code, *problem;
	size_t place;
	int r = 0;
	if (at[0] == '#' && at[1] == '!')
		at += strcspn(at, "\n");
	s->typed = strcasestr(at, "read_csv") ? strdup(s->code) : NULL;
	if (files_rewrite(&s->db->files, s->code, &place, &problem) < 0)
		return step_fail(s, s->code + place, "SQLError", "read_csv: %s", problem);
	while (r == 0 && !s->is_done) {
		at = scan_blanks(at);
		if (*at == ';')
			at++;
		else if (*at == '.')
			r = run_dot(s, &at);
		else if (*at)
			r = run_one(s, at, at, &at);
		else
			break;
	}
	return r;
}

static void say_changes(struct step *s)
{
	if (s->value.bytes == 0 && s->has_changed)
		buf_addf(&s->value,
			"{\"text/plain\":\"%" PRIu64 " row%s changed\",\"application/json\":"
			"{\"changes\":%" PRIu64 "}}",
			s->n_changed, s->n_changed == 1 ? "" : "s", s->n_changed);
}

static const char *what_is_undone(const struct step *s)
{
	bool is_open = s->db->h && !sqlite3_get_autocommit(s->db->h);
	return s->has_kept ? "part" : s->was_open && !is_open ? "transaction" : "step";
}

void step_run(struct step *s)
{
	s->value = BUF_INIT(s->value_bytes * 8);
	int rc = db_begin(s->db);
	s->was_open = s->db->h && !sqlite3_get_autocommit(s->db->h);
	int r = rc == SQLITE_OK ? run_all(s) : step_fail_sql(s, s->code, rc);
	rc = r == 0 && s->db->h ? db_release(s->db) : SQLITE_OK;
	if (rc != SQLITE_OK)
		r = step_fail_sql(s, s->code, rc);
	rc = db_end(s->db, r == 0);
	if (r < 0 && rc == SQLITE_OK)
		s->undone = what_is_undone(s);
	if (s->db->h) {
		(void)sqlite3_commit_hook(s->db->h, NULL, NULL);
		(void)sqlite3_rollback_hook(s->db->h, NULL, NULL);
	}
	if (r == 0)
		say_changes(s);
	else
		flush_value(s);
}

void step_done(struct step *s)
{
	buf_done(&s->value);
	free(s->typed);
	free(s->code);
}
