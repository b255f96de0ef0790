/* X REGEXP Y: Perl-compatible regular expressions (PCRE2). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * Add regexp() and regexpi() to a connection, as the sqlite3 command has them; NULL for a NULL
 * argument.
 * Limits: PCRE2's own limits for steps and depth, so that every match ends.
 * Returns: an SQLite code.
 */
int regexp_register(sqlite3 *db);
