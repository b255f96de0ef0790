/* The bytecode verifier. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/compile.h"

/*
 * Verify everything that the machine relies on: registers, cells, captured variables, indexes of
 * tables, jumps, regions. @file is the code of a file, including all nested functions.
 *
 * Returns: 0; -1 with the failure of @h set, an internal error that ends the plan.
 */
int code_verify(struct heap *h, const struct code *file);
