/* The cells of a table, collected and printed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Cells, row after row. Each is a copy. */
struct grid {
	char **cell;
	size_t n, n_max, n_columns;
};

/* Begin a table with the @n_columns titles @heads and room for @n_rows rows. Owns: grid_print()
 * frees it. */
struct grid grid_new(const char *const *heads, size_t n_columns, size_t n_rows);

/* Add the next cell: @text; its first @bytes bytes; a text as from printf(3); or the time @ms
 * (milliseconds since 1970) as "2026-01-31T12:00:00Z", empty if it is no number. Cells beyond the
 * room are dropped. */
void grid_add(struct grid *c, const char *text);
void grid_add_bytes(struct grid *c, const char *text, size_t bytes);
void grid_addf(struct grid *c, const char *format, ...) attr_printf(2, 3);
void grid_add_time(struct grid *c, const json_t *ms);

/* Print the table to @to, and free it. @n_columns_max: characters in a line, as for table_write();
 * grid_width() gives the width of a terminal, and 0 for anything else.
 * Returns: 0; 1 if @to takes no more, or there is no memory. */
int grid_print(struct grid *c, FILE *to, size_t n_columns_max);
size_t grid_width(FILE *to);
