/*
 * Keep open SQLite databases usable in a branch or a resumed guard. SQLite refuses to write if the
 * inode number of a database file is not the one with which it was opened, because the file may
 * have been replaced. But in a branch every file has a new inode number. So SQLite's fstat() and
 * stat() are replaced, through SQLite's own interface, by functions that report the old numbers.
 * This works for the shared library that Python's sqlite3 loads, but not for an SQLite that is
 * linked into another module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Return whether SQLite is loaded. If not, the functions below are not needed. */
bool sqlite_is_loaded(void);

/*
 * Make SQLite see the inode number of @was for the file with the status @now. Other numbers are
 * reported unchanged.
 */
void sqlite_renumber(const struct stat *was, const struct stat *now);

/* Make all calls of sqlite_renumber() take effect. */
void sqlite_settle(void);
