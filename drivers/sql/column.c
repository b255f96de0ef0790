/* SPDX-License-Identifier: Apache-2.0 */
#include "column.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_BYTES_MAX = 40, NAME_BYTES_MAX = 200, LOOK_ROWS = 1000 };

const char *column_type_name(enum column_type type)
{
	static const char *const names[] = {"INTEGER", "REAL", "TEXT"};
	return names[type];
}

/*
 * Return the type that a field has by its form, that is, by the places of its digits, sign, point
 * and exponent.
 */
static enum column_type shape(const char *text)
{
	const char *p = text + (*text == '-');
	const char *digits = p;
	if (p[0] == '0' && isdigit((unsigned char)p[1]))
		return COLUMN_TEXT;
	p += strspn(p, "0123456789");
	size_t n = (size_t)(p - digits);
	if (!*p)
		return n > 0 ? COLUMN_INTEGER : COLUMN_TEXT;
	if (*p == '.') {
		size_t n_behind = strspn(++p, "0123456789");
		n += n_behind;
		p += n_behind;
	}
	if (n > 0 && (*p == 'e' || *p == 'E')) {
		p += 1 + (p[1] == '-' || p[1] == '+');
		if (!isdigit((unsigned char)*p))
			return COLUMN_TEXT;
		p += strspn(p, "0123456789");
	}
	return n > 0 && !*p ? COLUMN_REAL : COLUMN_TEXT;
}

enum column_type column_parse(const char *text, size_t bytes, int64_t *integer, double *real)
{
	char number[NUMBER_BYTES_MAX];
	while (bytes > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		bytes--;
	}
	while (bytes > 0 && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
		bytes--;
	if (bytes == 0 || bytes >= sizeof number || memchr(text, 0, bytes))
		return COLUMN_TEXT;
	memcpy(number, text, bytes);
	number[bytes] = '\0';
	enum column_type type = shape(number);
	errno = 0;
	if (type == COLUMN_INTEGER) {
		long long value = strtoll(number, NULL, 10);
		if (errno)
			return COLUMN_TEXT;
		*integer = value;
	} else if (type == COLUMN_REAL) {
		double value = strtod(number, NULL);
		if (!isfinite(value))
			return COLUMN_TEXT;
		*real = value;
	}
	return type;
}

void columns_done(struct columns *c)
{
	for (size_t i = 0; c->names && i < c->n; i++)
		free(c->names[i]);
	free(c->names);
	free(c->types);
	*c = (struct columns){0};
}

/*
 * What was learned from the first rows of a file. For each column: the type of its field in the
 * first row (@first), and the common type of its other fields (@below).
 */
struct look {
	size_t n;
	bool has_value[CSV_FIELDS_MAX];
	enum column_type first[CSV_FIELDS_MAX], below[CSV_FIELDS_MAX];
	bool is_first_empty[CSV_FIELDS_MAX];
};

static enum column_type type_of(const struct csv *c, size_t i, bool *is_empty)
{
	int64_t integer;
	double real;
	struct csv_field field = csv_field(c, i);
	*is_empty = field.bytes == 0;
	return column_parse(field.text, field.bytes, &integer, &real);
}

static void look_first(struct look *look, const struct csv *c)
{
	look->n = c->n_fields;
	for (size_t i = 0; i < look->n; i++)
		look->first[i] = type_of(c, i, &look->is_first_empty[i]);
}

static void look_below(struct look *look, const struct csv *c)
{
	for (size_t i = 0; i < MIN(look->n, c->n_fields); i++) {
		bool is_empty;
		enum column_type type = type_of(c, i, &is_empty);
		if (is_empty)
			continue;
		look->below[i] = look->has_value[i] ? MAX(look->below[i], type) : type;
		look->has_value[i] = true;
	}
}

static bool has_header(const struct look *look)
{
	bool is_any_number = false, is_above_numbers = false;
	for (size_t i = 0; i < look->n; i++) {
		bool is_number = look->first[i] != COLUMN_TEXT;
		is_any_number = is_any_number || is_number;
		if (!is_number && !look->is_first_empty[i] && look->has_value[i] &&
			look->below[i] != COLUMN_TEXT)
			is_above_numbers = true;
	}
	return !is_any_number || is_above_numbers;
}

/*
 * Return a name for column @i, made unique by a suffix _2, _3 …, or NULL when out of memory. @field
 * is the column's field in the header, NULL if the file has no header. Owns: the caller frees.
 */
static char *make_name(const struct columns *c, size_t i, const struct csv_field *field)
{
	char base[NAME_BYTES_MAX + 1], *name = NULL;
	const char *text = field ? field->text : "";
	size_t bytes = field ? MIN(field->bytes, (size_t)NAME_BYTES_MAX) : 0;
	for (; bytes > 0 && isspace((unsigned char)*text); text++)
		bytes--;
	while (bytes > 0 && isspace((unsigned char)text[bytes - 1]))
		bytes--;
	while (bytes > 0 && bytes < (field ? field->bytes : 0) && (text[bytes] & 0xc0) == 0x80)
		bytes--;
	if (bytes == 0 || memchr(text, 0, bytes))
		snprintf(base, sizeof base, "column%zu", i + 1);
	else
		snprintf(base, sizeof base, "%.*s", (int)bytes, text);
	for (size_t k = 1;; k++) {
		/*
		 * After ten tries, use suffixes from @i on: otherwise a thousand equal names would
		 * try up to a thousand suffixes each.
		 */
		size_t suffix = k <= 10 ? k : i + k;
		bool is_taken = false;
		int r = k == 1 ? asprintf(&name, "%s", base)
			       : asprintf(&name, "%s_%zu", base, suffix);
		if (r < 0)
			return NULL;
		for (size_t j = 0; j < i && !is_taken; j++)
			is_taken = strcasecmp(c->names[j], name) == 0;
		if (!is_taken)
			return name;
		free(name);
	}
}

static int fill_columns(struct columns *out, const struct look *look, const struct csv *first,
	const struct dialect *dialect)
{
	out->names = calloc(look->n, sizeof *out->names);
	out->types = calloc(look->n, sizeof *out->types);
	if (!out->names || !out->types)
		return -ENOMEM;
	for (size_t i = 0; i < look->n; i++) {
		struct csv_field field = csv_field(first, i);
		enum column_type type = look->has_value[i] ? look->below[i] : COLUMN_TEXT;
		if (!out->has_header && !look->is_first_empty[i])
			type = look->has_value[i] ? MAX(type, look->first[i]) : look->first[i];
		out->types[i] = dialect->is_text ? COLUMN_TEXT : type;
		out->names[i] = make_name(out, i, out->has_header ? &field : NULL);
		if (!out->names[i])
			return -ENOMEM;
		out->n = i + 1;
	}
	return 0;
}

/* Look at the rows after the first one, up to the end of the sample. */
static int look_at(struct columns *out, struct look *look, struct csv *c, uint64_t first_offset)
{
	uint64_t n_rows = 0;
	int r;
	out->rows_offset = c->from + c->at;
	while ((r = csv_next(c)) == 1) {
		if (n_rows++ == 0)
			out->rows_offset = c->row_offset;
		look_below(look, c);
		if (n_rows >= LOOK_ROWS || c->row_offset > first_offset + CSV_SAMPLE_BYTES)
			break;
	}
	/*
	 * Ignore a row that is too long here. A query that reads as far as that row will report it.
	 */
	if (r < 0 && r != -E2BIG)
		return r;
	out->row_bytes = (c->from + c->at - first_offset) / (n_rows + 1);
	out->row_bytes = MAX(out->row_bytes, (uint64_t)1);
	return 0;
}

static int choose_delimiter(struct columns *out, csv_read *read, void *arg, char asked)
{
	char *sample = malloc(CSV_SAMPLE_BYTES);
	ssize_t n = sample ? read(arg, sample, CSV_SAMPLE_BYTES, 0) : -ENOMEM;
	if (n >= 2 && (memcmp(sample, "\xff\xfe", 2) == 0 || memcmp(sample, "\xfe\xff", 2) == 0))
		n = -EILSEQ;
	if (n >= 0)
		out->delimiter = asked ? asked : csv_sniff(sample, (size_t)n, n < CSV_SAMPLE_BYTES);
	free(sample);
	return n < 0 ? (int)n : 0;
}

static int find(
	struct columns *out, struct csv *c, struct csv *first, const struct dialect *dialect)
{
	int r = 1;
	for (unsigned i = 0; r == 1 && i <= dialect->skip_rows; i++)
		r = csv_next(first);
	if (r <= 0)
		return r < 0 ? r : -ENODATA;
	struct look *look = calloc(1, sizeof *look);
	if (!look)
		return -ENOMEM;
	look_first(look, first);
	csv_seek(c, first->row_offset);
	r = csv_next(c) == 1 ? look_at(out, look, c, first->row_offset) : -EIO;
	if (r == 0) {
		out->has_header = dialect->header == COLUMN_GUESS ? has_header(look)
								  : dialect->header == COLUMN_YES;
		if (!out->has_header)
			out->rows_offset = first->row_offset;
		r = fill_columns(out, look, first, dialect);
	}
	free(look);
	return r;
}

int columns_find(struct columns *out, csv_read *read, void *arg, const struct dialect *dialect)
{
	struct columns found = {0};
	struct csv c, first;
	int r = choose_delimiter(&found, read, arg, dialect->delimiter);
	if (r < 0)
		return r;
	csv_init(&c, read, arg, found.delimiter);
	csv_init(&first, read, arg, found.delimiter);
	r = find(&found, &c, &first, dialect);
	csv_done(&c);
	csv_done(&first);
	if (r < 0)
		columns_done(&found);
	else
		*out = found;
	return r;
}
