/*
 * Warn about sums that are probably wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db.h"

/*
 * Warn on stderr if @sql has summed or averaged a text column with values such as "1,234.50" or
 * "$5". Of such a text, SQLite uses the number at its start (here 1), or 0. @sql is one statement
 * that has already run.
 */
void sum_warning(struct db *db, const char *sql);
