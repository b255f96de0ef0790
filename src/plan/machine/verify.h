/* Is code what the machine may run? SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/compile.h"

/*
 * The machine takes what the compiler computed for granted: registers, cells, captured variables,
 * places in tables, jumps, regions. Here all of it is looked at once, before it runs.
 *
 * @file:   the code of a file, and so of all functions in it.
 * Returns: 0, or -1 with the failure of @h set: an internal error, which ends the plan.
 */
int code_verify(struct heap *h, const struct code *file);
