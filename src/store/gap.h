/* Gaps in the log of changes: where pruned changes were. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/*
 * A pruned change leaves its number and its chain value, so that the chain value of the next change
 * can still be verified. Adjacent pruned changes share one row, which has a checksum of its own
 * (log_gap_seal()).
 *
 * Turn into gaps all changes whose numbers the statement @which returns. @which is bound to
 * @digest unless that is NULL, and to @session unless that is 0. Call it inside a transaction.
 */
int gap_make(struct journal *j, enum stmt which, const unsigned char *digest, int64_t session,
	struct err *err);
