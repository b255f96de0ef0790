/* Completion of SQL. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "db.h"

enum { NAMES_MAX = 200 };

/*
 * Append a JSON array of the completions of the last word of @text, as whole words: tables and
 * files, columns, functions, keywords, dot commands; after `table.` its columns, as table.column.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int completion_write(struct db *db, const char *text, struct buf *out);
