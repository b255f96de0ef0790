/* The processes of a box, listed by its /proc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* Return the inode number of the user namespace of process @pid; 0 when the process is gone or we
 * may not look at it. */
ino_t census_user_ns(pid_t pid);

/* Kill every process that the /proc at @proc_fd shows, except process 1 and those in nested pid
 * namespaces. Blocks: some milliseconds. If forks are not forbidden, a process may escape. */
void census_kill_own(int proc_fd);

/* Kill what failed branches of @box have left: process 1 of each pid namespace directly below
 * that of @box. The kernel then kills the other processes of this pid namespace. Process 1 of a
 * branch that did not fail is spared. It is recognised by its user namespace, which belongs to a
 * box in @boxes, an array of @n boxes. */
void census_kill_strays(const struct box *box, const struct box *boxes, size_t n);
