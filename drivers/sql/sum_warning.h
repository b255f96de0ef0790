/* What a result should not be taken for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "db.h"

/*
 * Say on stderr when @sql (one statement, that has run) sums or averages a column of text whose
 * values are written as "1,234.50" or "$5": SQLite takes of such a text the number that it begins
 * with, or 0.
 */
void sum_warning(struct db *db, const char *sql);
