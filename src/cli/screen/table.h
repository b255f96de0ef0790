/* Tables: text in aligned columns. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/*
 * Append rows of @n_columns cells each (NULL is empty). Columns are two spaces apart and as wide as
 * their widest cell; no blanks follow the last cell. Terminal control characters are escaped. The
 * last column is cut at @columns, with "…", unless @columns is 0.
 *
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int table_write(
	struct buf *out, const char *const *cells, size_t n_columns, size_t n_rows, size_t columns);
