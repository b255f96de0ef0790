/* Values as text, JSON and HTML: pure functions. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CELL_BYTES = 240, CELL_COLUMNS = 60 };

enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

/* A value, as much of it as a table shows. */
struct cell {
	enum cell_type type;
	int64_t integer;
	double real;
	uint64_t bytes;	 /* of the whole text or blob */
	uint16_t n_kept; /* of those in @data */
	char data[CELL_BYTES];
};

/* A table to draw: rows from the start, then rows from the end. */
struct grid {
	size_t n_columns;     /* shown columns */
	size_t n_all_columns; /* all columns */
	const char *const *names;
	const struct cell *const *rows; /* n_head + n_tail rows of n_columns cells */
	size_t n_head, n_tail;
	uint64_t n_rows; /* all rows */
};

/* Append a number that reads back as the same value. In JSON, infinities become strings. */
void text_json_real(struct buf *out, double real);
void text_real(struct buf *out, double real);

/*
 * The text of a cell: NULL as NULL, a text that reads NULL in quotes, blobs as X'…', line breaks
 * and controls escaped, at most @columns terminal columns, with … where it was truncated.
 */
void text_cell(struct buf *out, const struct cell *cell, size_t columns);

/* The number of terminal columns that UTF-8 text fills. */
size_t text_width(const char *text);

/* Draw a table with lines, numbers aligned to the right; or as HTML. */
int text_table(struct buf *out, const struct grid *grid);
int text_html(struct buf *out, const struct grid *grid);
