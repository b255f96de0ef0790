/* Libraries that are loaded when they are first needed, and not at every start.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* A function of it, and where in the table its address goes. */
struct library_symbol {
	const char *name;
	size_t offset;
};

struct library {
	const char *const
		*names; /* of its file; the first that is there is taken; NULL at the end */
	const struct library_symbol *symbols;
	size_t n_symbols;
	const char *hint; /* how to get it */
};

/*
 * Load it and fill @table, a struct of function pointers. It stays in the process: its libraries
 * have at-exit handlers and memory of threads.
 *
 * Errors: ERR_NOT_FOUND with a hint: it is not on this host, or too old. The table is as before.
 */
int library_load(const struct library *library, void *table, struct err *err);
