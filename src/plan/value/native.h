/* Look-ups of built-in methods for the resolver, the compiler and the machine. The table of methods
 * is in builtin/builtin.def. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Return whether any type has a method called @name. native_changes() returns whether such a method
 * may change its receiver. */
bool native_is_method(struct val name);
bool native_changes(struct val name);

/* Find the method of @type whose name is the most similar to @name, for "did you mean …?". Returns:
 * its name; NULL if none is similar. */
const char *native_near(uint32_t type, const char *name);
