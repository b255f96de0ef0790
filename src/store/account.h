/*
 * How many bytes each owner is charged for in the journal, and the space on the journal's file
 * system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdint.h>

struct journal;

/*
 * Return the bytes that @owner is charged for. These are charged once, when they are stored:
 * a new step: its texts, and ACCOUNT_ROW_BYTES for its row;
 * a further run of a stored step: only ACCOUNT_ROW_BYTES;
 * a session: the text of its order, and ACCOUNT_ROW_BYTES;
 * a file that a step wrote, or a response of a step's tool call: its bytes.
 * A text that several steps share is charged for each of them. What a journal of an earlier version
 * already contained is not charged.
 * Returns: the bytes, or negative errno.
 */
int64_t journal_account(struct journal *j, const char *owner, struct err *err);

/* Charge @owner for @bytes that are stored without a step; a negative number reduces the charge.
 * Runs a transaction of its own. */
int journal_account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);

/*
 * account_add(): charge @owner for @bytes. Call it inside a transaction.
 * account_weight(): return the charge for a new step: the bytes of its texts, and ACCOUNT_ROW_BYTES
 * for its row.
 */
enum { ACCOUNT_ROW_BYTES = 1024 };
int account_add(struct journal *j, const char *owner, int64_t bytes, struct err *err);
int64_t account_weight(const struct journal_node *node);

/* The size of the journal's file system, and its free space. Errors: ERR_IO. */
struct journal_room {
	uint64_t free_bytes, all_bytes;
};
int journal_room(struct journal *j, struct journal_room *out, struct err *err);
