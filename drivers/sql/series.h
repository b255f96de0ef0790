/* generate_series(start, stop, step), as the sqlite3 command has it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * Add the table to a connection: a column value, from start to stop by step (1 when it is not
 * given, and for 0), downwards when it is negative. Without a stop it ends at 4294967295. Returns:
 * an SQLite code.
 */
int series_register(sqlite3 *db);
