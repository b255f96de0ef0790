/* Requests to init: return the processes of a box to an earlier moment. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "sandbox/init.h"

/*
 * Roll back. Every process of the box stops. Killed are the process @id (which may have ended
 * already), the processes in @pids, and all processes newer than @mark (0 or forgotten: newer
 * than the guard or, without a guard, newer than the newest mark), unless an older process that
 * stays has started them. The guard then becomes the process known as @id. Pids are as the box
 * sees them; the guard is a child of init that the driver forked before. Answered by
 * INIT_ROLLED_BACK, or INIT_FAILED with the same id, when nothing was done or some process would
 * not end.
 */
struct init_back {
	uint64_t id;
	/* the guard's pid; 0: there is no guard, and the process @id stays dead */
	int32_t guard_pid;
	uint32_t mark;
	const int32_t *pids; /* at most WIRE_PIDS_MAX */
	size_t n_pids;
};
void init_rollback(struct init_link *link, const struct init_back *back);

/* Name this moment @mark (not 0), to roll back to. Answered by INIT_MARKED. The last 64 marks are
 * known. */
void init_mark(struct init_link *link, uint32_t mark);
