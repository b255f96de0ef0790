/* generate_series(start, stop, step), as the sqlite3 command has it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * Add the table to a connection: one column, value, from start to stop in steps of step (1 when
 * not given or 0), downwards when step is negative. Without stop the series ends at 4294967295.
 * Returns: an SQLite code.
 */
int series_register(sqlite3 *db);
