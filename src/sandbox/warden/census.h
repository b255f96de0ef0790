/* Who is in a box, by its /proc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* The user namespace of process @pid as a number. Returns: 0 when it is gone or not ours to see. */
ino_t census_user_ns(pid_t pid);

/*
 * Kill every process that the /proc at @proc_fd shows but process 1 and those of namespaces below.
 * Blocks: some milliseconds. Where processes can still be made, one may get away.
 */
void census_kill_own(int proc_fd);

/* Kill process 1 of each pid namespace right below the box's that is in no user namespace of the
 * @n boxes: what a branch that failed has left. */
void census_kill_strays(const struct box *box, const struct box *boxes, size_t n);
