/*
 * Keeps open SQLite databases usable in a branch. SQLite compares the inode number of a database
 * file with the number at its opening, and refuses to write if they differ, since the file may have
 * been replaced. In a branch every file has a new inode number. So SQLite's fstat() and stat() are
 * replaced, through SQLite's own interface, by functions that report the old numbers. This reaches
 * the shared library that Python's sqlite3 loads, but no SQLite that is linked into another module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Is SQLite loaded? If not, the functions below are not needed. */
bool sqlite_is_loaded(void);

/*
 * In a branch: report the inode number of @was for the file with status @now. Other numbers are
 * reported unchanged.
 */
void sqlite_renumber(const struct stat *was, const struct stat *now);

/* Apply all calls of sqlite_renumber(). */
void sqlite_settle(void);
