/*
 * A streaming reader of delimited text, as in RFC 4180 and as it occurs in practice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CSV_FIELDS_MAX = 1000,	     /* fields of a row; further ones are ignored */
	CSV_ROW_MAX_BYTES = 8 << 20, /* bytes of a row, without quotes */
	CSV_SAMPLE_BYTES = 64 << 10, /* bytes from which a dialect is guessed */
	CSV_CHUNK_BYTES = 256 << 10,
};

/* Reads the source, like pread(). */
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
	size_t *ends; /* ends of the fields within @row */
	bool *quoted;
	size_t n_fields;
	uint64_t row_offset; /* offset of the row that was read */
};

/* Start at the first byte, after a UTF-8 byte order mark. Owns: buffers, freed by csv_done(). */
void csv_init(struct csv *c, csv_read *read, void *arg, char delimiter);
void csv_done(struct csv *c);

/*
 * Read a row. A row ends with LF, CRLF or CR outside of quotes; empty lines are skipped. A quote
 * is special only at the start of a field; text after the closing quote is taken literally.
 *
 * Returns: 1, 0 at the end, -E2BIG (CSV_ROW_MAX_BYTES), -ENOMEM, or the reader's negative errno.
 */
int csv_next(struct csv *c);

/* Continue with the row at @offset, an earlier value of row_offset. */
void csv_seek(struct csv *c, uint64_t offset);

/* Field @i of the row, valid until the next call; beyond the last field: empty and not quoted. */
struct csv_field csv_field(const struct csv *c, size_t i);

/*
 * Guess the delimiter of @sample among `,` tab `;` `|`: the one for which most rows have an equal
 * number of fields, more than one. Returns: ',' when there is no such delimiter.
 */
char csv_sniff(const char *sample, size_t bytes, bool is_whole);
