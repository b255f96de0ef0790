/*
 * SQLite takes the file of a database for replaced when it has another number than when it was
 * opened, and writes to it no more. In a branch every file has another number; so SQLite is told
 * the old ones there, through what it offers for replacing system calls. That is the shared library
 * that Python's sqlite3 loads; one linked into a module of its own is not reached.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Is it loaded? Only then there is anything to do. */
bool sqlite_is_loaded(void);

/* In a branch: the file that was @was is @now. Of those not named here nothing is told any more. */
void sqlite_renumber(const struct stat *was, const struct stat *now);

/* When all have been named. */
void sqlite_settle(void);
