/* Being woken soon. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it; libc knows it from 2.41 on. Source: sched_setattr(2) */
struct sched_turns {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t turn_ns, deadline, period;
};

enum { SCHED_TURN_NS = 100000, SCHED_NOT_INHERITED = 1 };

/*
 * This thread works for a moment each time it is woken, and should not wait behind one that
 * computes: it asks for short turns, and so comes first (Linux 6.12 and later; before, nothing
 * changes). What it starts has the usual ones. Where somebody has chosen how it is scheduled, it
 * stays so.
 */
static inline void sched_be_brief(void)
{
	struct sched_turns t = {0};
	if (syscall(SYS_sched_getattr, 0, &t, sizeof t, 0) < 0 || t.policy != 0 || t.nice < 0)
		return;
	t.size = sizeof t;
	t.flags = SCHED_NOT_INHERITED;
	t.turn_ns = SCHED_TURN_NS;
	(void)syscall(SYS_sched_setattr, 0, &t, 0);
}
