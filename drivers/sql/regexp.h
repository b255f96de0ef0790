/*
 * The operator X REGEXP Y, for Perl-compatible regular expressions (PCRE2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

/*
 * Add regexp() and regexpi() to a connection, as the sqlite3 command has them. For a NULL argument,
 * the result is NULL.
 * Limits: MATCH_STEPS_MAX steps and HEAP_KIB_MAX of memory for one match, so that every match ends.
 * Returns: an SQLite code.
 */
int regexp_register(sqlite3 *db);
