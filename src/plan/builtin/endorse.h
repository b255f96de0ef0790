/* What endorses values: labels say who saw to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"

/* matches(value, pattern), member(value, list): ended by a row without a name. */
extern const struct native endorse_functions[];

/* A copy of @v that cannot be changed, whose labels all have the endorsement. Returns: 0 or -1. */
int endorse(struct vm *vm, struct val v, const char *word, struct val *out);
