/*
 * What a box uses, added up from its own /proc, for hosts without cgroups.
 *
 * CPU: a process's time stands in its own utime and stime while it is there (a zombie too), and in
 * the cutime and cstime of whoever reaped it afterwards, together with what it had reaped itself.
 * So the sum of all four over every process counts each exactly once. Lost to the kernel's own
 * books is a child whose parent ignores SIGCHLD: the wall limit and RLIMIT_CPU remain. While the
 * books are read, a child that is reaped may be missed until the next time; entries come in
 * ascending order, parents first, so that it is not counted twice.
 *
 * Memory: anonymous and shared pages, and swap. Not seen: what no process maps, such as files in
 * memory (the warden adds those of the box's own file system) and memfds (which such boxes may not
 * have). Page tables count. Shared memory without a file may be more than is mapped, sockets hold
 * what nobody tells, and the kernel's small objects (locks, watches, mappings) are in no process's
 * books: where there is any of the first, there are many of the second, or the kernel of the whole
 * host holds as much more than it did as the box may have, is_uncounted says so. Pages that
 * processes share are counted for each, until the sum is so large that a slower look, at each one's
 * share, is worth it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/limits.h"

#include <sys/types.h>

enum { PROC_USAGE_ENTRIES_MAX = 4096 };

/* Above this much memory, shared pages are to count once; with more processes than this many, their
 * number is all that is asked for. What the kernel held before the box is proc_kernel_bytes(); 0:
 * nobody knows. */
struct proc_bounds {
	uint64_t memory_bytes, pids, kernel_bytes;
};

/* What the host's kernel holds of its own and cannot give back, by the /proc at @proc_fd, or 0. */
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
