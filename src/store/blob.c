/* SPDX-License-Identifier: Apache-2.0 */
#include "store/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int has_blob(
	struct journal *j, const unsigned char digest[DIGEST_RAW_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_FIND, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, digest, DIGEST_RAW_BYTES);
	return db_step(j, s, "blob", err);
}

static int too_long(size_t bytes, struct err *err)
{
	return err_set(
		err, ERR_LIMIT, "blob of %zu bytes: at most %d", bytes, (int)JOURNAL_BLOB_MAX);
}

int blob_add(struct journal *j, const void *data, size_t bytes, const unsigned char *sum,
	unsigned char digest[DIGEST_RAW_BYTES], struct err *err)
{
	if (bytes > JOURNAL_BLOB_MAX)
		return too_long(bytes, err);
	if (sum)
		memcpy(digest, sum, DIGEST_RAW_BYTES);
	else
		digest_raw(digest, data, bytes);
	if (j->is_pruning)
		digest_note(&j->noted, digest);
	int r = has_blob(j, digest, err);
	if (r != 0)
		return r < 0 ? r : 0;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_ADD, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, digest, DIGEST_RAW_BYTES);
	db_bind(s, 2, data, bytes);
	r = db_step(j, s, "keep a blob", err);
	return r < 0 ? r : log_add(j, CHANGE_BLOB, 0, digest, NULL, err);
}

int blob_check(sqlite3_stmt *s, struct err *err)
{
	unsigned char sum[DIGEST_RAW_BYTES];
	char hex[DIGEST_BYTES] = "";
	struct cell digest = db_cell(s, 1), data = db_cell(s, 2);
	digest_raw(sum, data.data, data.bytes);
	if (digest.bytes == DIGEST_RAW_BYTES && memcmp(sum, digest.data, DIGEST_RAW_BYTES) == 0)
		return 0;
	if (digest.bytes == DIGEST_RAW_BYTES)
		digest_write(hex, digest.data);
	return err_set(err, ERR_DAMAGED, "blob %s: it is damaged", hex);
}

int blob_read(struct journal *j, const unsigned char digest[DIGEST_RAW_BYTES], bool is_checked,
	char **data, size_t *bytes, struct err *err)
{
	char hex[DIGEST_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_GET, err);
	if (!s)
		return -EIO;
	digest_write(hex, digest);
	db_bind(s, 1, digest, DIGEST_RAW_BYTES);
	int r = db_step(j, s, "blob", err);
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "blob %s does not exist", hex);
	if (r > 0 && is_checked)
		r = blob_check(s, err);
	if (r < 0)
		return r;
	struct cell c = db_cell(s, 2);
	char *copy = malloc(c.bytes + 1);
	if (!copy)
		return err_set(err, ERR_NO_MEMORY, "blob %s", hex);
	memcpy(copy, c.data, c.bytes);
	copy[c.bytes] = '\0';
	*data = copy;
	*bytes = c.bytes;
	return 0;
}

int journal_blob_keep(
	struct journal *j, const void *data, size_t bytes, const char *digest, struct err *err)
{
	unsigned char sum[DIGEST_RAW_BYTES], raw[DIGEST_RAW_BYTES];
	if (bytes > JOURNAL_BLOB_MAX)
		return too_long(bytes, err);
	int r = digest_read(sum, digest) < 0 ? err_set(err, ERR_USAGE, "a blob without a digest")
					     : db_begin(j, err);
	if (r < 0)
		return r;
	r = db_commit(j, blob_add(j, data, bytes, sum, raw, err), err);
	if (r == 0 && !j->is_pruning)
		digest_note(&j->noted, raw);
	return r;
}

int journal_blob_put(struct journal *j, const void *data, size_t bytes, char digest[DIGEST_BYTES],
	struct err *err)
{
	if (bytes <= JOURNAL_BLOB_MAX) /* a larger blob is refused by journal_blob_keep() */
		digest_text(digest, data, bytes);
	return journal_blob_keep(j, data, bytes, digest, err);
}

int journal_blob_get(
	struct journal *j, const char *digest, char **data, size_t *bytes, struct err *err)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	if (digest_read(raw, digest) < 0)
		return err_set(
			err, ERR_USAGE, "blob %.70s: a digest is 64 hexadecimal digits", digest);
	return blob_read(j, raw, true, data, bytes, err);
}
