/* What a file's columns are: names and types, found in its first rows. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "csv.h"

enum column_type { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT };

enum column_answer { COLUMN_GUESS, COLUMN_NO, COLUMN_YES };

/* How to read a file; what is 0 is guessed. */
struct dialect {
	char delimiter;
	enum column_answer header;
	bool is_text; /* all columns are */
	unsigned skip_rows;
};

struct columns {
	size_t n;
	char **names; /* never empty, no two alike but for case */
	enum column_type *types;
	bool has_header;
	char delimiter;
	uint64_t rows_offset; /* of the first row of data; where the file ends if there is none */
	uint64_t row_bytes;   /* the average of the rows looked at, at least 1 */
};

/*
 * Look at the first rows of @read. The first row is a header when none of its fields is a number,
 * or when some column has numbers, and only those, under something else. A column is INTEGER or
 * REAL when all its fields of the first CSV_SAMPLE_BYTES are (empty ones aside, at least one).
 *
 * Returns: 0; -ENODATA without any row, -EILSEQ for UTF-16, -E2BIG, -ENOMEM, or the reader's errno.
 */
int columns_find(struct columns *out, csv_read *read, void *arg, const struct dialect *dialect);
void columns_done(struct columns *c);

/* The type as SQL writes it. */
const char *column_type_name(enum column_type type);

/*
 * Is the field a number, spaces around it aside? Zeros in front and `+` make text (they are codes
 * and telephone numbers), as do integers beyond 64 bits, infinity and not-a-number.
 * Returns: COLUMN_INTEGER with *@integer, COLUMN_REAL with *@real, or COLUMN_TEXT.
 */
enum column_type column_parse(const char *text, size_t bytes, int64_t *integer, double *real);
