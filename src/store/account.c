/* SPDX-License-Identifier: Apache-2.0 */
#include "store/account.h"

#include "store/inside.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

int account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_ACCOUNT_ADD, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, owner, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 2, bytes);
	return db_step(j, s, "account", err);
}

int64_t account_weight(const struct journal_node *node)
{
	return (int64_t)(node->code_bytes + node->record_bytes + node->extra_bytes) +
		ACCOUNT_ROW_BYTES;
}

int64_t journal_account(struct journal *j, const char *owner, struct err *err)
{
	cleanup_stmt sqlite3_stmt *s = db_stmt(j, STMT_ACCOUNT, err);
	if (!s)
		return -EIO;
	(void)sqlite3_bind_text(s, 1, owner, -1, SQLITE_STATIC);
	int r = db_step(j, s, "account", err);
	return r > 0 ? sqlite3_column_int64(s, 0) : r;
}

int journal_account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err)
{
	int r = db_begin(j, err);
	return r < 0 ? r : db_commit(j, account_add(j, owner, bytes, err), err);
}

int journal_room(struct journal *j, struct journal_room *out, struct err *err)
{
	struct statvfs fs;
	if (j->is_nameless || statvfs(j->dir, &fs) < 0)
		return err_set(err, ERR_IO, "%.150s: its file system tells nothing", j->dir);
	*out = (struct journal_room){.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize,
		.all_bytes = (uint64_t)fs.f_blocks * fs.f_frsize};
	return 0;
}
