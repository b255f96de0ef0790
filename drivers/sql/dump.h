/*
 * Write the database as SQL statements.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db.h"

/*
 * Write the tables whose names are LIKE @pattern to standard output, with rows, indexes, views and
 * triggers. If the rows of a virtual table cannot be dumped, an SQL comment says so. Returns: an
 * SQLite code.
 */
int dump_write(struct db *db, const char *pattern);
