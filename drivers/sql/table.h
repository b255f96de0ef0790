/* A delimited file as a read-only table: SQLite's virtual table "csv". SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "column.h"

#include <signal.h>
#include <sqlite3.h>

/*
 * Make the module known: CREATE VIRTUAL TABLE x USING csv('path', 'delimiter', 'header', 'text',
 * 'skip'), all but the path may be missing. A path is relative to the working directory. Rows are
 * streamed; when SQLite asks again and again for the rows with one value in a column (a join), an
 * index of their places is made, of at most TABLE_INDEX_ROWS rows.
 *
 * @stop is set by an interrupt; making an index ends then.
 */
int table_register(sqlite3 *db, volatile sig_atomic_t *stop);

enum { TABLE_INDEX_ROWS = 8 << 20, TABLE_INDEXES = 8 };

/*
 * Open a file to read rows from. Returns: a descriptor, -EISDIR when it is no regular file, or
 * negative errno.
 */
int table_open(const char *path);

/* A csv_read of the descriptor that @arg points to. */
ssize_t table_read(void *arg, char *out, size_t bytes, uint64_t offset);

/* What an errno of columns_find() or csv_next() means to a user. */
const char *table_problem(int r);
