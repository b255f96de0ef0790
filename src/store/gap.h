/* Gaps in the log of changes: where pruned changes were. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/db.h"

/*
 * A gap is a row in the log of changes that stands for one or more pruned changes. Adjacent pruned
 * changes share one gap. A gap keeps the number and the chain value of its last change, so that the
 * chain value of the next change can still be verified. It has a checksum of its own
 * (log_gap_seal()).
 *
 * gap_make() replaces changes by gaps. The statement @which returns the numbers of the changes to
 * replace. @digest and @session are the values of the statement's parameters, in this order:
 * - If the statement has no parameter for a digest, @digest is NULL.
 * - If the statement has no parameter for a session, @session is 0.
 * Call gap_make() inside a transaction.
 */
int gap_make(struct journal *j, enum stmt which, const unsigned char *digest, int64_t session,
	struct err *err);
