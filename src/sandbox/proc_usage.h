/*
 * What a box uses, added up from its own /proc, for hosts without cgroups.
 *
 * CPU time. /proc has four values for each process. utime and stime are the time that the process
 * itself has used; they can be read until the process is reaped. cutime and cstime are the time of
 * its reaped children: when a process is reaped, the kernel adds its utime and cutime to cutime of
 * the reaper, and its stime and cstime to cstime of the reaper. So the sum of all four values over
 * all processes counts each process exactly once, with two exceptions:
 * - The kernel loses the time of a child whose parent ignores SIGCHLD. The wall limit and
 *   RLIMIT_CPU still bound such a child.
 * - A child that is reaped while /proc is read may be missed until the next reading. But it is
 *   never counted twice, because /proc lists processes in ascending order, parents first.
 *
 * Memory. The sum contains anonymous and shared pages, page tables, and swap. It does not contain
 * memory that no process has mapped:
 * - Files in memory: the warden adds the files of the box's own file system to the sum. A box
 *   without cgroups may not create memfds.
 * - Three kinds of memory cannot be counted at all: the unmapped pages of anonymous shared memory
 *   that is still mapped in part; the buffers of sockets; and small kernel objects (locks, watches,
 *   mappings).
 *
 * is_uncounted is set if a box may have much memory of these three kinds, in any of these cases:
 * - A process has anonymous shared memory.
 * - There are so many sockets that their buffers could exceed the box's limit.
 * - The host's kernel has grown by more than the box's limit.
 *
 * Shared pages. A page that several processes share is at first counted for each of them. Only if
 * the sum exceeds the box's limit, the proportional shares are read instead, which takes longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/limits.h"

#include <sys/types.h>

enum { PROC_USAGE_ENTRIES_MAX = 4096 };

/*
 * Bounds for proc_usage_read(). If the sum of the memory is greater than memory_bytes, the sum is
 * computed again from the processes' proportional shares. When more than `pids` processes and
 * threads are found, no more are read. kernel_bytes is what proc_kernel_bytes() returned when the
 * box was made, or 0 if unknown.
 */
struct proc_bounds {
	uint64_t memory_bytes, pids, kernel_bytes;
};

/* Return the memory that the host's kernel uses itself and cannot reclaim, from the /proc at
 * @proc_fd; 0 if unknown. */
uint64_t proc_kernel_bytes(int proc_fd);

/*
 * Add up what the processes of the /proc at @proc_fd use. Processes in nested pid namespaces are
 * left out, since they belong to branches. If the memory exceeds bounds->memory_bytes, the
 * processes' proportional shares (smaps_rollup) are added up instead, for at most half a second. If
 * there are more than bounds->pids processes and threads, the rest is not read and at most
 * bounds->memory_bytes is reported.
 * @usage->n_oom_kills is untouched. Pass the same @usage each time, since cpu_us and
 * memory_peak_bytes are only ever raised.
 * Limits: the first PROC_USAGE_ENTRIES_MAX processes.
 * Blocks: some 20 µs for each process; with smaps_rollup some ms for each GB.
 * Returns: how many processes were counted, or negative errno with @usage untouched.
 * Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_smaps_rollup in proc_pid_smaps(5).
 */
int proc_usage_read(int proc_fd, const struct proc_bounds *bounds, struct box_usage *usage);
