/*
 * The table generate_series(start, stop, step), as the sqlite3 command has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

/*
 * Add the table to a connection. Its column "value" counts from start to stop in steps of step,
 * downwards if step is negative. A step that is missing or 0 counts as 1. A missing stop is
 * 4294967295. Returns: an SQLite code.
 */
int series_register(sqlite3 *db);
