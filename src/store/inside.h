/* Internal functions that the parts of the journal call in each other. Those that write must run
 * inside a transaction. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/* These values are stored in the database. */
enum change_kind {
	CHANGE_SESSION = 1,
	CHANGE_MOVE = 2,
	CHANGE_RENAME = 3,
	CHANGE_CLOSE = 4,
	CHANGE_STEP = 5,
	CHANGE_BLOB = 6,
	CHANGE_AGAIN = 7,      /* a step that exists already was run again, in any session */
	CHANGE_AGAIN_BACK = 8, /* a step that exists already was run again and rolled back */
	CHANGE_TAINT = 9,
	CHANGE_GAP = 10, /* pruned changes up to this number; `at_ms` has the first number */
};

/* db.c: Find the inode number and the size of the file at the write-ahead log's path. Returns: 0
 * when that file does not exist. */
int64_t db_wal_ino(struct journal *j, int64_t *bytes);

/* db.c: Record the size of journal.db, which must not become smaller. */
void db_note_size(struct journal *j);

/* log.c: Append a change to the log. @digest and @seal may be NULL. */
int log_add(struct journal *j, enum change_kind kind, int64_t session, const unsigned char *digest,
	const unsigned char *seal, struct err *err);

/* Compute the chain value of the current row of @s, a STMT_CHANGE_NEXT. @before is the chain
 * value of the entry before it. */
void log_chain(
	unsigned char out[CHAIN_BYTES], const unsigned char before[CHAIN_BYTES], sqlite3_stmt *s);

/* Compute the checksum of a gap from change @first to change @last. @chain is the chain value of
 * @last. */
void log_gap_seal(unsigned char out[SEAL_BYTES], int64_t first, int64_t last, struct cell chain);

/* Read the end of the log and compare it with journal.head. Errors: ERR_DAMAGED, ERR_ACCESS,
 * ERR_IO. */
int log_open(struct journal *j, struct err *err);

/* Write journal.head. A failure is ignored, because the older content remains valid. */
void log_mark(struct journal *j);

/* Read the number of the last change from journal.head, before the database is opened. Returns:
 * 0 when journal.head is empty; negative errno. */
int64_t log_expected(struct journal *j, struct err *err);

/* blob.c: Store @data unless that blob exists. @sum: the SHA-256 of @data; NULL: compute it. */
int blob_add(struct journal *j, const void *data, size_t bytes, const unsigned char *sum,
	unsigned char digest[DIGEST_RAW_BYTES], struct err *err);

/* Read a blob. @is_checked: compare its bytes with its digest. Owns: the caller frees *@data. */
int blob_read(struct journal *j, const unsigned char digest[DIGEST_RAW_BYTES], bool is_checked,
	char **data, size_t *bytes, struct err *err);

/* Compare the bytes in the current row of @s (id, digest, data) with their digest. */
int blob_check(sqlite3_stmt *s, struct err *err);

/* node.c: Find the row number of a step by its digest or the first digits of it. Errors:
 * ERR_NOT_FOUND, ERR_USAGE, ERR_DAMAGED. */
int64_t node_seq(struct journal *j, const char *digest, struct err *err);
int node_read(
	struct journal *j, int64_t n, enum journal_read how, struct journal_node *, struct err *);

/* session.c: Find a session by its id. Errors: ERR_NOT_FOUND. */
int session_find(struct journal *j, const char *id, struct session_row *row, struct err *err);
/* Read the current row of @s, and verify its seal. */
int session_row_read(sqlite3_stmt *s, struct session_row *row, struct err *err);

/* Write a session's changed row, and append the change to the log. */
int session_write(struct journal *j, struct session_row *row, enum change_kind kind,
	const unsigned char *digest, struct err *err);

/* Check that @head is "" or the digest of an existing step. Returns: 0, or negative errno. */
int head_check(struct journal *j, const char *head, struct err *err);

/* Check that @text and its NUL fit into @room; that @text is "" or the whole digest of a step.
 * Returns: 0, or negative errno. Errors: ERR_USAGE. */
int text_check(const char *text, size_t room, const char *what, struct err *err);
int digest_check(const char *text, const char *what, struct err *err);
int64_t now_ms(void);
