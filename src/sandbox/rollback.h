/* Requests to init that return the processes of a box to an earlier moment.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/init.h"

/*
 * A rollback of the processes of a box to an earlier moment. The first of these cases that applies
 * determines the moment:
 * - Init remembers a mark with the name @mark: the moment of this mark.
 * - There is a guard: the start of the guard.
 * - Init remembers other marks: the moment of the newest mark.
 * - Otherwise: the start of the box.
 * A mark is never called 0, so with @mark 0 the first case does not apply.
 *
 * Init stops all processes of the box and then kills these:
 * - the driver, which is the process @id and may have ended already;
 * - the processes in @pids;
 * - all processes that started after the moment, with one exception.
 *
 * The exception: a newer process survives if it descends from an older process that survives. For
 * example, a server that was started before the moment may have forked new workers since then. The
 * server and its workers survive.
 *
 * The guard is a copy that the driver forked earlier; it is a child of init. After the rollback,
 * the guard is the new driver and has the id @id. All pids are those inside the box.
 *
 * Init answers with INIT_ROLLED_BACK. It answers with INIT_FAILED and the same id if it has done
 * nothing, or if a killed process did not end.
 */
struct init_back {
	uint64_t id;
	/* the guard's pid; 0: there is no guard, and nothing replaces the process @id */
	int32_t guard_pid;
	uint32_t mark;
	/* pids of processes to kill in addition to the driver; at most WIRE_PIDS_MAX */
	const int32_t *pids;
	size_t n_pids;
};
void init_rollback(struct init_link *link, const struct init_back *back);

/* Remember this moment under the name @mark (not 0), for a later rollback. Init keeps the last
 * 64 marks. Answered by INIT_MARKED. */
void init_mark(struct init_link *link, uint32_t mark);
