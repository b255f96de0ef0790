/* How much each owner has in the journal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdint.h>

struct journal;

/*
 * Bytes that @owner's steps and sessions took when they were kept: their texts, files that were
 * written, answers of tools, and a row of each. What is kept once for several counts for each. In a
 * journal of an earlier version what was there before does not count.
 * Returns: the bytes, or negative errno.
 */
int64_t journal_account(struct journal *j, const char *owner, struct err *err);

/* @bytes more (or fewer) of what is put without a step. A transaction of its own. */
int journal_account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);

/* Inside a transaction; what a step counts for, and a row beside its texts. */
enum { ACCOUNT_ROW_BYTES = 1024 };
int account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);
int64_t account_weight(const struct journal_node *node);

/* The file system that the journal is on. Errors: ERR_IO. */
struct journal_room {
	uint64_t free_bytes, all_bytes;
};
int journal_room(struct journal *j, struct journal_room *out, struct err *err);
