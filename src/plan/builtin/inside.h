/* Declarations that the files of built-ins share: the function heads, and helpers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"

/*
 * FN() and RAW() write the head of a C function that implements a built-in.
 * FN: the function gets the array @arg, with one value for each parameter of the built-in, in the
 * order of the parameter list.
 * RAW: the function gets @args, the arguments as the caller passed them.
 */
#define FN(name)                                                                                   \
	int name(struct vm *vm attr_unused, struct val self attr_unused,                           \
		const struct val *arg attr_unused, struct val *out attr_unused)
#define RAW(name)                                                                                  \
	int name(struct vm *vm attr_unused, struct val self attr_unused,                           \
		const struct args *args attr_unused, struct val *out attr_unused)

/* Some C functions implement a method of two types. builtin.def, which is included below,
 * declares such a function twice. The compiler would warn about this. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
#define BUILTIN(of, name, params, fn, in, flow, change, model) FN(fn);
#define BUILTIN_RAW(of, name, fn, in, flow, change, model)     RAW(fn);
#define BUILTIN_HOST(name, model)
#include "plan/builtin/builtin.def"
#undef BUILTIN
#undef BUILTIN_RAW
#undef BUILTIN_HOST
#pragma GCC diagnostic pop

/* Read an optional argument of type int. If @v is T_UNSET or None, *out remains unchanged. Returns:
 * 0 or -1. */
int arg_int(struct vm *vm, const char *what, struct val v, int64_t *out);

/* List the names of all attributes of @x, sorted. Returns: 0 or -1. */
int native_dir(struct vm *vm, struct val x, struct val *out);

/* Sort a list in place by the results of the function @key, or by the elements if @key is T_UNSET.
 * Returns: 0 or -1. */
int list_sort(struct vm *vm, struct list *list, struct val key, bool is_reversed);

/* Update a dict as dict(…) and d.update(…) do: from a mapping or pairs, and from the named
 * arguments. Returns: 0 or -1. */
int dict_update(struct vm *vm, const char *what, struct table *to, const struct args *args);

/* Return the character at *at, and advance *at past it. */
int32_t char_next(const struct str *s, size_t *at);

/* Return whether @c is white space according to Unicode. */
bool char_is_space(int32_t c);
