/* Functions of one part of the journal that others call, all inside a transaction or a read.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/* Values are in the database. */
enum change_kind {
	CHANGE_SESSION = 1,
	CHANGE_MOVE = 2,
	CHANGE_RENAME = 3,
	CHANGE_CLOSE = 4,
	CHANGE_STEP = 5,
	CHANGE_BLOB = 6,
	CHANGE_AGAIN = 7, /* a step that was there already, by another session or at another time */
	CHANGE_AGAIN_BACK = 8, /* the same, and rolled back */
	CHANGE_TAINT = 9,
	CHANGE_GAP = 10, /* what was pruned up to here, from number `at_ms` on */
};

/* db.c: which file has the name of the write-ahead log, and how large is it? Returns: 0 when there
 * is none. */
int64_t db_wal_ino(struct journal *j, int64_t *bytes);

/* db.c: remember how large the database is: smaller it must not become. */
void db_note_size(struct journal *j);

/* log.c: add to the log of changes. @digest may be NULL. */
int log_add(struct journal *j, enum change_kind kind, int64_t session, const unsigned char *digest,
	const unsigned char *seal, struct err *err);

/* The chain of an entry that stands in @s as STMT_CHANGE_NEXT selects it, behind @before. */
void log_chain(
	unsigned char out[CHAIN_BYTES], const unsigned char before[CHAIN_BYTES], sqlite3_stmt *s);

/* The checksum of a gap from @first to @last, whose last chain value stays. */
void log_gap_seal(unsigned char out[SEAL_BYTES], int64_t first, int64_t last, struct cell chain);

/* Read where the log ends and compare with journal.head. Errors: ERR_DAMAGED, ERR_ACCESS, ERR_IO.
 */
int log_open(struct journal *j, struct err *err);

/* Write journal.head. A failure is no error: an older one is true as well. */
void log_mark(struct journal *j);

/* What journal.head says, before there is a database. Returns: the last entry, 0 without one. */
int64_t log_expected(struct journal *j, struct err *err);

/* blob.c: keep @data when it is not there. @sum: its SHA-256, or NULL. */
int blob_add(struct journal *j, const void *data, size_t bytes, const unsigned char *sum,
	unsigned char digest[DIGEST_RAW_BYTES], struct err *err);

/* Owns: the caller frees *@data. @is_checked: it is what its digest says. */
int blob_read(struct journal *j, const unsigned char digest[DIGEST_RAW_BYTES], bool is_checked,
	char **data, size_t *bytes, struct err *err);

/* Check the row that @s stands on (id, digest, data). */
int blob_check(sqlite3_stmt *s, struct err *err);

/* node.c: the row number of a step. Errors: ERR_NOT_FOUND, ERR_USAGE, ERR_DAMAGED. */
int64_t node_seq(struct journal *j, const char *digest, struct err *err);
int node_read(
	struct journal *j, int64_t n, enum journal_read how, struct journal_node *, struct err *);

/* session.c */
int session_find(struct journal *j, const char *id, struct session_row *row, struct err *err);
/* The row that @s stands on, checked. */
int session_row_read(sqlite3_stmt *s, struct session_row *row, struct err *err);

/* Write a changed one, and the change. */
int session_write(struct journal *j, struct session_row *row, enum change_kind kind,
	const unsigned char *digest, struct err *err);

/* Is @head "" or the digest of a step that is there? */
int head_check(struct journal *j, const char *head, struct err *err);

/* Is there room for it and its NUL? Is it "" or a digest as they are written? Errors: ERR_USAGE. */
int text_check(const char *text, size_t room, const char *what, struct err *err);
int digest_check(const char *text, const char *what, struct err *err);
int64_t now_ms(void);
