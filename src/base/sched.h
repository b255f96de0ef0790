/* Short wake-up latency for a thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of the kernel, which glibc declares since 2.41. Source: sched_setattr(2) */
struct sched_turns {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t turn_ns, deadline, period;
};

enum { SCHED_TURN_NS = 100000, SCHED_NOT_INHERITED = 1 };

/* Request short time slices, for a thread that works only for a moment each time it is woken:
 * the scheduler then runs it before threads that compute (Linux 6.12; an older kernel ignores
 * this). Child processes get the default slices. A scheduling policy that the user set for the
 * process is kept. */
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
