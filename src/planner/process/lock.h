/* The planner gives up its privileges before it reads the request. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Drop all capabilities for good, forbid new privileges, new files, processes and descriptors. The
 * process can still compute, allocate memory, and read and write open descriptors.
 *
 * Returns: 0, negative errno: the process must end.
 */
int planner_lock(void);

/* The limits of one plan: memory of the process, and CPU time. Before planner_lock(). */
int planner_limit(uint64_t memory_bytes);
