/* The session's database: opened when it is needed, guarded, rolled back. SPDX-License-Identifier:
 * Apache-2.0 */
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
 * Until something is written, or the file exists, main is an empty database in memory: a query over
 * files leaves nothing behind. Tables over files are in the schema "files", which is asked last, so
 * that a real table of that name wins.
 */
struct db {
	sqlite3 *h;
	bool is_open; /* and set up, not only begun */
	bool is_file;
	bool is_own;		      /* a statement of ours: everything is allowed */
	bool wants_file;	      /* the statement that was prepared does more than read */
	bool has_point;		      /* our savepoint is set */
	bool is_outermost;	      /* and the transaction is ours: the program has begun none */
	bool is_running;	      /* a statement that was prepared */
	char root[4096];	      /* the workspace */
	char reason[DB_REASON_BYTES]; /* why the last statement was refused, or empty */
	struct stat seen;	      /* the file as we left it */
	struct files files;
	bool has_seed;
	uint64_t random;
};

/* Set by SIGINT; ends whatever runs. */
extern volatile sig_atomic_t db_stop;

/* Once in a process. */
void db_setup(struct db *db);
void db_close(struct db *db);

/* What random() gives from here on. */
void db_seed(struct db *db, uint64_t seed);

/*
 * Begin a step: open, or open anew what was replaced by somebody else.
 * Returns: an SQLite code; sqlite3_errmsg(db->h) has the rest.
 */
int db_begin(struct db *db);

/* Let main be the file, making it. Prepared statements must be gone. Returns: an SQLite code. */
int db_use_file(struct db *db);

/* End a step: keep or undo what it changed since the savepoint. Returns: an SQLite code; that of
 * undoing, when it is not kept. */
int db_end(struct db *db, bool is_kept);

/* Set the savepoint if there is none; release it; is there something that it would undo? Returns:
 * an SQLite code. */
int db_point(struct db *db);
int db_release(struct db *db);
bool db_has_point(struct db *db);

/* Run SQL of ours. Returns: an SQLite code. */
int db_own(struct db *db, const char *sql);
