/* Built-in methods as the resolver, the compiler and the machine ask for them. Their table is in
 * builtin/native.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Is it the name of a method of any type, and of one that changes its receiver? */
bool native_is_method(struct val name);
bool native_changes(struct val name);

/* The method that was likely meant, or NULL. */
const char *native_near(uint32_t type, const char *name);
