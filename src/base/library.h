/* Libraries that are loaded when they are first needed instead of at every start.
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
	const char *const *names; /* file names; the first that exists is loaded; ends with NULL */
	const struct library_symbol *symbols;
	size_t n_symbols;
	const char *hint; /* how to install the library, for the hint */
};

/*
 * Load it and fill @table, a struct of function pointers. The library is never unloaded: its
 * dependencies have at-exit handlers and thread-local memory.
 *
 * Errors: ERR_NOT_FOUND with a hint: the library is missing or too old. The table is unchanged
 * then.
 */
int library_load(const struct library *library, void *table, struct err *err);
