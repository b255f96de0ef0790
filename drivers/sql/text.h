/* Values as text, JSON and HTML: pure. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CELL_BYTES = 240, CELL_COLUMNS = 60 };

enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

/* A value as far as a table shows it. */
struct cell {
	enum cell_type type;
	int64_t integer;
	double real;
	uint64_t bytes;	 /* of the whole text or blob */
	uint16_t n_kept; /* of them in data */
	char data[CELL_BYTES];
};

/* How a table is drawn: rows one after the other, from the first and from the last. */
struct grid {
	size_t n_columns;     /* that are shown */
	size_t n_all_columns; /* that there are */
	const char *const *names;
	const struct cell *const *rows; /* n_head + n_tail of them, each n_columns cells */
	size_t n_head, n_tail;
	uint64_t n_rows; /* that there are */
};

/* A number that reads back as the same; infinities are strings. */
void text_json_real(struct buf *out, double real);
void text_real(struct buf *out, double real);

/*
 * What a cell shows: NULL as NULL, a text that reads NULL in quotes, blobs as X'…', line breaks and
 * controls escaped, at most @columns columns of a terminal, … where it was cut.
 */
void text_cell(struct buf *out, const struct cell *cell, size_t columns);

/* How many columns of a terminal UTF-8 text fills. */
size_t text_width(const char *text);

/* A table drawn with lines, numbers to the right; as HTML. */
int text_table(struct buf *out, const struct grid *grid);
int text_html(struct buf *out, const struct grid *grid);
