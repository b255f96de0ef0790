/*
 * The rows of one statement: all are counted, the first and last are shown, the first are given
 * as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "text.h"

#include <sqlite3.h>

enum { RESULT_ROWS = 50, RESULT_TAIL = 10, RESULT_JSON_CELL_BYTES = 64 << 10 };

struct result {
	size_t n_columns;
	char **names, **types; /* declared types, or NULL */
	unsigned *seen;	       /* per column: the set of types seen, as 1 << cell_type */
	struct cell *cells;    /* the first RESULT_ROWS rows, then a ring of RESULT_TAIL */
	size_t n_shown;	       /* columns */
	uint64_t n_rows;
	struct buf json;
	size_t n_parts;	  /* of json: members, elements, containers */
	bool is_cut;	  /* json does not contain all rows */
	bool has_no_utf8; /* a text is not valid UTF-8 */
	size_t bytes_max;
};

/*
 * Begin the result of a statement that has columns. Limits: text, JSON and HTML together take
 * about @bytes_max. Returns: 0, -ENOMEM.
 */
int result_begin(struct result *r, sqlite3_stmt *stmt, size_t bytes_max);

/* Add the statement's current row. Returns: 0, -ENOMEM. */
int result_row(struct result *r, sqlite3_stmt *stmt);

/* Append {"text/plain": …, "application/json": …, "text/html": …}. Returns: 0, -E2BIG, -ENOMEM. */
int result_write(const struct result *r, struct buf *out);

void result_done(struct result *r);
