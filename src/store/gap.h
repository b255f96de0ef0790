/* Gaps in the log of changes, where what was pruned stood. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/*
 * A change that is no more known leaves its number and its chain value, so that the next one can be
 * checked still; those beside each other are one row, under a checksum of its own (log_gap_seal()).
 *
 * Make gaps of all changes whose numbers @which gives when it is bound to @digest (NULL: not) and
 * @session (0: not). Inside a transaction.
 */
int gap_make(struct journal *j, enum stmt which, const unsigned char *digest, int64_t session,
	struct err *err);
