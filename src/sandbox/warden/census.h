/* The processes of a box, listed by its /proc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* Return the inode number of the user namespace of process @pid; 0 when the process is gone or we
 * may not look at it. */
ino_t census_user_ns(pid_t pid);

/* Kill every process that the /proc at @proc_fd shows, except process 1 and those in nested pid
 * namespaces. Blocks: some milliseconds. If forks are not forbidden, a process may escape. */
void census_kill_own(int proc_fd);

/*
 * A stray is process 1 of a pid namespace directly below that of @box, if its user namespace does
 * not belong to a box in @boxes, an array of @n boxes.
 *
 * census_kill_strays(): kill the strays, which failed branches of @box have left. The kernel then
 * kills the other processes of their pid namespaces.
 *
 * census_count_strays(): count the strays that have not ended. What is alive during the whole call
 * is not missed. Returns: their number, or negative errno if there may be one that was not seen.
 */
void census_kill_strays(const struct box *box, const struct box *boxes, size_t n);
int census_count_strays(const struct box *box, const struct box *boxes, size_t n);
