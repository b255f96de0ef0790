/* Questions about built-in methods that the resolver, the compiler and the machine ask. The table
 * of methods is in builtin/native.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Is @name the name of a method of any type? Is it the name of a method that changes its receiver?
 */
bool native_is_method(struct val name);
bool native_changes(struct val name);

/* Return the name of the method that the author most likely meant, or NULL. */
const char *native_near(uint32_t type, const char *name);
