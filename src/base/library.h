/* Shared libraries that are loaded when they are first needed, not at every start.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* A function of the library, and the offset of its pointer in the table. */
struct library_symbol {
	const char *name;
	size_t offset;
};

struct library {
	const char *const *names; /* file names, NULL at the end; the first that exists is loaded */
	const struct library_symbol *symbols;
	size_t n_symbols;
	const char *hint; /* how to install the library, for the error's hint */
};

/*
 * Load the library and fill @table, a struct of function pointers. The library is never unloaded,
 * because its dependencies have at-exit handlers and thread-local memory.
 *
 * Errors: ERR_NOT_FOUND with a hint: the library is missing or too old; the table is unchanged.
 */
int library_load(const struct library *library, void *table, struct err *err);
