/* The processes of a box, by its /proc. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* The number of the user namespace of process @pid. Returns: 0 when the process is gone or we may
 * not see it. */
ino_t census_user_ns(pid_t pid);

/*
 * Kill every process that the /proc at @proc_fd shows but process 1 and those of namespaces below.
 * Blocks: some milliseconds. Where processes can still be made, one may get away.
 */
void census_kill_own(int proc_fd);

/* Kill process 1 of each pid namespace right below the box's, unless it is in the user namespace
 * of one of the @n boxes: it is the rest of a failed branch. */
void census_kill_strays(const struct box *box, const struct box *boxes, size_t n);
