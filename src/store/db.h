/* Internals that the parts of the journal share: the database, its prepared statements, the end
 * of the log of changes. SPDX-License-Identifier: Apache-2.0 */
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

/* A row of the table `session`. */
struct session_row {
	int64_t n, created_ms, closed_ms, change;
	char id[JOURNAL_ID_BYTES], name[JOURNAL_NAME_BYTES], parent[JOURNAL_ID_BYTES];
	char fork[DIGEST_BYTES], head[DIGEST_BYTES];
	char owner[JOURNAL_OWNER_BYTES], ended[JOURNAL_WORD_BYTES];
	int64_t ttl_ms, idle_ms;
	bool is_tainted, is_forgotten;
	unsigned char order_digest[DIGEST_RAW_BYTES];
};

/* What journal_commit() needs to know before it writes a step. journal_prepare() reads it while
 * the step still runs. The struct is valid until the next change of the journal. */
struct ahead {
	/* Number of the last change when this struct was filled; -1 if the struct is not valid. */
	int64_t change;
	struct session_row row;
	char parent[DIGEST_BYTES];
	int64_t parent_seq, seq; /* row numbers of the parent and of the new step */
};

/* The end of the log of changes. The chain value of each entry covers the chain value before it. */
struct chain_end {
	int64_t seq;
	unsigned char chain[CHAIN_BYTES];
};

struct journal {
	sqlite3 *db;
	struct page_vfs vfs;
	bool has_vfs;
	bool is_open; /* all checks of journal_open() have passed */
	/* is_nameless: the journal was opened by journal_open_nameless(). is_pruning: a pruning
	 * is under way. */
	bool is_nameless, is_pruning;
	sqlite3_stmt *stmts[STMT_END_];
	char dir[PATH_MAX - 32];
	/* `last` is the end of the committed log of changes. `next` is the end that the log will
	 * have after the commit of the running transaction. */
	struct chain_end last, next;
	struct ahead ahead;
	/*
	 * Digests of blobs that a pruning must not delete, although perhaps no stored step refers
	 * to them yet. A digest is added in two cases:
	 * - A blob is stored before the step that refers to it.
	 * - blob_add() is called, with any blob, while a pruning is under way.
	 */
	struct digest_list noted;
	int64_t synced_seq, n_lost, wal_ino;
	int64_t db_bytes; /* size of journal.db after its pages were last written */
	int wal_pages, lock_fd, head_fd;
	char boot[40]; /* boot id of the kernel, or "-" when it is unknown */
};

/* The bytes of a column. Borrowed until the next db_step() of the statement. */
struct cell {
	const void *data;
	size_t bytes;
};

/* Turn the last error of SQLite into an error message about @what. Returns: negative errno. */
int db_fail(struct journal *j, const char *what, struct err *err);

/* Return a statement, ready for binding; when it is first used, prepare it. Declare the variable
 * that holds the statement with cleanup_stmt, which resets the statement at the end of the
 * block: a statement that is not reset prevents checkpoints. Returns: NULL with @err set on a
 * failure. */
sqlite3_stmt *db_stmt(struct journal *j, enum stmt which, struct err *err);
void stmt_reset(sqlite3_stmt **s);
#define cleanup_stmt cleanup(stmt_reset)

/* Step a statement. Returns: 1 with a row, 0 at the end, or negative errno. */
int db_step(struct journal *j, sqlite3_stmt *s, const char *what, struct err *err);

/* Step a statement, and check that its first column is greater than @after. In a damaged B-tree
 * SQLite may return to an earlier row; the result is then ERR_DAMAGED, so that a loop ends. */
int db_step_on(
	struct journal *j, sqlite3_stmt *s, int64_t after, const char *what, struct err *err);
void db_bind(sqlite3_stmt *s, int place, const void *data, size_t bytes);
struct cell db_cell(sqlite3_stmt *s, int column);

/*
 * Copy a column into a buffer. db_copy() copies a blob of exactly @bytes. db_text() copies a text
 * that has no NUL in it and fits into @room with its final NUL. Returns: false for any other value.
 */
bool db_copy(sqlite3_stmt *s, int column, unsigned char *out, size_t bytes);
bool db_text(sqlite3_stmt *s, int column, char *out, size_t room);

/* Begin and commit one transaction. When @so_far is negative, db_commit() rolls back instead and
 * returns @so_far. */
int db_begin(struct journal *j, struct err *err);
int db_commit(struct journal *j, int so_far, struct err *err);
int db_checkpoint(struct journal *j, int mode, struct err *err);
/* Sync the write-ahead log to the disk without a checkpoint. */
int db_sync_log(struct journal *j, struct err *err);
