/* SPDX-License-Identifier: Apache-2.0 */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int has_blob(struct journal *j, const unsigned char digest[SHA_BYTES], struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_FIND, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, digest, SHA_BYTES);
	return db_step(j, s, "blob", err);
}

static int too_long(size_t bytes, struct err *err)
{
	return err_set(
		err, ERR_LIMIT, "blob of %zu bytes: at most %d", bytes, (int)JOURNAL_BLOB_MAX);
}

int blob_add(struct journal *j, const void *data, size_t bytes, const unsigned char *sum,
	unsigned char digest[SHA_BYTES], struct err *err)
{
	if (bytes > JOURNAL_BLOB_MAX)
		return too_long(bytes, err);
	if (sum)
		memcpy(digest, sum, SHA_BYTES);
	else
		(void)crypto_hash_sha256(digest, data ? data : (const void *)"", bytes);
	if (j->is_pruning)
		digest_note(&j->noted, digest);
	int r = has_blob(j, digest, err);
	if (r != 0)
		return r < 0 ? r : 0;
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_ADD, err);
	if (!s)
		return -EIO;
	db_bind(s, 1, digest, SHA_BYTES);
	db_bind(s, 2, data, bytes);
	r = db_step(j, s, "keep a blob", err);
	return r < 0 ? r : log_add(j, CHANGE_BLOB, 0, digest, NULL, err);
}

int blob_check(sqlite3_stmt *s, struct err *err)
{
	unsigned char sum[SHA_BYTES];
	char hex[JOURNAL_DIGEST_BYTES] = "";
	struct cell digest = db_cell(s, 1), data = db_cell(s, 2);
	(void)crypto_hash_sha256(sum, data.data, data.bytes);
	if (digest.bytes == SHA_BYTES && memcmp(sum, digest.data, SHA_BYTES) == 0)
		return 0;
	if (digest.bytes == SHA_BYTES)
		hex_write(hex, digest.data);
	return err_set(err, ERR_DAMAGED, "blob %s: its bytes are not what was kept", hex);
}

int blob_read(struct journal *j, const unsigned char digest[SHA_BYTES], bool is_checked,
	char **data, size_t *bytes, struct err *err)
{
	char hex[JOURNAL_DIGEST_BYTES];
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_BLOB_GET, err);
	if (!s)
		return -EIO;
	hex_write(hex, digest);
	db_bind(s, 1, digest, SHA_BYTES);
	int r = db_step(j, s, "blob", err);
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "blob %s: there is none", hex);
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

void journal_sum(char out[JOURNAL_DIGEST_BYTES], const void *data, size_t bytes)
{
	unsigned char raw[SHA_BYTES];
	(void)crypto_hash_sha256(raw, data ? data : (const void *)"", bytes);
	hex_write(out, raw);
}

int journal_blob_keep(
	struct journal *j, const void *data, size_t bytes, const char *digest, struct err *err)
{
	unsigned char sum[SHA_BYTES], raw[SHA_BYTES];
	if (bytes > JOURNAL_BLOB_MAX)
		return too_long(bytes, err);
	int r = hex_read(sum, digest) < 0 ? err_set(err, ERR_USAGE, "a blob without a digest")
					  : db_begin(j, err);
	if (r < 0)
		return r;
	r = db_commit(j, blob_add(j, data, bytes, sum, raw, err), err);
	if (r == 0 && !j->is_pruning)
		digest_note(&j->noted, raw);
	return r;
}

int journal_blob_put(struct journal *j, const void *data, size_t bytes,
	char digest[JOURNAL_DIGEST_BYTES], struct err *err)
{
	if (bytes <= JOURNAL_BLOB_MAX) /* else it is refused */
		journal_sum(digest, data, bytes);
	return journal_blob_keep(j, data, bytes, digest, err);
}

int journal_blob_get(
	struct journal *j, const char *digest, char **data, size_t *bytes, struct err *err)
{
	unsigned char raw[SHA_BYTES];
	if (hex_read(raw, digest) < 0)
		return err_set(
			err, ERR_USAGE, "blob %.70s: a digest is 64 hexadecimal digits", digest);
	return blob_read(j, raw, true, data, bytes, err);
}
