/* Short wake-up latency for a thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct sched_attr, which glibc does not declare before 2.41. Source:
 * sched_setattr(2) */
struct sched_turns {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t turn_ns, deadline, period;
};

enum { SCHED_TURN_NS = 100000, SCHED_NOT_INHERITED = 1 };

/*
 * Request short time slices for this thread. The scheduler then runs the thread, when it wakes,
 * before threads that compute for long. So call this for a thread that works only a moment after
 * each wake-up.
 * Linux before 6.12 ignores the request. Child processes get slices of the default length. If the
 * user has given the process a scheduling policy or a negative nice value, nothing is changed.
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
