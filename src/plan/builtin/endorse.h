/* What endorses values: labels say who saw to it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"

/* A copy of @v that cannot be changed, whose labels all have the endorsement. Returns: 0 or -1. */
int endorse(struct vm *vm, struct val v, const char *word, struct val *out);
