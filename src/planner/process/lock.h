/* Drops the planner's privileges, before it reads the request.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Drop all capabilities permanently, and forbid new privileges, files, processes and descriptors.
 * The process can still compute, allocate memory, and read and write open descriptors.
 *
 * Returns: 0; negative errno: the process must exit.
 */
int planner_lock(void);

/* Set the limits of the process: memory and CPU time. Call it before planner_lock(). */
int planner_limit(uint64_t memory_bytes);
