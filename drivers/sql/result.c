/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include "base/base64.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * JSON_PARTS_MAX: the engine accepts at most 250,000 members, elements and containers in a JSON
 * text.
 */
enum { JSON_HEAD_MAX_BYTES = 1 << 20, JSON_PARTS_MAX = 240000 };

void result_done(struct result *r)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		if (r->names)
			free(r->names[i]);
		if (r->types)
			free(r->types[i]);
	}
	free(r->names);
	free(r->types);
	free(r->seen);
	free(r->cells);
	buf_done(&r->json);
	*r = (struct result){0};
}

int result_begin(struct result *r, sqlite3_stmt *stmt, size_t bytes_max)
{
	size_t n = (size_t)sqlite3_column_count(stmt);
	*r = (struct result){.n_columns = n,
		.n_shown = MIN(n, (size_t)CELL_COLUMNS),
		.bytes_max = bytes_max,
		.json = BUF_INIT(bytes_max / 2)};
	r->names = calloc(n, sizeof *r->names);
	r->types = calloc(n, sizeof *r->types);
	r->seen = calloc(n, sizeof *r->seen);
	r->cells = calloc((RESULT_ROWS + RESULT_TAIL) * r->n_shown, sizeof *r->cells);
	if (!r->names || !r->types || !r->seen || !r->cells)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(stmt, (int)i);
		const char *type = sqlite3_column_decltype(stmt, (int)i);
		r->names[i] = strdup(name ? name : "");
		r->types[i] = type ? strdup(type) : NULL;
		if (!r->names[i] || (type && !r->types[i]))
			return -ENOMEM;
	}
	return 0;
}

static enum cell_type type_of(sqlite3_stmt *stmt, int i)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		return CELL_INTEGER;
	case SQLITE_FLOAT:
		return CELL_REAL;
	case SQLITE_TEXT:
		return CELL_TEXT;
	case SQLITE_BLOB:
		return CELL_BLOB;
	default:
		return CELL_NULL;
	}
}

static void keep_cell(struct cell *cell, sqlite3_stmt *stmt, int i)
{
	cell->type = type_of(stmt, i);
	if (cell->type == CELL_INTEGER) {
		cell->integer = sqlite3_column_int64(stmt, i);
	} else if (cell->type == CELL_REAL) {
		cell->real = sqlite3_column_double(stmt, i);
	} else if (cell->type != CELL_NULL) {
		const void *data = sqlite3_column_blob(stmt, i);
		cell->bytes = (uint64_t)sqlite3_column_bytes(stmt, i);
		cell->n_kept = (uint16_t)MIN(cell->bytes, (uint64_t)CELL_BYTES);
		if (cell->n_kept > 0)
			memcpy(cell->data, data, cell->n_kept);
	}
}

static void put_blob(struct buf *json, const void *data, size_t bytes)
{
	buf_add(json, "{\"base64\":\"");
	base64_write(json, data, bytes);
	buf_add(json, "\"}");
}

static void put_value(struct result *r, sqlite3_stmt *stmt, int i)
{
	enum cell_type type = type_of(stmt, i);
	if (type == CELL_INTEGER) {
		buf_addf(&r->json, "%" PRId64, (int64_t)sqlite3_column_int64(stmt, i));
		return;
	}
	if (type == CELL_REAL) {
		text_json_real(&r->json, sqlite3_column_double(stmt, i));
		return;
	}
	if (type == CELL_NULL) {
		buf_add(&r->json, "null");
		return;
	}
	const char *data = sqlite3_column_blob(stmt, i);
	size_t bytes = (size_t)sqlite3_column_bytes(stmt, i);
	size_t n = MIN(bytes, (size_t)RESULT_JSON_CELL_BYTES);
	if (n < bytes && type == CELL_TEXT)
		n = utf8_cut(data, bytes, n);
	r->is_cut = r->is_cut || n < bytes;
	r->has_no_utf8 = r->has_no_utf8 || (type == CELL_TEXT && !utf8_is_valid(data, n));
	if (type == CELL_TEXT) {
		(void)utf8_quote(&r->json, data, n);
		return;
	}
	/* A blob is written as a JSON object, which is one more part. */
	r->n_parts++;
	put_blob(&r->json, data, n);
}

/*
 * Append a row as JSON, as a whole or not at all. After the first row that does not fit, no more
 * rows are appended.
 */
static int put_row(struct result *r, sqlite3_stmt *stmt)
{
	size_t start = r->json.bytes;
	r->n_parts += 1 + r->n_columns;
	if (r->n_parts > JSON_PARTS_MAX)
		buf_fail(&r->json, -E2BIG);
	buf_add(&r->json, start > 0 ? ",[" : "[");
	for (size_t i = 0; buf_error(&r->json) == 0 && i < r->n_columns; i++) {
		buf_add(&r->json, i > 0 ? "," : "");
		put_value(r, stmt, (int)i);
	}
	buf_add(&r->json, "]");
	int n = buf_error(&r->json);
	if (n < 0) {
		buf_cut(&r->json, start);
		r->is_cut = true;
		/* Let no later row fit. */
		r->json.max_bytes = start;
	}
	return n == -ENOMEM ? n : 0;
}

int result_row(struct result *r, sqlite3_stmt *stmt)
{
	size_t slot = r->n_rows < RESULT_ROWS
		? (size_t)r->n_rows
		: RESULT_ROWS + (size_t)((r->n_rows - RESULT_ROWS) % RESULT_TAIL);
	for (size_t i = 0; i < r->n_shown; i++)
		keep_cell(&r->cells[slot * r->n_shown + i], stmt, (int)i);
	bool is_json_open = r->json.max_bytes > r->json.bytes;
	for (size_t i = 0; is_json_open && i < r->n_columns; i++)
		r->seen[i] |= 1u << type_of(stmt, (int)i);
	r->n_rows++;
	if (!is_json_open) {
		r->is_cut = true;
		return 0;
	}
	return put_row(r, stmt);
}

/* Return the declared type of a column, or, if it has none, the type that all its values have. */
static const char *type_name(const struct result *r, size_t i)
{
	unsigned seen = r->seen[i] & ~(1u << CELL_NULL);
	if (r->types[i])
		return r->types[i];
	if (seen == 1u << CELL_INTEGER)
		return "INTEGER";
	if (seen == 1u << CELL_REAL || seen == (1u << CELL_REAL | 1u << CELL_INTEGER))
		return "REAL";
	if (seen == 1u << CELL_TEXT)
		return "TEXT";
	if (seen == 1u << CELL_BLOB)
		return "BLOB";
	return seen ? "ANY" : "NULL";
}

static void write_json(const struct result *r, struct buf *out)
{
	cleanup_buf struct buf columns = BUF_INIT(JSON_HEAD_MAX_BYTES);
	for (size_t i = 0; i < r->n_columns; i++) {
		const char *type = type_name(r, i);
		buf_add(&columns, i > 0 ? ",{\"name\":" : "{\"name\":");
		(void)utf8_quote(&columns, r->names[i], strlen(r->names[i]));
		buf_add(&columns, ",\"type\":");
		(void)utf8_quote(&columns, type, strlen(type));
		buf_add(&columns, "}");
	}
	if (buf_error(&columns) < 0)
		buf_fail(out, buf_error(&columns));
	buf_addf(out, "{\"columns\":[%s],\"rows\":[", buf_str(&columns));
	buf_append(out, buf_str(&r->json), r->json.bytes);
	buf_addf(out, "],\"row_count\":%" PRIu64 ",\"truncated\":%s}", r->n_rows,
		r->is_cut ? "true" : "false");
}

/*
 * List the rows to draw. Up to RESULT_ROWS rows are all drawn. Of more rows, only RESULT_ROWS are
 * drawn: the last RESULT_TAIL of the result, and before them the first ones.
 */
static void list_rows(const struct result *r, const struct cell **rows, struct grid *grid)
{
	uint64_t n_ring = r->n_rows > RESULT_ROWS ? r->n_rows - RESULT_ROWS : 0;
	grid->n_head = (size_t)MIN(r->n_rows, (uint64_t)RESULT_ROWS);
	if (n_ring > 0)
		grid->n_head = RESULT_ROWS - RESULT_TAIL;
	for (size_t i = 0; i < grid->n_head; i++)
		rows[i] = &r->cells[i * r->n_shown];
	grid->n_tail = n_ring > 0 ? RESULT_TAIL : 0;
	for (size_t i = 0; i < grid->n_tail; i++) {
		uint64_t row = r->n_rows - RESULT_TAIL + i;
		size_t slot = row < RESULT_ROWS
			? (size_t)row
			: RESULT_ROWS + (size_t)((row - RESULT_ROWS) % RESULT_TAIL);
		rows[grid->n_head + i] = &r->cells[slot * r->n_shown];
	}
}

static void put_string(struct buf *out, const char *name, const struct buf *text)
{
	buf_addf(out, "\"%s\":", name);
	(void)utf8_quote(out, buf_str(text), text->bytes);
}

int result_write(const struct result *r, struct buf *out)
{
	const struct cell *rows[RESULT_ROWS + RESULT_TAIL];
	struct grid grid = {.n_columns = r->n_shown,
		.n_all_columns = r->n_columns,
		.names = (const char *const *)r->names,
		.rows = rows,
		.n_rows = r->n_rows};
	cleanup_buf struct buf text = BUF_INIT(r->bytes_max / 4);
	cleanup_buf struct buf html = BUF_INIT(r->bytes_max / 4);
	list_rows(r, rows, &grid);
	if (text_table(&text, &grid) < 0) {
		buf_clear(&text);
		buf_addf(&text, "%" PRIu64 " rows, too wide to be shown", r->n_rows);
	}
	buf_add(out, "{");
	put_string(out, "text/plain", &text);
	buf_add(out, ",\"application/json\":");
	write_json(r, out);
	if (text_html(&html, &grid) == 0) {
		buf_add(out, ",");
		put_string(out, "text/html", &html);
	}
	buf_add(out, "}");
	return buf_error(out);
}
