/* What the planner gives up before it reads a word. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * No capability now or ever again, no new privileges, no file, process or descriptor to be made,
 * and of system calls those that memory and two pipes take. What is left is to compute, to read and
 * to write what is open.
 *
 * Returns: 0, negative errno: the process must end.
 */
int planner_lock(void);

/* The limits of one plan: memory of the process, and CPU time. Before planner_lock(). */
int planner_limit(uint64_t memory_bytes);
