/* The log of changes, and journal.head, which records the end of the log.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/inside.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Theory: SQLite's write-ahead log has checksums. But if a checksum is wrong, SQLite assumes
 * that a crash ended the log there, and ignores the rest without an error. So each change has a
 * number and a chain value, which is a hash over all changes before it. The last number and
 * chain value are written to journal.head before a commit returns. If the database ends before
 * the change in journal.head, changes were lost. The cause is damage if the changes had been
 * synced, or if the host has not been restarted since then (same boot id). Otherwise, the cause
 * is a power failure, which destroyed changes that were not synced yet. */
enum { HEAD_BYTES = 192, SUM_BYTES = 2 * SEAL_BYTES };

struct head {
	char boot[40];
	long long seq, synced;
	char chain[2 * CHAIN_BYTES + 1];
};

static void head_sum(char out[SUM_BYTES + 1], const char *text, size_t bytes)
{
	unsigned char sum[SEAL_BYTES];
	struct seal s;
	seal_begin(&s, "retort.head.1", sizeof sum);
	seal_bytes(&s, text, bytes);
	seal_end(&s, sum);
	(void)sodium_bin2hex(out, SUM_BYTES + 1, sum, sizeof sum);
}

void log_mark(struct journal *j)
{
	char text[HEAD_BYTES + 1], chain[2 * CHAIN_BYTES + 1], sum[SUM_BYTES + 1];
	digest_write(chain, j->last.chain);
	int n = snprintf(text, sizeof text, "retort-head 1 %-36s %19lld %19lld %s ", j->boot,
		(long long)j->last.seq, (long long)j->synced_seq, chain);
	if (n < 0 || n + SUM_BYTES + 1 > HEAD_BYTES)
		return;
	size_t body = (size_t)n;
	head_sum(sum, text, body);
	snprintf(text + body, sizeof text - body, "%s\n", sum);
	ssize_t wrote = pwrite(j->head_fd, text, strlen(text), 0);
	(void)wrote; /* after a failure, the older content of journal.head is still valid */
}

static int head_damaged(struct journal *j, struct err *err)
{
	err_set(err, ERR_DAMAGED, "journal.head: it is damaged");
	return err_hint(
		err, "remove %.120s/journal.head to continue with what journal.db has", j->dir);
}

/* Read journal.head. Returns: 1, 0 when it is empty, negative errno. */
static int head_read(struct journal *j, struct head *h, struct err *err)
{
	char text[HEAD_BYTES + 1] = "", sum[SUM_BYTES + 1];
	int end = 0;
	ssize_t n = pread(j->head_fd, text, HEAD_BYTES, 0);
	if (n < 0)
		return err_sys(err, ERR_IO, errno, "read %.150s/journal.head", j->dir);
	if (n == 0)
		return 0;
	size_t body = (size_t)n > SUM_BYTES + 1 ? (size_t)n - SUM_BYTES - 1 : 0;
	head_sum(sum, text, body);
	if (body == 0 || text[n - 1] != '\n' || memcmp(sum, text + body, SUM_BYTES) != 0)
		return head_damaged(j, err);
	if (sscanf(text, "retort-head 1 %36s %19lld %19lld %64[0-9a-f] %n", h->boot, &h->seq,
		    &h->synced, h->chain, &end) != 4 ||
		(size_t)end != body)
		return head_damaged(j, err);
	return 1;
}

int64_t log_expected(struct journal *j, struct err *err)
{
	struct head h = {0};
	int r = head_read(j, &h, err);
	return r <= 0 ? r : h.seq;
}

static int missing(struct journal *j, const struct head *h, struct err *err)
{
	bool same_boot = strcmp(h->boot, j->boot) == 0 && strcmp(j->boot, "-") != 0;
	if (j->last.seq >= h->synced && !same_boot) {
		j->n_lost = h->seq - j->last.seq;
		return 0;
	}
	char what[64];
	int64_t bytes, last = j->last.seq, n = h->seq - last;
	bool has_log = db_wal_ino(j, &bytes) && bytes > 0;
	snprintf(what, sizeof what,
		has_log ? "journal.db-wal: change %lld is incomplete"
			: "journal.db: it ends with change %lld",
		(long long)(has_log ? last + 1 : last));
	err_set(err, ERR_DAMAGED, "%s: %lld change%s missing", what, (long long)n,
		n == 1 ? " is" : "s are");
	if (last == 0)
		return err_hint(
			err, "restore %.120s from a copy, or move it away to begin anew", j->dir);
	return err_hint(err,
		"copy %.100s first; then remove its journal.head, and the engine goes on from "
		"change %lld",
		j->dir, (long long)last);
}

/*
 * Return whether change @seq is part of a gap, which is a row that stands for pruned changes.
 * The caller passes the last change that journal.head knows. If this change is in a gap, the change
 * was pruned after journal.head was written, and nothing is damaged.
 */
static bool is_in_gap(struct journal *j, int64_t seq)
{
	struct err ignored;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_GAP_AFTER, &ignored);
	if (s)
		(void)sqlite3_bind_int64(s, 1, seq);
	return s && db_step(j, s, "journal", &ignored) > 0 &&
		sqlite3_column_int64(s, 1) == CHANGE_GAP && sqlite3_column_int64(s, 2) <= seq;
}

static int compare(struct journal *j, const struct head *h, struct err *err)
{
	unsigned char chain[CHAIN_BYTES] = {0}, want[CHAIN_BYTES];
	if (h->seq > j->last.seq)
		return missing(j, h, err);
	if (digest_read(want, h->chain) < 0)
		return head_damaged(j, err);
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_CHANGE_CHAIN, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_int64(s, 1, h->seq);
	int r = h->seq > 0 ? db_step(j, s, "journal", err) : 0;
	if (r < 0)
		return r;
	if (r > 0 && !db_copy(s, 1, chain, sizeof chain))
		memset(chain, 0, sizeof chain);
	if (memcmp(chain, want, sizeof chain) == 0 || (r == 0 && is_in_gap(j, h->seq)))
		return 0;
	err_set(err, ERR_DAMAGED, "journal.db: change %lld is not the one journal.head knows",
		h->seq);
	return err_hint(
		err, "remove %.120s/journal.head to continue with what journal.db has", j->dir);
}

int log_open(struct journal *j, struct err *err)
{
	struct head h = {0};
	int r;
	{
		cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_CHANGE_LAST, err);
		if (!s)
			return -EIO;
		r = db_step(j, s, "open the journal", err);
		if (r < 0)
			return r;
		j->last.seq = r ? sqlite3_column_int64(s, 0) : 0;
		if (r > 0 && !db_copy(s, 1, j->last.chain, CHAIN_BYTES))
			return err_set(err, ERR_DAMAGED, "change %lld: it has no chain value",
				(long long)j->last.seq);
	}
	r = head_read(j, &h, err);
	if (r > 0) {
		j->synced_seq = MIN(h.synced, j->last.seq);
		r = compare(j, &h, err);
	}
	if (r < 0)
		return r;
	log_mark(j);
	return 0;
}

static void chain_of(unsigned char out[CHAIN_BYTES], const unsigned char before[CHAIN_BYTES],
	const int64_t n[4], struct cell digest, struct cell seal)
{
	struct seal s;
	seal_begin(&s, "retort.change.1", CHAIN_BYTES);
	seal_bytes(&s, before, CHAIN_BYTES);
	for (int i = 0; i < 4; i++)
		seal_int(&s, n[i]);
	seal_bytes(&s, digest.data, digest.bytes);
	seal_bytes(&s, seal.data, seal.bytes);
	seal_end(&s, out);
}

void log_gap_seal(unsigned char out[SEAL_BYTES], int64_t first, int64_t last, struct cell chain)
{
	struct seal s;
	seal_begin(&s, "retort.gap.1", SEAL_BYTES);
	seal_int(&s, first);
	seal_int(&s, last);
	seal_bytes(&s, chain.data, chain.bytes);
	seal_end(&s, out);
}

void log_chain(
	unsigned char out[CHAIN_BYTES], const unsigned char before[CHAIN_BYTES], sqlite3_stmt *s)
{
	const int64_t n[4] = {sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 4)};
	struct cell digest = db_cell(s, 3), seal = db_cell(s, 5);
	chain_of(out, before, n, digest, seal);
}

int log_add(struct journal *j, enum change_kind kind, int64_t session, const unsigned char *digest,
	const unsigned char *seal, struct err *err)
{
	const int64_t n[4] = {j->next.seq + 1, kind, session, now_ms()};
	struct cell d = {digest, digest ? DIGEST_RAW_BYTES : 0}, l = {seal, seal ? SEAL_BYTES : 0};
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_CHANGE_ADD, err);
	if (!s)
		return -EIO;
	struct chain_end end = {.seq = n[0]};
	chain_of(end.chain, j->next.chain, n, d, l);
	for (int i = 0; i < 3; i++)
		(void)sqlite3_bind_int64(s, 1 + i, n[i]);
	db_bind(s, 4, d.data, d.bytes);
	(void)sqlite3_bind_int64(s, 5, n[3]);
	db_bind(s, 6, l.data, l.bytes);
	db_bind(s, 7, end.chain, CHAIN_BYTES);
	int r = db_step(j, s, "journal", err);
	if (r == 0)
		j->next = end;
	return r;
}
