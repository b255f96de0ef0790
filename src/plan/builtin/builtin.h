/* Built-in functions and methods. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/vm.h"
#include "plan/syntax/resolve.h"

/* The rows of builtin.def in their order; the last row has name NULL. */
extern const struct native builtins[];

/*
 * Add the built-in names of a plan to @out: constants and functions; in the dialect of Python also
 * modules, as structs; with @has_tools also ask(), approve() and the like. Returns: the number of
 * names added; -1 if a limit of @h is exceeded.
 */
int builtin_names(struct heap *h, const struct dialect *dialect, bool has_tools,
	struct predeclared *out, size_t room);
enum { BUILTIN_MAX = 64 };

/* Find a function by its whole name ("len", "json.loads"), or a method by its name alone. Methods
 * of one name have the same rule for the check, so the first method of that name is returned.
 * Returns: NULL if the name is unknown. */
const struct native *builtin_function(const char *name);
const struct native *builtin_method(const char *name);

/* Check that @v is a string. Returns: 0; -1 with a failure that names @what. */
int arg_string(struct vm *vm, const char *what, struct val v);

/* Convert to lower case. Only Latin, Greek and Cyrillic letters are converted. */
int32_t char_lower(int32_t c);
