/* Files of delimited text: rows, columns, and places that lead back. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "column.h"
#include "index.h"

#include <string.h>

struct memory {
	const uint8_t *data;
	size_t bytes, step;
};

static ssize_t read_memory(void *arg, char *out, size_t bytes, uint64_t offset)
{
	const struct memory *m = arg;
	size_t n = offset < m->bytes ? MIN(MIN(bytes, m->step), m->bytes - (size_t)offset) : 0;
	if (n > 0)
		memcpy(out, m->data + offset, n);
	return (ssize_t)n;
}

/* The rows do not depend on how the bytes arrive; each can be gone back to. */
static void check_rows(struct memory *m, char delimiter)
{
	struct memory small = {m->data, m->bytes, 3};
	struct csv a, b, again;
	size_t n_rows = 0;
	int r;
	csv_init(&a, read_memory, m, delimiter);
	csv_init(&b, read_memory, &small, delimiter);
	csv_init(&again, read_memory, m, delimiter);
	while ((r = csv_next(&a)) == 1) {
		MUST(csv_next(&b) == 1);
		MUST(a.n_fields >= 1 && a.n_fields <= CSV_FIELDS_MAX && a.n_fields == b.n_fields);
		MUST(a.row.bytes <= m->bytes && a.row.bytes == b.row.bytes);
		MUST(a.row_offset == b.row_offset && a.row_offset < m->bytes);
		size_t bytes = 0;
		for (size_t i = 0; i < a.n_fields; i++)
			bytes += csv_field(&a, i).bytes;
		MUST(bytes == a.row.bytes);
		csv_seek(&again, a.row_offset);
		MUST(csv_next(&again) == 1 && again.row_offset == a.row_offset);
		MUST(again.row.bytes == a.row.bytes);
		MUST(bytes == 0 || memcmp(again.row.data, a.row.data, bytes) == 0);
		MUST(++n_rows <= m->bytes);
	}
	MUST(r == 0 && csv_next(&b) == 0);
	csv_done(&a);
	csv_done(&b);
	csv_done(&again);
}

static void check_columns(struct memory *m)
{
	const struct dialect guess = {0};
	struct columns c = {0};
	struct csv rows;
	if (columns_find(&c, read_memory, m, &guess) < 0)
		return;
	MUST(c.n >= 1 && c.n <= CSV_FIELDS_MAX && c.row_bytes > 0 && c.rows_offset <= m->bytes);
	for (size_t i = 0; i < c.n; i++)
		MUST(c.names[i][0] && (i == 0 || strcmp(c.names[i], c.names[i - 1]) != 0));
	csv_init(&rows, read_memory, m, c.delimiter);
	csv_seek(&rows, c.rows_offset);
	while (csv_next(&rows) == 1)
		for (size_t i = 0; i < rows.n_fields; i++) {
			int64_t integer;
			double real;
			struct csv_field f = csv_field(&rows, i);
			enum column_type type = column_parse(f.text, f.bytes, &integer, &real);
			uint32_t hash = index_hash_text(f.text, f.bytes);
			MUST(type != COLUMN_INTEGER || hash == index_hash_real((double)integer));
			MUST(type != COLUMN_REAL || hash == index_hash_real(real));
		}
	csv_done(&rows);
	columns_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct memory m = {data, bytes, 4096};
	char found = csv_sniff((const char *)data, bytes, true);
	MUST(found == ',' || found == ';' || found == '\t' || found == '|');
	check_rows(&m, ',');
	check_rows(&m, found);
	check_columns(&m);
	return 0;
}
