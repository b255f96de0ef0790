/* What the parts of the journal share: the database, its statements, the log of changes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/journal.h"
#include "store/page.h"
#include "store/prune.h"
#include "store/seal.h"

#include <limits.h>
#include <stdbool.h>

enum stmt {
#define X(symbol, sql) symbol,
#include "store/stmt.def"
#undef X
	STMT_END_
};

/* A session's row as it is in the database. */
struct session_row {
	int64_t n, created_ms, closed_ms, change;
	char id[JOURNAL_ID_BYTES], name[JOURNAL_NAME_BYTES], parent[JOURNAL_ID_BYTES];
	char fork[DIGEST_BYTES], head[DIGEST_BYTES];
	char owner[JOURNAL_OWNER_BYTES], ended[JOURNAL_WORD_BYTES];
	int64_t ttl_ms, idle_ms;
	bool is_tainted, is_forgotten;
	unsigned char order_digest[DIGEST_RAW_BYTES];
};

/* What the commit of a step has to know. It is true until the next change, so it can be read while
 * the step still runs. */
struct ahead {
	int64_t change; /* the last one when it was read */
	struct session_row row;
	char parent[DIGEST_BYTES];
	int64_t parent_seq, seq; /* of the step before, and of this one */
};

/* Where the log of changes ends: each entry's chain covers the one before it. */
struct chain_end {
	int64_t seq;
	unsigned char chain[CHAIN_BYTES];
};

struct journal {
	sqlite3 *db;
	struct page_vfs vfs;
	bool has_vfs;
	bool is_open;		      /* all was found to be well: closing may tidy up */
	bool is_nameless, is_pruning; /* meant to go with us; store/prune.h */
	sqlite3_stmt *stmts[STMT_END_];
	char dir[PATH_MAX - 32];
	struct chain_end last, next; /* committed; of the transaction that runs */
	struct ahead ahead;
	struct digest_list noted; /* put without a step; when `is_pruning`, all */
	int64_t synced_seq, n_lost, wal_ino;
	int64_t db_bytes; /* of journal.db, when its pages were last written */
	int wal_pages, lock_fd, head_fd;
	char boot[40]; /* which start of the machine this is, or "" */
};

/* Bytes of a column, borrowed until the next step. */
struct cell {
	const void *data;
	size_t bytes;
};

/* Turn what SQLite last said into an error about @what. Returns: negative errno. */
int db_fail(struct journal *j, const char *what, struct err *err);

/* Returns: the statement, ready to be bound, or NULL. Hold it as cleanup_stmt: one that is not
 * reset keeps the log from being synced. */
sqlite3_stmt *db_stmt(struct journal *j, enum stmt which, struct err *err);
void stmt_reset(sqlite3_stmt **s);
#define cleanup_stmt cleanup(stmt_reset)

/* Returns: 1 with a row, 0 at the end, negative errno. */
int db_step(struct journal *j, sqlite3_stmt *s, const char *what, struct err *err);

/*
 * Step a statement whose first column must be above @after. In a damaged tree SQLite can come back
 * to where it was: then this is ERR_DAMAGED, and a loop ends.
 */
int db_step_on(
	struct journal *j, sqlite3_stmt *s, int64_t after, const char *what, struct err *err);
void db_bind(sqlite3_stmt *s, int place, const void *data, size_t bytes);
struct cell db_cell(sqlite3_stmt *s, int column);

/* Borrowed copies of fixed size. Returns: false when the column has another one. */
bool db_copy(sqlite3_stmt *s, int column, unsigned char *out, size_t bytes);
bool db_text(sqlite3_stmt *s, int column, char *out, size_t room);

/* One transaction. db_commit() of a failed one undoes it and keeps its error. */
int db_begin(struct journal *j, struct err *err);
int db_commit(struct journal *j, int so_far, struct err *err);
int db_checkpoint(struct journal *j, int mode, struct err *err);
/* Bring what is in the write-ahead log to the disk, and leave it there. */
int db_sync_log(struct journal *j, struct err *err);
