/* A delimited file as a read-only table: SQLite's virtual table "csv". SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "column.h"

#include <signal.h>
#include <sqlite3.h>

/*
 * Register the module: CREATE VIRTUAL TABLE x USING csv('path', 'delimiter', 'header', 'text',
 * 'skip'); only the path is required. It is relative to the working directory. Rows are streamed.
 * When SQLite asks repeatedly for the rows with one value in a column (a join), an index of their
 * offsets is built, for at most TABLE_INDEX_ROWS rows.
 *
 * @stop: set by an interrupt; ends the building of an index.
 */
int table_register(sqlite3 *db, volatile sig_atomic_t *stop);

enum { TABLE_INDEX_ROWS = 8 << 20, TABLE_INDEXES = 8 };

/*
 * Open a file to read rows from. Returns: a descriptor, -EISDIR when it is not a regular file, or
 * negative errno.
 */
int table_open(const char *path);

/* A csv_read function; @arg points to the descriptor. */
ssize_t table_read(void *arg, char *out, size_t bytes, uint64_t offset);

/* The message for an errno of columns_find() or csv_next(). */
const char *table_problem(int r);
