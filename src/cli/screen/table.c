/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/table.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

enum { COLUMNS_MAX = 16, CELL_BYTES = 1 << 16 };

/* Write the text of a cell to @cell, with terminal control characters escaped. */
static int write_cell(struct buf *cell, const char *text)
{
	buf_clear(cell);
	text = text ? text : "";
	return utf8_escape_terminal(
		cell, text, MIN(strlen(text), (size_t)CELL_BYTES / 8), UTF8_ONE_LINE);
}

/* If the cell has more than @width characters, cut it and append "…". */
static int cut(struct buf *cell, size_t width)
{
	size_t at = 0;
	int32_t c;
	if (utf8_count(buf_str(cell), cell->bytes) <= width)
		return 0;
	for (size_t n = 1; n < width && at < cell->bytes; n++)
		at += utf8_decode(cell->data + at, cell->bytes - at, &c);
	cell->bytes = at;
	return buf_add(cell, "…");
}

static int write_row(struct buf *out, struct buf *cell, const char *const *cells, size_t n_columns,
	const size_t *widths, size_t columns)
{
	size_t last = n_columns, at = 0;
	while (last > 0 && (!cells[last - 1] || !cells[last - 1][0]))
		last--;
	for (size_t i = 0; i < last; i++) {
		int r = write_cell(cell, cells[i]);
		if (r == 0 && i == n_columns - 1 && columns > 0)
			r = cut(cell, columns > at + 8 ? columns - at : 8);
		if (r == 0)
			r = buf_append(out, buf_str(cell), cell->bytes);
		size_t n = utf8_count(buf_str(cell), cell->bytes);
		for (size_t pad = n; r == 0 && i + 1 < last && pad < widths[i] + 2; pad++)
			r = buf_append(out, " ", 1);
		at += widths[i] + 2;
		if (r < 0)
			return r;
	}
	return buf_append(out, "\n", 1);
}

int table_write(
	struct buf *out, const char *const *cells, size_t n_columns, size_t n_rows, size_t columns)
{
	cleanup_buf struct buf cell = BUF_INIT(CELL_BYTES);
	size_t widths[COLUMNS_MAX] = {0};
	int r = n_columns == 0 || n_columns > COLUMNS_MAX ? -E2BIG : 0;
	for (size_t i = 0; r == 0 && i < n_columns * n_rows; i++) {
		r = write_cell(&cell, cells[i]);
		size_t *width = &widths[i % n_columns];
		*width = MAX(*width, utf8_count(buf_str(&cell), cell.bytes));
	}
	for (size_t i = 0; r == 0 && i < n_rows; i++)
		r = write_row(out, &cell, cells + i * n_columns, n_columns, widths, columns);
	return r;
}
