/* Built-in functions and methods. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/vm.h"
#include "plan/syntax/resolve.h"

/* Names that every program has; those of Python only in that dialect. */
size_t builtin_names(const struct dialect *dialect, struct predeclared *out, size_t room);
enum { BUILTIN_MAX = 64 };

/*
 * The modules that every plan has, as structs of functions. Returns: how many were added to @out,
 * -1 over a limit.
 */
int module_names(struct heap *h, struct predeclared *out, size_t room);

/* The struct @name of the functions of a table. Returns: 0 or -1. */
int module_new(struct heap *h, const char *name, const struct native *table, struct val *out);

/* The tables of methods, each ended by a row without a name. */
extern const struct native python_functions[], string_methods[], bytes_methods[], list_methods[],
	dict_methods[], set_methods[];

/* The names of all attributes, sorted, as a list. Returns: 0 or -1. */
int native_dir(struct vm *vm, struct val x, struct val *out);

/* Take an argument of one kind; T_UNSET and None leave *out as it is. Returns: 0 or -1. */
int arg_int(struct vm *vm, const char *what, struct val v, int64_t *out);
int arg_string(struct vm *vm, const char *what, struct val v);

/* Sort a list in place by a key function (T_UNSET: none). Returns: 0 or -1. */
int list_sort(struct vm *vm, struct list *list, struct val key, bool is_reversed);

/* dict(…) and d.update(…): pairs or a mapping, and names. Returns: 0 or -1. */
int dict_update(struct vm *vm, const char *what, struct table *to, const struct args *args);

/* int(x, base). Returns: 0 or -1. */
int b_int(struct vm *vm, struct val self, const struct val *arg, struct val *out);
