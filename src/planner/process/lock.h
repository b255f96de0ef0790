/* Take the privileges from a planner process, before it reads its request. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Drop all capabilities permanently. From now on the process cannot gain privileges, open files,
 * start processes or create descriptors. It can still compute, allocate memory, and read and write
 * open descriptors.
 *
 * Returns: 0; negative errno, after which the process must exit.
 */
int planner_lock(void);

/* Limit the memory and the CPU time of the process. Must be called before planner_lock(). */
int planner_limit(uint64_t memory_bytes);
