/* Built-in functions and methods. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/vm.h"
#include "plan/syntax/resolve.h"

/* All of builtin.def, in its order; the last row has no name. */
extern const struct native builtins[];

/*
 * The built-in names of a plan: constants, functions; in the dialect of Python also modules, as
 * structs; with @has_tools also ask(), approve() and the like.
 * Returns: how many were added to @out, -1 over a limit of @h.
 */
int builtin_names(struct heap *h, const struct dialect *dialect, bool has_tools,
	struct predeclared *out, size_t room);
enum { BUILTIN_MAX = 64 };

/* A function by its whole name ("len", "json.loads"); a method by its name alone, of whichever type
 * comes first: methods of one name have the same rule for the check. Returns: NULL: unknown. */
const struct native *builtin_function(const char *name);
const struct native *builtin_method(const char *name);

/* Is @v a string? Returns: 0, or -1 with a failure that names @what. */
int arg_string(struct vm *vm, const char *what, struct val v);

/* Lower case of Latin, Greek and Cyrillic; other scripts stay as they are. */
int32_t char_lower(int32_t c);
