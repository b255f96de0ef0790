/*
 * The session's database. It is opened when it is needed, and has a savepoint in each step.
 *
 * Theory of operation. SQLite's schema "main" is the file DB_FILE in the workspace. So Python can
 * open it by name, and a rollback of the workspace restores it. Before the first write the file
 * does not exist, and "main" is an empty database in memory. So a session that only queries other
 * files leaves no database behind. db_begin() compares the file's status with that at the end of
 * the last step, and opens the file again if another program or a rollback has replaced it.
 *
 * Each step is atomic as far as SQLite allows. db_point() sets a savepoint before the first
 * statement that writes; db_end() releases it, or rolls back to it if the step has failed.
 * Statements that are impossible within a savepoint, or that handle transactions themselves,
 * first release the savepoint (step.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "files.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Name of the database file in the workspace, which is also the working directory. */
#define DB_FILE "retort.db"

enum { DB_REASON_BYTES = 256 };

/*
 * The database connection. Tables over files are in the schema "files". SQLite searches that schema
 * last, so a real table of the same name takes precedence.
 */
struct db {
	sqlite3 *h;
	bool is_open; /* the connection is open and configured */
	bool is_file;
	bool is_own; /* the driver itself runs a statement, for which everything is allowed */
	/*
	 * The statement that was prepared last does more than read, so it needs the database file.
	 */
	bool wants_file;
	bool has_point; /* the savepoint of this step exists */
	/* No transaction was open when the savepoint was set, so the savepoint began one. */
	bool is_outermost;
	bool is_running;	      /* a prepared statement is running */
	char root[4096];	      /* path of the workspace */
	char reason[DB_REASON_BYTES]; /* why the last statement was denied, or "" */
	struct stat seen;	      /* status of the database file at the end of the last step */
	struct files files;
	bool has_seed;
	uint64_t random;
};

/* Set by the handler of SIGINT. It ends the running statement. */
extern volatile sig_atomic_t db_stop;

/* Initialize @db. Must be called only once in a process. */
void db_setup(struct db *db);
void db_close(struct db *db);

/* Make random() return a sequence that depends only on @seed. */
void db_seed(struct db *db, uint64_t seed);

/*
 * Begin a step: open the database, or open it again if its file was replaced. Returns: an SQLite
 * code; sqlite3_errmsg(db->h) has the details.
 */
int db_begin(struct db *db);

/*
 * Make the schema "main" the database file, and create the file if necessary. There must be no
 * prepared statements, because the connection is opened again. Returns: an SQLite code.
 */
int db_use_file(struct db *db);

/*
 * End a step. If @is_kept, release the savepoint, otherwise roll back to it. Returns: an SQLite
 * code; if the release failed, the code of the release, although a rollback followed.
 */
int db_end(struct db *db, bool is_kept);

/*
 * The savepoint of a step. db_point() sets it unless it exists; db_release() removes it and keeps
 * the changes. Both return an SQLite code. db_has_point() returns whether a rollback to it is
 * possible.
 */
int db_point(struct db *db);
int db_release(struct db *db);
bool db_has_point(struct db *db);

/* Run a statement of the driver itself, without the checks of access.h. Returns: an SQLite code. */
int db_own(struct db *db, const char *sql);
