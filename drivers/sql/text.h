/*
 * Write values as text, JSON and HTML. These are pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CELL_BYTES = 240, CELL_COLUMNS = 60 };

enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

/* A value, or the start of one that is too long for a table. */
struct cell {
	enum cell_type type;
	int64_t integer;
	double real;
	uint64_t bytes;	 /* size of the whole text or blob */
	uint16_t n_kept; /* number of bytes of the text or blob in @data */
	char data[CELL_BYTES];
};

/* The rows of a table to draw: the first n_head rows of a result, then its last n_tail rows. */
struct grid {
	size_t n_columns;     /* number of columns to draw */
	size_t n_all_columns; /* number of columns in the result */
	const char *const *names;
	const struct cell *const *rows; /* n_head + n_tail rows, each of n_columns cells */
	size_t n_head, n_tail;
	uint64_t n_rows; /* number of rows in the result */
};

/*
 * Append a number that reads back as the same value. text_json_real() writes infinities as strings.
 */
void text_json_real(struct buf *out, double real);
void text_real(struct buf *out, double real);

/*
 * Append a cell: NULL as NULL, the text NULL in quotes, and a blob as X'…'. Line breaks and control
 * characters are escaped. A text or blob is truncated to @columns terminal columns, with a "…".
 */
void text_cell(struct buf *out, const struct cell *cell, size_t columns);

/* Return the number of terminal columns that a UTF-8 text fills. */
size_t text_width(const char *text);

/*
 * Draw a table with lines, or as HTML. Numbers are aligned to the right. Returns: 0, -ENOMEM, or
 * the error of @out.
 */
int text_table(struct buf *out, const struct grid *grid);
int text_html(struct buf *out, const struct grid *grid);
