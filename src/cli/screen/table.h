/* Tables: text in aligned columns. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/*
 * Append a table to @out. @cells: the cells of all rows, @n_columns in each row; NULL: an empty
 * cell. Columns are as wide as their widest cell, with two spaces between them. No blanks follow
 * the last cell of a row. Terminal control characters are escaped. @columns: the width of the
 * output, at which the last column is cut, with "…"; 0: it is not cut.
 *
 * Returns: 0, -E2BIG or -ENOMEM.
 */
int table_write(
	struct buf *out, const char *const *cells, size_t n_columns, size_t n_rows, size_t columns);
