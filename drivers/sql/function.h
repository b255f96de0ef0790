/*
 * SQL functions that SQLite lacks: median, standard deviation, REGEXP, generate_series, and
 * random() with a seed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/*
 * Register the functions with a connection. variance(x) and stddev(x) are those of a sample,
 * var_pop(x) and stddev_pop(x) those of a population. These and median(x) ignore NULL and values
 * that are not numbers. Without any number, the result is NULL. median(x) stores all values, at
 * most 16 million.
 *
 * If @random is not NULL, seeded versions replace random() and randomblob(n). @random is their
 * state, which must outlive @db.
 */
int function_register(sqlite3 *db, uint64_t *random);
