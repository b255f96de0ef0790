/* Going back to what ran in a box at a moment before. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/init.h"

/*
 * Go back: every process of the box stops; the process @id (which may be gone already), those in
 * @pids and all that came later than @mark (0, or one long gone: than the guard, or the newest
 * mark) are killed, unless an older process, which goes on, has started them. The guard is then the
 * process known as @id. Pids are as the box sees them; the guard is a child of init that the driver
 * left behind. Answered by INIT_ROLLED_BACK, or INIT_FAILED with the same id, when nothing was done
 * or some process would not end.
 */
struct init_back {
	uint64_t id;
	int32_t guard_pid; /* or 0: none, and the process @id stays dead */
	uint32_t mark;
	const int32_t *pids; /* at most WIRE_PIDS_MAX */
	size_t n_pids;
};
void init_rollback(struct init_link *link, const struct init_back *back);

/* Call this moment @mark (not 0), to go back to. Answered by INIT_MARKED. The last 64 are known. */
void init_mark(struct init_link *link, uint32_t mark);
