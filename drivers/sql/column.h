/*
 * The columns of a delimited file: their names and types, which are guessed from the first rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "csv.h"

enum column_type { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT };

enum column_answer { COLUMN_GUESS, COLUMN_NO, COLUMN_YES };

/* How to read a delimited file. A value of 0 means: guess. */
struct dialect {
	char delimiter;
	enum column_answer header;
	bool is_text; /* all columns have the type TEXT */
	unsigned skip_rows;
};

struct columns {
	size_t n;
	/* no name is empty, and no two names differ only in upper and lower case */
	char **names;
	enum column_type *types;
	bool has_header;
	char delimiter;
	uint64_t rows_offset; /* offset of the first data row, or of the end of the file */
	uint64_t row_bytes;   /* average size of the sampled rows, at least 1 */
};

/*
 * Guess names and types from the first rows that @read returns.
 * The first row is a header if none of its fields is a number, or if some column has numbers in all
 * other rows but not in the first one. A column is INTEGER or REAL if it has fields in the sample
 * that are not empty, and all of these are such numbers. Otherwise it is TEXT. The sample is the
 * first 1000 rows, and at most CSV_SAMPLE_BYTES.
 *
 * Returns: 0; -ENODATA for a file without rows; -EILSEQ for UTF-16; -E2BIG; -ENOMEM; or the
 * negative errno of @read.
 */
int columns_find(struct columns *out, csv_read *read, void *arg, const struct dialect *dialect);
void columns_done(struct columns *c);

/* Return the name of the type in SQL. */
const char *column_type_name(enum column_type type);

/*
 * Parse a field as a number, ignoring blanks around it. Numbers such as 007 and +49 are text,
 * because they are probably codes or telephone numbers. Integers beyond 64 bits, infinities and NaN
 * are text too.
 * Returns: COLUMN_INTEGER with *@integer, COLUMN_REAL with *@real, or COLUMN_TEXT.
 */
enum column_type column_parse(const char *text, size_t bytes, int64_t *integer, double *real);
