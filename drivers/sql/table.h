/*
 * A delimited file as a read-only table: SQLite's virtual table "csv".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "column.h"

#include <signal.h>
#include <sqlite3.h>

/*
 * Register the module "csv": CREATE VIRTUAL TABLE x USING csv('path', 'delimiter', 'header',
 * 'text', 'skip'). Only the path is required. It is relative to the working directory.
 *
 * The file is read row by row. When SQLite asks repeatedly for the rows with one value in a column,
 * as a join does, an index of the column is built, for at most TABLE_INDEX_ROWS rows. *@stop is set
 * by an interrupt, and ends the building of an index.
 */
int table_register(sqlite3 *db, volatile sig_atomic_t *stop);

enum { TABLE_INDEX_ROWS = 8 << 20, TABLE_INDEXES = 8 };

/*
 * Open a regular file to read rows from. Returns: a file descriptor; -EISDIR if it is not a regular
 * file; or another negative errno.
 */
int table_open(const char *path);

/* A csv_read function. @arg points to the file descriptor. */
ssize_t table_read(void *arg, char *out, size_t bytes, uint64_t offset);

/* Return the message for the negative errno @r of columns_find() or csv_next(). */
const char *table_problem(int r);
