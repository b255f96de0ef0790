/* Endorsements: approve(), matches() and member() add a mark to the labels of a value.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"

/* Create a frozen copy of @v in which every label has the endorsement @word. Returns: 0 or -1. */
int endorse(struct vm *vm, struct val v, const char *word, struct val *out);
