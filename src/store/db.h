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

/* What journal_commit() needs to know before it writes a step. It stays valid until the next
 * change, so it can be read while the step still runs. */
struct ahead {
	int64_t change; /* number of the last change when this was read; -1: invalid */
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
	bool is_open;		      /* all checks of journal_open() have passed */
	bool is_nameless, is_pruning; /* files without names; see store/prune.h */
	sqlite3_stmt *stmts[STMT_END_];
	char dir[PATH_MAX - 32];
	struct chain_end last, next; /* committed; in the running transaction */
	struct ahead ahead;
	struct digest_list noted; /* blobs stored without a step; while pruning, all blobs stored */
	int64_t synced_seq, n_lost, wal_ino;
	int64_t db_bytes; /* size of journal.db after its pages were last written */
	int wal_pages, lock_fd, head_fd;
	char boot[40]; /* boot id of the kernel, or "-" when it is unknown */
};

/* The bytes of a column, borrowed until the next db_step() of the statement. */
struct cell {
	const void *data;
	size_t bytes;
};

/* Turn the last error of SQLite into an error message about @what. Returns: negative errno. */
int db_fail(struct journal *j, const char *what, struct err *err);

/* Prepare a statement when it is first used. Returns: the statement, ready for binding, or NULL.
 * Declare the variable as cleanup_stmt: a statement that is not reset prevents checkpoints. */
sqlite3_stmt *db_stmt(struct journal *j, enum stmt which, struct err *err);
void stmt_reset(sqlite3_stmt **s);
#define cleanup_stmt cleanup(stmt_reset)

/* Step a statement. Returns: 1 with a row, 0 at the end, negative errno. */
int db_step(struct journal *j, sqlite3_stmt *s, const char *what, struct err *err);

/* Step a statement whose first column must be greater than @after. In a damaged B-tree SQLite
 * may return to an earlier row; the result is then ERR_DAMAGED, so that a loop ends. */
int db_step_on(
	struct journal *j, sqlite3_stmt *s, int64_t after, const char *what, struct err *err);
void db_bind(sqlite3_stmt *s, int place, const void *data, size_t bytes);
struct cell db_cell(sqlite3_stmt *s, int column);

/* Copy a column into a buffer. Returns: false when a blob has another size than @bytes, or a
 * text with its NUL is longer than @room. */
bool db_copy(sqlite3_stmt *s, int column, unsigned char *out, size_t bytes);
bool db_text(sqlite3_stmt *s, int column, char *out, size_t room);

/* Begin and commit one transaction. When @so_far is negative, db_commit() rolls back and returns
 * @so_far. */
int db_begin(struct journal *j, struct err *err);
int db_commit(struct journal *j, int so_far, struct err *err);
int db_checkpoint(struct journal *j, int mode, struct err *err);
/* Sync the write-ahead log to the disk without a checkpoint. */
int db_sync_log(struct journal *j, struct err *err);
