/* Loading of shared libraries at the time when they are first needed. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* The name of a function, and the offset of its pointer in the caller's table. */
struct library_symbol {
	const char *name;
	size_t offset;
};

struct library {
	const char *const *names; /* file names, ended by NULL; the first that loads is used */
	const struct library_symbol *symbols;
	size_t n_symbols;
	/* How to install the library. This is the hint of the error if it is missing or too old. */
	const char *hint;
};

/*
 * Load the library and fill @table, a struct of function pointers. A loaded library is never
 * unloaded, because the libraries that it depends on have at-exit handlers and thread-local memory.
 *
 * Errors: ERR_NOT_FOUND with a hint, if the library is missing or too old; @table is then
 * unchanged.
 */
int library_load(const struct library *library, void *table, struct err *err);
