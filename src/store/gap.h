/* Gaps in the log of changes: where pruned changes were. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/*
 * A gap is a row in the log of changes that stands for one or more pruned changes. Adjacent pruned
 * changes share one gap. A gap keeps the number and the chain value of its last change, so that the
 * chain value of the next change can still be verified. A gap has a checksum of its own
 * (log_gap_seal()).
 *
 * gap_make() replaces changes by gaps. The SQL statement with the number @which selects the
 * changes: it returns the numbers of all changes to replace. Its parameters are, in this order:
 * - @digest, unless this is NULL: then the statement has no parameter for a digest;
 * - @session, unless this is 0: then the statement has no parameter for a session.
 *
 * Call gap_make() inside a transaction.
 */
int gap_make(struct journal *j, enum stmt which, const unsigned char *digest, int64_t session,
	struct err *err);
