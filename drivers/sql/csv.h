/* Rows of delimited text, streamed: RFC 4180 and what is found in the wild.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CSV_FIELDS_MAX = 1000,	     /* of a row; more are passed over */
	CSV_ROW_MAX_BYTES = 8 << 20, /* of a row, quotes removed */
	CSV_SAMPLE_BYTES = 64 << 10, /* what a dialect is guessed from */
	CSV_CHUNK_BYTES = 256 << 10,
};

/* Where bytes come from: as pread(). */
typedef ssize_t csv_read(void *arg, char *out, size_t bytes, uint64_t offset);

struct csv_field {
	const char *text; /* not terminated */
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
	size_t *ends; /* of the fields in row */
	bool *quoted;
	size_t n_fields;
	uint64_t row_offset; /* where the row that was read begins */
};

/* Start at the first byte; a UTF-8 byte order mark is passed over. Owns: what it allocates. */
void csv_init(struct csv *c, csv_read *read, void *arg, char delimiter);
void csv_done(struct csv *c);

/*
 * Read a row. A row ends with LF, CRLF or CR outside of quotes; lines without anything are no rows.
 * A quote is one only at the start of a field; what follows the closing quote is taken as it is.
 *
 * Returns: 1, 0 at the end, -E2BIG (CSV_ROW_MAX_BYTES), -ENOMEM, or the reader's negative errno.
 */
int csv_next(struct csv *c);

/* Go on with the row that begins at @offset, as row_offset said. */
void csv_seek(struct csv *c, uint64_t offset);

/* Field @i of the row, until the next call; beyond the last: empty and not quoted. */
struct csv_field csv_field(const struct csv *c, size_t i);

/*
 * Which of `,` tab `;` `|` divides the fields of @sample: the one that gives the most rows an equal
 * number of fields, more than one. Returns: ',' when none does.
 */
char csv_sniff(const char *sample, size_t bytes, bool is_whole);
