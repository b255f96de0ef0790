/*
 * A streaming reader of delimited text, both as RFC 4180 defines it and as it occurs in practice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CSV_FIELDS_MAX = 1000,	     /* fields in a row; further fields are ignored */
	CSV_ROW_MAX_BYTES = 8 << 20, /* bytes in a row, without the quotes */
	CSV_SAMPLE_BYTES = 64 << 10, /* bytes at the start of a file used for guessing */
	CSV_CHUNK_BYTES = 256 << 10,
};

/*
 * A function that reads from the source as pread() does, but returns a negative errno on failure.
 */
typedef ssize_t csv_read(void *arg, char *out, size_t bytes, uint64_t offset);

struct csv_field {
	const char *text; /* not NUL-terminated */
	size_t bytes;
	bool is_quoted;
};

struct csv {
	csv_read *read;
	void *arg;
	char delimiter;
	char *in; /* bytes [from, from + n_in) of the source */
	size_t at, n_in, want;
	uint64_t from;
	struct buf row;
	size_t *ends; /* for each field, the offset at which the field ends in @row */
	bool *quoted;
	size_t n_fields;
	uint64_t row_offset; /* offset in the source at which the row in @row begins */
};

/*
 * Begin to read at the first byte, or after a UTF-8 byte order mark. Owns: buffers, which
 * csv_done() frees.
 */
void csv_init(struct csv *c, csv_read *read, void *arg, char delimiter);
void csv_done(struct csv *c);

/*
 * Read the next row. A row ends with LF, CRLF or CR outside of quotes. Empty lines are skipped. A
 * quote is special only at the start of a field. Text after the closing quote is taken literally.
 *
 * Returns: 1; 0 at the end; -E2BIG for a row over CSV_ROW_MAX_BYTES; -ENOMEM; or the negative errno
 * of @read.
 */
int csv_next(struct csv *c);

/* Continue with the row at @offset, which is an earlier value of row_offset. */
void csv_seek(struct csv *c, uint64_t offset);

/*
 * Return field @i of the row. It is valid until the next call of csv_next(). If the row has fewer
 * fields, the result is an empty field without quotes.
 */
struct csv_field csv_field(const struct csv *c, size_t i);

/*
 * Guess the delimiter of @sample, one of `,` tab `;` `|`. It is the one with which most rows have
 * as many fields as the first row, if that has more than one. Returns: ',' if none of the four
 * fits. @is_whole tells that the sample is the whole file.
 */
char csv_sniff(const char *sample, size_t bytes, bool is_whole);
