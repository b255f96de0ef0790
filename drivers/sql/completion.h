/* What could come next: completion. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "db.h"

enum { NAMES_MAX = 200 };

/*
 * Append a JSON array of whole words that the last word of @text may become: tables and files,
 * columns, functions, keywords, dot commands. Behind `table.` its columns, as table.column.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int completion_write(struct db *db, const char *text, struct buf *out);
