/* Completion of SQL. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "db.h"

enum { NAMES_MAX = 200 };

/*
 * Append a JSON array with the completions of the last word of @text. They are whole words: tables,
 * files, columns, functions, keywords and dot commands. After "TABLE." they are the columns of that
 * table. Returns: 0, -E2BIG, or -ENOMEM.
 */
int completion_write(struct db *db, const char *text, struct buf *out);
