/* A dump of the database as SQL. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "db.h"

/*
 * Write the tables whose names are LIKE @pattern, with rows, indexes, views and triggers, to
 * standard output. Virtual tables that cannot be dumped are left out, which a comment says.
 * Returns: an SQLite code.
 */
int dump_write(struct db *db, const char *pattern);
