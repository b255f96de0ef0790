/*
 * What a box uses, added up from its own /proc, for hosts without cgroups.
 *
 * CPU: the time of a process is in its own utime and stime while it exists (also as a zombie),
 * and afterwards in the cutime and cstime of the process that reaped it, together with the time
 * of the children that it had reaped itself. So the sum of all four over every process counts
 * each process exactly once. The kernel itself loses the time of a child whose parent ignores
 * SIGCHLD; for that the wall limit and RLIMIT_CPU remain. A child that is reaped while /proc is
 * read may be missed until the next reading; entries come in ascending order, parents first, so
 * that the child is not counted twice.
 *
 * Memory: anonymous and shared pages, page tables, and swap. Not counted: memory that is not
 * mapped by a process, such as files in memory (the warden adds those of the box's own file
 * system) and memfds (which such boxes may not create). Three kinds of memory cannot be counted:
 * anonymous shared memory that was unmapped in part, the buffers of sockets, and small kernel
 * objects (locks, watches, mappings). is_uncounted is set when there is any of the first, many of
 * the second, or when the memory of the host's kernel has grown by as much as the box may use. A
 * page that several processes share is counted for each of them, until the sum is so large that
 * the slower reading of proportional shares is worth it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/limits.h"

#include <sys/types.h>

enum { PROC_USAGE_ENTRIES_MAX = 4096 };

/* Above `memory` shared pages count once. With more processes than the given number, only the
 * number matters. The kernel's memory before the box started, by proc_kernel_bytes(); 0: unknown.
 */
struct proc_bounds {
	uint64_t memory_bytes, pids, kernel_bytes;
};

/* The memory that the host's kernel uses itself and cannot reclaim, by the /proc at @proc_fd, or
 * 0. */
uint64_t proc_kernel_bytes(int proc_fd);

/*
 * Add up the processes of the /proc at @proc_fd that are in its own pid namespace; those of
 * branches, which are in a nested one, are not the box's. Above @bounds' memory look at each
 * process's share (smaps_rollup) where that may be read, for half a second. With more processes
 * than @bounds has, the others are not looked at, and no more memory than @bounds' is told. Of
 * @usage, n_oom_kills is left alone; cpu_us and memory_peak_bytes never go down, so pass the same
 * struct each time. Limits: the first PROC_USAGE_ENTRIES_MAX processes. Blocks: some 20 µs for each
 * process; with the slower look some ms for each GB. Returns: how many processes were counted, or
 * negative errno with @usage untouched. Source: proc_pid_stat(5), proc_pid_status(5),
 * proc_pid_smaps_rollup in proc_pid_smaps(5).
 */
int proc_usage_read(int proc_fd, const struct proc_bounds *bounds, struct box_usage *usage);
