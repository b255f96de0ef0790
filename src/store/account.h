/* How many bytes each owner is charged for in the journal, and the room on its file system.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdint.h>

struct journal;

/*
 * Return the bytes that @owner is charged for. A step or a session is charged when it is committed:
 * its texts, the file that it wrote, the responses of its tool calls, and ACCOUNT_ROW_BYTES for its
 * row. A text that several steps share is charged for each of them. What a journal of an earlier
 * version already contained is not charged.
 * Returns: the bytes, or negative errno.
 */
int64_t journal_account(struct journal *j, const char *owner, struct err *err);

/* Add @bytes (may be negative) to the account of @owner, for data that is stored without a step.
 * Runs a transaction of its own. */
int journal_account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);

/* Inside a transaction: account_add() adds @bytes to the account of @owner; account_weight()
 * computes the charge of a new step: its texts, and ACCOUNT_ROW_BYTES for its row. */
enum { ACCOUNT_ROW_BYTES = 1024 };
int account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);
int64_t account_weight(const struct journal_node *node);

/* The size and the free room of the journal's file system. Errors: ERR_IO. */
struct journal_room {
	uint64_t free_bytes, all_bytes;
};
int journal_room(struct journal *j, struct journal_room *out, struct err *err);
