/* A warning about sums that are probably wrong. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "db.h"

/*
 * Warn on stderr when @sql (one statement, which has run) sums or averages a text column with
 * values such as "1,234.50" or "$5": SQLite uses the number at the start of such a text, or 0.
 */
void sum_warning(struct db *db, const char *sql);
