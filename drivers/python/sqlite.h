/*
 * Open SQLite databases in a branch. SQLite compares the inode number of a database file with the
 * one it saw when it opened the file, and refuses to write when they differ, since the file may
 * have been replaced. In a branch every file has a new inode number. So SQLite's fstat() and
 * stat() are replaced, through the interface SQLite offers for that, by functions that report the
 * old numbers. This reaches the shared library that Python's sqlite3 loads, not an SQLite that is
 * linked into another module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Is SQLite loaded? Otherwise there is nothing to do. */
bool sqlite_is_loaded(void);

/*
 * In a branch: the file that had status @was has status @now here. Numbers that are not mentioned
 * are reported as they are.
 */
void sqlite_renumber(const struct stat *was, const struct stat *now);

/* Call when all files have been mentioned. */
void sqlite_settle(void);
