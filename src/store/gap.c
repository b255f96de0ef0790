/* SPDX-License-Identifier: Apache-2.0 */
#include "store/gap.h"

#include "store/inside.h"

#include <errno.h>

enum { GAP_ROWS = 64 };

static int drop_change(struct journal *j, int64_t seq, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_CHANGE_DROP, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, seq);
	return db_step(j, s, "log of changes", err);
}

static int set_gap(
	struct journal *j, int64_t seq, int64_t first, struct cell chain, struct err *err)
{
	unsigned char seal[SEAL_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_GAP_SET, err);
	if (!s)
		return -EIO;
	log_gap_seal(seal, first, seq, chain);
	(void)sqlite3_bind_int64(s, 1, seq);
	(void)sqlite3_bind_int64(s, 2, first);
	db_bind(s, 3, seal, sizeof seal);
	return db_step(j, s, "log of changes", err);
}

/* Replace change @seq by a gap: a row that stands for pruned changes. If there is a gap directly
 * before or after the change, merge the gaps into one. The merged gap has the number of its last
 * change. */
static int make_gap(struct journal *j, int64_t seq, struct err *err)
{
	int64_t first = seq;
	int r;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_GAP_BEFORE, err);
		if (s)
			(void)sqlite3_bind_int64(s, 1, seq);
		r = s ? db_step(j, s, "log of changes", err) : -EIO;
		if (r > 0 && sqlite3_column_int64(s, 0) == seq - 1 &&
			sqlite3_column_int64(s, 1) == CHANGE_GAP)
			first = sqlite3_column_int64(s, 2);
	}
	if (r >= 0 && first < seq)
		r = drop_change(j, seq - 1, err);
	if (r < 0)
		return r;
	cleanup_stmt sqlite3_stmt *after = db_stmt(j, STMT_GAP_AFTER, err);
	if (!after)
		return -EIO;
	(void)sqlite3_bind_int64(after, 1, seq);
	r = db_step(j, after, "log of changes", err);
	if (r > 0 && sqlite3_column_int64(after, 1) == CHANGE_GAP &&
		sqlite3_column_int64(after, 2) == seq + 1) {
		r = set_gap(j, sqlite3_column_int64(after, 0), first, db_cell(after, 3), err);
		return r < 0 ? r : drop_change(j, seq, err);
	}
	cleanup_stmt sqlite3_stmt *here = db_stmt(j, STMT_GAP_AT, err);
	if (r < 0 || !here)
		return r < 0 ? r : -EIO;
	(void)sqlite3_bind_int64(here, 1, seq);
	r = db_step(j, here, "log of changes", err);
	return r > 0 ? set_gap(j, seq, first, db_cell(here, 3), err) : r;
}

/* Replace changes in the log of changes by gaps. A gap is a row that stands for pruned changes.
 * The SQL statement *@s returns the numbers of the changes to replace. */
static int make_gaps(struct journal *j, sqlite3_stmt **s, struct err *err)
{
	int64_t seqs[GAP_ROWS];
	int r = 1;
	while (r > 0) {
		size_t n = 0;
		while (n < GAP_ROWS && (r = db_step(j, *s, "log of changes", err)) > 0)
			seqs[n++] = sqlite3_column_int64(*s, 0);
		(void)sqlite3_reset(*s);
		for (size_t i = 0; i < n && r >= 0; i++) {
			int bad = make_gap(j, seqs[i], err);
			r = bad < 0 ? bad : r;
		}
	}
	return r;
}

int gap_make(struct journal *j, enum stmt which, const unsigned char *digest, int64_t session,
	struct err *err)
{
	int place = 1;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, which, err);
	if (!s)
		return -EIO;
	if (digest)
		db_bind(s, place++, digest, DIGEST_RAW_BYTES);
	if (session > 0)
		(void)sqlite3_bind_int64(s, place, session);
	return make_gaps(j, &s, err);
}
