/*
 * A streaming reader of delimited text.
 *
 * The reader keeps one window of the source and one row in memory. Outside of quotes, a delimiter
 * ends a field and a line break ends the row. A quote at the start of a field begins quoted text,
 * in which two quotes stand for one. The fields of the row are in one buffer, and each field is
 * known by the offset of its end. csv_sniff() guesses the delimiter by reading a sample with each
 * candidate and comparing how many rows have as many fields as the first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_READ_BYTES = 4 << 10, SNIFF_ROWS = 50 };

void csv_init(struct csv *c, csv_read *read, void *arg, char delimiter)
{
	*c = (struct csv){.read = read,
		.arg = arg,
		.delimiter = delimiter,
		.want = CSV_CHUNK_BYTES,
		.row = BUF_INIT(CSV_ROW_MAX_BYTES)};
}

void csv_done(struct csv *c)
{
	free(c->in);
	free(c->ends);
	free(c->quoted);
	buf_done(&c->row);
	*c = (struct csv){0};
}

void csv_seek(struct csv *c, uint64_t offset)
{
	if (offset >= c->from && offset - c->from < c->n_in) {
		c->at = (size_t)(offset - c->from);
		return;
	}
	/* The caller probably reads single rows at scattered places. So read little ahead. */
	c->want = FIRST_READ_BYTES;
	c->from = offset;
	c->at = c->n_in = 0;
}

/*
 * Make sure that there is a byte at c->at. Returns: 1; 0 at the end of the source; or negative
 * errno.
 */
static int fill(struct csv *c)
{
	if (c->at < c->n_in)
		return 1;
	if (!c->in) {
		c->in = malloc(CSV_CHUNK_BYTES);
		c->ends = calloc(CSV_FIELDS_MAX, sizeof *c->ends);
		c->quoted = calloc(CSV_FIELDS_MAX, sizeof *c->quoted);
		if (!c->in || !c->ends || !c->quoted)
			return -ENOMEM;
	}
	c->from += c->n_in;
	c->at = c->n_in = 0;
	ssize_t n = c->read(c->arg, c->in, c->want, c->from);
	if (n <= 0)
		return (int)n;
	c->want = MIN(c->want * 2, (size_t)CSV_CHUNK_BYTES);
	c->n_in = (size_t)n;
	while (c->from == 0 && c->n_in < 3 &&
		(n = c->read(c->arg, c->in + c->n_in, 1, c->n_in)) > 0)
		c->n_in++;
	if (c->from == 0 && c->n_in >= 3 && memcmp(c->in, "\xef\xbb\xbf", 3) == 0)
		c->at = 3;
	return c->at < c->n_in ? 1 : fill(c);
}

/*
 * Read up to the closing quote. The opening quote has already been read. Two quotes stand for one.
 */
static int read_quoted(struct csv *c)
{
	for (;;) {
		int r = fill(c);
		if (r <= 0)
			return r;
		const char *at = c->in + c->at;
		const char *quote = memchr(at, '"', c->n_in - c->at);
		size_t n = quote ? (size_t)(quote - at) : c->n_in - c->at;
		r = buf_append(&c->row, at, n);
		if (r < 0)
			return r;
		c->at += n + (quote != NULL);
		if (!quote)
			continue;
		r = fill(c);
		if (r <= 0 || c->in[c->at] != '"')
			return r < 0 ? r : 0;
		c->at++;
		r = buf_append(&c->row, "\"", 1);
		if (r < 0)
			return r;
	}
}

static bool is_end_of_field(const struct csv *c, char byte)
{
	return byte == c->delimiter || byte == '\n' || byte == '\r';
}

static int read_plain(struct csv *c)
{
	for (;;) {
		int r = fill(c);
		if (r <= 0)
			return r;
		size_t n = c->at;
		while (n < c->n_in && !is_end_of_field(c, c->in[n]))
			n++;
		r = buf_append(&c->row, c->in + c->at, n - c->at);
		c->at = n;
		if (r < 0 || n < c->n_in)
			return r;
	}
}

/*
 * Read one field. Returns: 1 when another field follows, 0 at the end of the row, or negative
 * errno.
 */
static int read_field(struct csv *c)
{
	size_t start = c->row.bytes;
	int r = fill(c);
	bool is_quoted = r == 1 && c->in[c->at] == '"';
	if (is_quoted) {
		c->at++;
		r = read_quoted(c);
	}
	if (r >= 0)
		r = read_plain(c);
	if (r < 0)
		return r;
	if (c->n_fields < CSV_FIELDS_MAX) {
		c->ends[c->n_fields] = c->row.bytes;
		c->quoted[c->n_fields++] = is_quoted;
	} else {
		c->row.bytes = start;
	}
	r = fill(c);
	if (r <= 0)
		return r;
	char end = c->in[c->at++];
	if (end == c->delimiter)
		return 1;
	if (end == '\r' && (r = fill(c)) == 1 && c->in[c->at] == '\n')
		c->at++;
	return MIN(r, 0);
}

int csv_next(struct csv *c)
{
	int r;
	do {
		r = fill(c);
		if (r <= 0)
			return r;
		c->row_offset = c->from + c->at;
		buf_clear(&c->row);
		c->n_fields = 0;
		while ((r = read_field(c)) == 1)
			;
		if (r < 0)
			return r;
	} while (c->n_fields == 1 && c->row.bytes == 0 && !c->quoted[0]);
	return 1;
}

struct csv_field csv_field(const struct csv *c, size_t i)
{
	if (i >= c->n_fields)
		return (struct csv_field){.text = ""};
	size_t start = i > 0 ? c->ends[i - 1] : 0;
	return (struct csv_field){.text = buf_str(&c->row) + start,
		.bytes = c->ends[i] - start,
		.is_quoted = c->quoted[i]};
}

struct sample {
	const char *data;
	size_t bytes;
};

static ssize_t read_sample(void *arg, char *out, size_t bytes, uint64_t offset)
{
	const struct sample *s = arg;
	size_t n = offset < s->bytes ? MIN(bytes, s->bytes - (size_t)offset) : 0;
	if (n > 0)
		memcpy(out, s->data + offset, n);
	return (ssize_t)n;
}

/*
 * Return whether a field contains a quote but does not begin with one. That suggests that the row
 * was read with a wrong delimiter.
 */
static bool has_stray_quote(const struct csv *c)
{
	for (size_t i = 0; i < c->n_fields; i++) {
		struct csv_field f = csv_field(c, i);
		if (!f.is_quoted && f.bytes > 0 && memchr(f.text, '"', f.bytes))
			return true;
	}
	return false;
}

/*
 * Return how well @delimiter fits the sample: the share of rows with as many fields as the first
 * row, in thousandths; 0 if the first row has only one field.
 */
static size_t score(struct sample *sample, char delimiter, bool is_whole, size_t *n_fields)
{
	struct csv c;
	size_t n_rows = 0, n_equal = 0;
	csv_init(&c, read_sample, sample, delimiter);
	*n_fields = 0;
	while (n_rows < SNIFF_ROWS && csv_next(&c) == 1) {
		bool is_cut = !is_whole && n_rows > 0 && c.at == c.n_in &&
			c.from + c.n_in == sample->bytes;
		if (is_cut)
			break;
		if (n_rows == 0)
			*n_fields = c.n_fields;
		n_rows++;
		n_equal += c.n_fields == *n_fields && !has_stray_quote(&c);
	}
	csv_done(&c);
	return n_rows == 0 || *n_fields < 2 ? 0 : n_equal * 1000 / n_rows;
}

char csv_sniff(const char *sample, size_t bytes, bool is_whole)
{
	static const char candidates[] = {',', '\t', ';', '|'};
	struct sample s = {sample, bytes};
	size_t best = 0, best_fields = 0;
	char found = ',';
	for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
		size_t n_fields;
		size_t points = score(&s, candidates[i], is_whole, &n_fields);
		if (points > best || (points == best && points > 0 && n_fields > best_fields)) {
			best = points;
			best_fields = n_fields;
			found = candidates[i];
		}
	}
	return found;
}
