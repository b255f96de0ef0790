/*
 * The rows that one statement returns. All rows are counted. The first and the last rows are kept
 * for a table, and as many of the first as fit are written as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "text.h"

#include <sqlite3.h>

enum { RESULT_ROWS = 50, RESULT_TAIL = 10, RESULT_JSON_CELL_BYTES = 64 << 10 };

struct result {
	size_t n_columns;
	char **names, **types; /* types: declared type of each column, or NULL */
	unsigned *seen;	    /* for each column, a set of bits: 1 << cell_type for each type seen */
	struct cell *cells; /* the first RESULT_ROWS rows, then a ring buffer of RESULT_TAIL rows */
	size_t n_shown;	    /* number of columns shown in the table */
	uint64_t n_rows;
	struct buf json;
	size_t n_parts;	  /* number of members, elements and containers in @json */
	bool is_cut;	  /* @json lacks a row or a part of a value */
	bool has_no_utf8; /* a text was not valid UTF-8 */
	size_t bytes_max;
};

/*
 * Begin the result of @stmt, which must have columns. Limits: text, JSON and HTML together take
 * about @bytes_max. Returns: 0, or -ENOMEM.
 */
int result_begin(struct result *r, sqlite3_stmt *stmt, size_t bytes_max);

/* Add the current row of @stmt. Returns: 0, or -ENOMEM. */
int result_row(struct result *r, sqlite3_stmt *stmt);

/*
 * Append a JSON object: {"text/plain": …, "application/json": …, "text/html": …}. Returns: 0,
 * -E2BIG, or -ENOMEM.
 */
int result_write(const struct result *r, struct buf *out);

void result_done(struct result *r);
