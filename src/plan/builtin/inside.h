/* Declarations that the files of built-ins share: the function heads, and helpers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"

/* The head of a built-in: FN gets its arguments sorted, RAW as the call passes them. */
#define FN(name)                                                                                   \
	int name(struct vm *vm attr_unused, struct val self attr_unused,                           \
		const struct val *arg attr_unused, struct val *out attr_unused)
#define RAW(name)                                                                                  \
	int name(struct vm *vm attr_unused, struct val self attr_unused,                           \
		const struct args *args attr_unused, struct val *out attr_unused)

/* A function that two types share is declared twice. */
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

/* Read an optional int; if @v is T_UNSET or None, *out is unchanged. Returns: 0 or -1. */
int arg_int(struct vm *vm, const char *what, struct val v, int64_t *out);

/* List the names of all attributes, sorted. Returns: 0 or -1. */
int native_dir(struct vm *vm, struct val x, struct val *out);

/* Sort a list in place by a key function (T_UNSET: by the elements). Returns: 0 or -1. */
int list_sort(struct vm *vm, struct list *list, struct val key, bool is_reversed);

/* Update a dict as dict(…) and d.update(…) do, from pairs or a mapping, and from named arguments.
 * Returns: 0 or -1. */
int dict_update(struct vm *vm, const char *what, struct table *to, const struct args *args);

/* Return the character at *at, and advance *at past it. */
int32_t char_next(const struct str *s, size_t *at);

/* Is @c white space as Unicode defines it? */
bool char_is_space(int32_t c);
