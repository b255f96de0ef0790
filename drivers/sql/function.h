/* Functions that the library has not: median, stddev, REGEXP, a series; random() that can be
 * repeated. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/*
 * median(x); variance(x), stddev(x) of a sample, var_pop(x), stddev_pop(x) of all. NULL and what is
 * no number are passed over; without values the result is NULL. median keeps all values: at most 16
 * million. With @random (which must outlive @db) random() and randomblob(n) come from there.
 */
int function_register(sqlite3 *db, uint64_t *random);
