/* SPDX-License-Identifier: Apache-2.0 */
#include "db.h"

#include "access.h"
#include "base/attr.h"
#include "function.h"
#include "table.h"

#include <string.h>
#include <unistd.h>

enum {
	LENGTH_MAX = 256 << 20, /* bytes of a value */
	SQL_LENGTH_MAX = 16 << 20,
	PROGRESS_STEPS = 5000,
	BUSY_STEP_MS = 5,
	BUSY_STEPS = 2000, /* 2000 waits of 5 ms are ten seconds */
};

volatile sig_atomic_t db_stop;

static const char point[] = "SAVEPOINT \"retort step\"";
static const char release[] = "RELEASE \"retort step\"";
static const char undo[] = "ROLLBACK TO \"retort step\"";
static const char undo_all[] = "ROLLBACK";

void db_setup(struct db *db)
{
	*db = (struct db){0};
	(void)sqlite3_config(SQLITE_CONFIG_URI, 0);
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	if (!getcwd(db->root, sizeof db->root))
		db->root[0] = '\0';
}

int db_own(struct db *db, const char *sql)
{
	db->is_own = true;
	int rc = sqlite3_exec(db->h, sql, NULL, NULL, NULL);
	db->is_own = false;
	return rc;
}

static int on_busy(void *arg, int n)
{
	(void)arg;
	if (db_stop || n >= BUSY_STEPS)
		return 0;
	(void)sqlite3_sleep(BUSY_STEP_MS);
	return 1;
}

static int on_progress(void *arg)
{
	(void)arg;
	return db_stop;
}

static int configure(struct db *db)
{
	static const struct {
		int option, value;
	} options[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}};
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)sqlite3_db_config(db->h, options[i].option, options[i].value, NULL);
	(void)sqlite3_limit(db->h, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	(void)sqlite3_limit(db->h, SQLITE_LIMIT_SQL_LENGTH, SQL_LENGTH_MAX);
	(void)sqlite3_busy_handler(db->h, on_busy, NULL);
	sqlite3_progress_handler(db->h, PROGRESS_STEPS, on_progress, NULL);
	int rc = table_register(db->h, &db_stop);
	if (rc == SQLITE_OK)
		rc = function_register(db->h, db->has_seed ? &db->random : NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_set_authorizer(db->h, access_check, db);
	return rc == SQLITE_OK ? db_own(db, "ATTACH ':memory:' AS files") : rc;
}

static int open_as(struct db *db, const char *name)
{
	/*
	 * Do not follow a symbolic link: the link could lead out of the workspace, to a file that a
	 * rollback of the workspace does not restore.
	 */
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE |
		SQLITE_OPEN_NOFOLLOW;
	(void)sqlite3_close_v2(db->h);
	db->h = NULL;
	db->has_point = false;
	files_forget(&db->files);
	db->is_file = strcmp(name, DB_FILE) == 0;
	int rc = sqlite3_open_v2(name, &db->h, flags, NULL);
	if (rc == SQLITE_OK)
		rc = configure(db);
	db->is_open = rc == SQLITE_OK;
	return rc;
}

void db_close(struct db *db)
{
	(void)sqlite3_close_v2(db->h);
	db->h = NULL;
	db->is_open = false;
	files_done(&db->files);
}

void db_seed(struct db *db, uint64_t seed)
{
	db->random = seed;
	db->has_seed = true;
	if (db->h)
		(void)function_register(db->h, &db->random);
}

static bool is_same_time(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
		a->st_size == b->st_size;
}

/*
 * Return whether the connection has state that would be lost by opening the database again:
 * temporary tables, attached files, or an open transaction.
 */
static bool has_own_state(struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	bool has = true;
	db->is_own = true;
	if (sqlite3_prepare_v2(db->h,
		    "SELECT (SELECT count(*) FROM sqlite_temp_schema) + (SELECT count(*) FROM "
		    "pragma_database_list WHERE name NOT IN ('main', 'temp', 'files'))",
		    -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW)
		has = sqlite3_column_int(stmt, 0) > 0;
	(void)sqlite3_finalize(stmt);
	db->is_own = false;
	return has || !sqlite3_get_autocommit(db->h);
}

int db_begin(struct db *db)
{
	struct stat st;
	bool is_there = lstat(DB_FILE, &st) == 0;
	if (db->is_open && db->is_file && is_there && st.st_dev == db->seen.st_dev &&
		st.st_ino == db->seen.st_ino) {
		if (is_same_time(&st, &db->seen))
			return SQLITE_OK;
		/*
		 * Another program has written the file, or a rollback has restored it. So the pages
		 * in SQLite's cache may be outdated.
		 */
		if (has_own_state(db))
			return sqlite3_file_control(db->h, "main", SQLITE_FCNTL_RESET_CACHE, NULL),
			       SQLITE_OK;
	} else if (db->is_open && !db->is_file && !is_there) {
		return SQLITE_OK;
	}
	return open_as(db, is_there ? DB_FILE : ":memory:");
}

int db_use_file(struct db *db)
{
	return db->is_file ? SQLITE_OK : open_as(db, DB_FILE);
}

bool db_has_point(struct db *db)
{
	/*
	 * A COMMIT, or an error that rolled back the whole transaction, has also ended the
	 * savepoint.
	 */
	return db->has_point && !sqlite3_get_autocommit(db->h);
}

int db_point(struct db *db)
{
	if (db_has_point(db))
		return SQLITE_OK;
	db->is_outermost = sqlite3_get_autocommit(db->h);
	int rc = db_own(db, point);
	db->has_point = rc == SQLITE_OK;
	return rc;
}

int db_release(struct db *db)
{
	int rc = db_has_point(db) ? db_own(db, release) : SQLITE_OK;
	/* If the release failed, the savepoint still exists, and db_end() can roll back to it. */
	db->has_point = rc != SQLITE_OK;
	return rc;
}

/*
 * Roll back to the savepoint and remove it. If the savepoint began the transaction, use ROLLBACK:
 * RELEASE would commit the transaction, which writes to the file.
 */
static int take_back(struct db *db)
{
	if (db->is_outermost)
		return db_own(db, undo_all);
	int rc = db_own(db, undo);
	return rc == SQLITE_OK ? db_own(db, release) : rc;
}

int db_end(struct db *db, bool is_kept)
{
	int rc = SQLITE_OK;
	if (!db->h)
		return rc;
	if (is_kept)
		rc = db_release(db);
	if (!is_kept || rc != SQLITE_OK) {
		db_stop = 0; /* An interrupt must not stop the rollback. */
		int undone = db_has_point(db) ? take_back(db) : SQLITE_OK;
		rc = rc == SQLITE_OK ? undone : rc;
		db->has_point = false;
	}
	files_drop(&db->files, db);
	if (db->is_file && lstat(DB_FILE, &db->seen) < 0)
		db->seen = (struct stat){0};
	return rc;
}
