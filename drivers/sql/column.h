/*
 * The columns of a delimited file: names and types, guessed from its first rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "csv.h"

enum column_type { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT };

enum column_answer { COLUMN_GUESS, COLUMN_NO, COLUMN_YES };

/* How to read a file; 0 means guess. */
struct dialect {
	char delimiter;
	enum column_answer header;
	bool is_text; /* all columns are text */
	unsigned skip_rows;
};

struct columns {
	size_t n;
	char **names; /* never empty, unique regardless of case */
	enum column_type *types;
	bool has_header;
	char delimiter;
	uint64_t rows_offset; /* offset of the first data row, or of the end of the file */
	uint64_t row_bytes;   /* average of the sampled rows, at least 1 */
};

/*
 * Guess from the first rows of @read. The first row is a header if none of its fields is a
 * number, or if some column contains only numbers apart from its first field. A column is INTEGER
 * or REAL if all of its non-empty fields in the first CSV_SAMPLE_BYTES are, and there is at least
 * one.
 *
 * Returns: 0; -ENODATA for a file without rows, -EILSEQ for UTF-16, -E2BIG, -ENOMEM, or the
 * reader's errno.
 */
int columns_find(struct columns *out, csv_read *read, void *arg, const struct dialect *dialect);
void columns_done(struct columns *c);

/* The SQL name of the type. */
const char *column_type_name(enum column_type type);

/*
 * Parse a field as a number, ignoring spaces around it. Leading zeros and `+` make it text (they
 * occur in codes and telephone numbers), as do integers beyond 64 bits, infinities and NaN.
 * Returns: COLUMN_INTEGER with *@integer, COLUMN_REAL with *@real, or COLUMN_TEXT.
 */
enum column_type column_parse(const char *text, size_t bytes, int64_t *integer, double *real);
