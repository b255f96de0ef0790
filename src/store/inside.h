/*
 * Internal functions that the parts of the journal call in each other. Functions that write must be
 * called inside a transaction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"

/* The kinds of changes in the log of changes. The database contains these numbers. */
enum change_kind {
	CHANGE_SESSION = 1,
	CHANGE_MOVE = 2,
	CHANGE_RENAME = 3,
	CHANGE_CLOSE = 4,
	CHANGE_STEP = 5,
	CHANGE_BLOB = 6,
	CHANGE_AGAIN = 7,      /* a stored step was run again, in this or another session */
	CHANGE_AGAIN_BACK = 8, /* a stored step was run again, and the new run was rolled back */
	CHANGE_TAINT = 9,
	CHANGE_ORDER = 11, /* the session's options have changed */
	/* A gap stands for consecutive changes that were pruned. Its number is that of the last
	 * of these changes; its column `at_ms` contains the number of the first one. */
	CHANGE_GAP = 10,
};

/* db.c: Return the inode number of the file at the write-ahead log's path, and set *@bytes to its
 * size. Returns: 0 when that file does not exist. */
int64_t db_wal_ino(struct journal *j, int64_t *bytes);

/* db.c: Remember the size of journal.db. From now on, a smaller file is an error. */
void db_note_size(struct journal *j);

/* log.c: Append a change to the log. @digest and @seal may be NULL. */
int log_add(struct journal *j, enum change_kind kind, int64_t session, const unsigned char *digest,
	const unsigned char *seal, struct err *err);

/* Compute the chain value of a change, which is a hash over the change and all changes before
 * it. The change is the current row of the statement @s, which is STMT_CHANGE_NEXT. @before is
 * the chain value of the preceding change. */
void log_chain(
	unsigned char out[CHAIN_BYTES], const unsigned char before[CHAIN_BYTES], sqlite3_stmt *s);

/* Compute the checksum of a gap from change @first to change @last. @chain is the chain value of
 * @last. */
void log_gap_seal(unsigned char out[SEAL_BYTES], int64_t first, int64_t last, struct cell chain);

/* Read the end of the log and compare it with journal.head. Errors: ERR_DAMAGED, ERR_ACCESS,
 * ERR_IO. */
int log_open(struct journal *j, struct err *err);

/* Write journal.head. A failure is ignored, because the older content of the file remains valid. */
void log_mark(struct journal *j);

/* Read the number of the last change from journal.head, before the database is opened. Returns: the
 * number, 0 when journal.head is empty, or negative errno. */
int64_t log_expected(struct journal *j, struct err *err);

/* blob.c: Store @data, unless that blob exists already. @sum is the SHA-256 of @data; if it is
 * NULL, it is computed. Fills: @digest. */
int blob_add(struct journal *j, const void *data, size_t bytes, const unsigned char *sum,
	unsigned char digest[DIGEST_RAW_BYTES], struct err *err);

/* Read a blob. If @is_checked, compare its bytes with its digest. Owns: the caller frees *@data. */
int blob_read(struct journal *j, const unsigned char digest[DIGEST_RAW_BYTES], bool is_checked,
	char **data, size_t *bytes, struct err *err);

/* Compare the data in the current row of @s (columns id, digest, data) with its digest. */
int blob_check(sqlite3_stmt *s, struct err *err);

/*
 * node.c: Find the row number of a step by its digest or the first digits of it.
 * Errors: ERR_NOT_FOUND, ERR_USAGE, ERR_DAMAGED.
 */
int64_t node_seq(struct journal *j, const char *digest, struct err *err);
int node_read(
	struct journal *j, int64_t n, enum journal_read how, struct journal_node *, struct err *);

/* session.c: Find a session by its id. Errors: ERR_NOT_FOUND. */
int session_find(struct journal *j, const char *id, struct session_row *row, struct err *err);
/* Read the current row of @s, and verify its seal. */
int session_row_read(sqlite3_stmt *s, struct session_row *row, struct err *err);

/* Write a session's changed row, and append a change of the kind @kind to the log. */
int session_write(struct journal *j, struct session_row *row, enum change_kind kind,
	const unsigned char *digest, struct err *err);

/* Check that @head is "" or the digest of an existing step. Returns: 0, or negative errno. */
int head_check(struct journal *j, const char *head, struct err *err);

/*
 * text_check(): check that @text and its NUL fit into @room. digest_check(): check that @text is ""
 * or the whole digest of a step.
 * Returns: 0, or negative errno. Errors: ERR_USAGE.
 */
int text_check(const char *text, size_t room, const char *what, struct err *err);
int digest_check(const char *text, const char *what, struct err *err);
int64_t now_ms(void);
