/* X REGEXP Y: Perl's regular expressions, by PCRE2. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

/*
 * Add regexp() and regexpi() to a connection, as the sqlite3 command has them; NULL for a NULL.
 * Limits:  the library's own for steps and depth of a match, so that no pattern runs for ever.
 * Returns: an SQLite code.
 */
int regexp_register(sqlite3 *db);
