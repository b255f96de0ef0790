/*
 * The session's database: opened when needed, with a savepoint per step.
 *
 * Theory of operation. SQLite's main database is the file DB_FILE in the workspace, so that
 * Python can open it by name and a rollback of the workspace restores it. Before the first write
 * there is no file: main is an empty database in memory, and queries over files leave nothing
 * behind. db_begin() compares the file with its last known status, because another program or a
 * rollback may have replaced it, and opens it again if necessary.
 *
 * Each step is atomic as far as SQLite allows. db_point() sets a savepoint before the first
 * statement that writes; db_end() releases it, or rolls back to it if the step has failed.
 * Statements that are impossible within a savepoint, or that handle transactions themselves,
 * first release it (step.c).
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

/* In the workspace, which is the working directory: Python opens it by this name. */
#define DB_FILE "retort.db"

enum { DB_REASON_BYTES = 256 };

/*
 * The database. Tables over files are in the schema "files", which SQLite searches last, so that
 * a real table of the same name takes precedence.
 */
struct db {
	sqlite3 *h;
	bool is_open; /* opened and configured */
	bool is_file;
	bool is_own;	 /* a statement of the driver's own: everything is allowed */
	bool wants_file; /* the statement that was prepared does more than read */
	bool has_point;	 /* the step's savepoint exists */
	/* The savepoint started the transaction: the program had not begun one */
	bool is_outermost;
	bool is_running;	      /* a prepared statement is running */
	char root[4096];	      /* the workspace */
	char reason[DB_REASON_BYTES]; /* why the last statement was denied, or empty */
	struct stat seen;	      /* status of the file at the end of the last step */
	struct files files;
	bool has_seed;
	uint64_t random;
};

/* Set by SIGINT; ends the running statement. */
extern volatile sig_atomic_t db_stop;

/* Call once per process. */
void db_setup(struct db *db);
void db_close(struct db *db);

/* Seed random(). */
void db_seed(struct db *db, uint64_t seed);

/*
 * Begin a step: open the database, or open it again if it was replaced. Returns: an SQLite code;
 * details in sqlite3_errmsg(db->h).
 */
int db_begin(struct db *db);

/*
 * Make main the file, creating it. There must be no prepared statements. Returns: an SQLite code.
 */
int db_use_file(struct db *db);

/*
 * End a step: keep or roll back what it has changed since the savepoint. Returns: an SQLite code;
 * the one of the rollback, if there was one.
 */
int db_end(struct db *db, bool is_kept);

/*
 * The savepoint: set it if there is none; release it; would a rollback to it undo anything?
 * Returns: an SQLite code.
 */
int db_point(struct db *db);
int db_release(struct db *db);
bool db_has_point(struct db *db);

/* Run SQL of the driver's own. Returns: an SQLite code. */
int db_own(struct db *db, const char *sql);
