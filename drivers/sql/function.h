/*
 * SQL functions that SQLite lacks: median, standard deviation, REGEXP, series; and a seeded
 * random().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/*
 * Register median(x); variance(x) and stddev(x) of a sample, var_pop(x) and stddev_pop(x) of a
 * population. They ignore NULL and non-numeric values; without values the result is NULL. median
 * stores all values, at most 16 million. With @random, a state that must outlive @db, random()
 * and randomblob(n) are replaced by seeded ones.
 */
int function_register(sqlite3 *db, uint64_t *random);
