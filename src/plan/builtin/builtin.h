/* Built-in functions and methods. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/vm.h"
#include "plan/syntax/resolve.h"

/* The rows of builtin.def in their order. The last row has the name NULL. */
extern const struct native builtins[];

/*
 * Add the predefined names of a plan to @out:
 * - constants and functions;
 * - in the Python dialect, the modules, as structs;
 * - with @has_tools, ask(), approve() and similar functions.
 * Returns: the number of names added; -1 if a limit of @h is exceeded.
 */
int builtin_names(struct heap *h, const struct dialect *dialect, bool has_tools,
	struct predeclared *out, size_t room);
enum { BUILTIN_MAX = 64 };

/* builtin_function(): find a function by its full name, such as "len" or "json.loads".
 * builtin_method(): find a method by its name alone. All methods of one name have the same rule for
 * the check, so the first of them is returned. Returns: NULL if the name is unknown. */
const struct native *builtin_function(const char *name);
const struct native *builtin_method(const char *name);

/* Check that @v is a string. Returns: 0; -1 with a failure whose message names @what. */
int arg_string(struct vm *vm, const char *what, struct val v);

/* Convert a character to lower case. Only Latin, Greek and Cyrillic letters are converted. */
int32_t char_lower(int32_t c);
