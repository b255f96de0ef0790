/*
 * Moments in time that can be compared with the start times of processes.
 *
 * The kernel reports the start of a process in clock ticks, and many processes can start in one
 * tick. Of two processes that started in one tick, the one with the greater pid is taken as the
 * newer: the kernel assigns increasing pids. This is wrong only if the pids wrapped around within
 * that tick, which is rare.
 * Source: proc_pid_stat(5), ns_last_pid in proc_sys_kernel(5). SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/fd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct moment {
	uint64_t ticks; /* clock ticks since the host booted */
	/* The last pid that the kernel had assigned at this moment; 0 if unknown. */
	pid_t pid;
};

/* Set @out to the current moment. */
static inline void moment_set(struct moment *out)
{
	struct timespec now;
	char text[32];
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	cleanup_fd int fd = open("/proc/sys/kernel/ns_last_pid", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	out->ticks = (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec / (1000000000 / hz);
	out->pid = (pid_t)strtol(text, NULL, 10);
}

/* Return whether process @pid, which started at @ticks, started after @than. If than->pid is
 * unknown, a process that started in the same tick counts as newer. */
static inline bool moment_is_newer(uint64_t ticks, pid_t pid, const struct moment *than)
{
	return ticks != than->ticks ? ticks > than->ticks : pid > than->pid;
}
