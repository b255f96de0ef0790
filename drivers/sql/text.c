/*
 * Format values as JSON numbers, table cells, and whole tables in text and HTML.
 *
 * A text table needs the display width of every cell. So text_cell() first truncates a cell and
 * escapes its control characters, which could move a terminal's cursor. Wide characters, such as
 * Chinese ones, take two columns, as wcwidth() tells. Numbers are aligned to the right. When rows
 * or columns were left out, a line below the table says how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "text.h"

#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { SHOWN_BYTES_MAX = 4096, BLOB_SHOWN_BYTES = 16, HTML_COLUMNS = 200, TABLE_COLUMNS = 200 };

void text_real(struct buf *out, double real)
{
	char number[32];
	if (!isfinite(real)) {
		buf_add(out, real > 0 ? "Infinity" : "-Infinity");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(number, sizeof number, "%.*g", digits, real);
		if (strtod(number, NULL) == real)
			break;
	}
	buf_addf(out, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

void text_json_real(struct buf *out, double real)
{
	const char *quote = isfinite(real) ? "" : "\"";
	buf_add(out, quote);
	text_real(out, real);
	buf_add(out, quote);
}

static int char_width(int32_t c)
{
	int n = c < 0x80 ? 1 : wcwidth((wchar_t)c);
	return n < 0 ? 1 : n;
}

size_t text_width(const char *text)
{
	size_t width = 0, bytes = strlen(text);
	for (size_t at = 0; at < bytes;) {
		int32_t c;
		at += utf8_decode(text + at, bytes - at, &c);
		width += (size_t)char_width(c);
	}
	return width;
}

/* Append @text, with characters escaped that a terminal would interpret. */
static void put_safe(struct buf *out, const char *text, size_t bytes)
{
	while (bytes > 0) {
		size_t n = 0;
		while (n < bytes && text[n] != '\n' && text[n] != '\t' && text[n] != '\r')
			n++;
		(void)utf8_escape_terminal(out, text, n, UTF8_ONE_LINE);
		if (n < bytes)
			buf_addf(out, "\\%c", text[n] == '\n' ? 'n' : text[n] == '\t' ? 't' : 'r');
		n += n < bytes;
		text += n;
		bytes -= n;
	}
}

/*
 * Append @text, truncated to @columns columns. @is_more: the text is already the start of a longer
 * one, so it always gets a "…".
 */
static void put_cut(struct buf *out, const char *text, size_t columns, bool is_more)
{
	size_t width = text_width(text), bytes = strlen(text), at = 0, filled = 0;
	if (width <= columns && !is_more) {
		buf_append(out, text, bytes);
		return;
	}
	while (at < bytes) {
		int32_t c;
		size_t n = utf8_decode(text + at, bytes - at, &c);
		if (filled + (size_t)char_width(c) + 1 > columns)
			break;
		filled += (size_t)char_width(c);
		at += n;
	}
	buf_append(out, text, at);
	buf_add(out, "…");
}

/* Append the text in @safe, truncated as by put_cut(). An error of @safe becomes one of @out. */
static void put_safe_cut(struct buf *out, const struct buf *safe, size_t columns, bool is_more)
{
	if (buf_error(safe) < 0)
		buf_fail(out, buf_error(safe));
	put_cut(out, buf_str(safe), columns, is_more);
}

static void put_text(struct buf *out, const struct cell *cell, size_t columns)
{
	cleanup_buf struct buf safe = BUF_INIT(SHOWN_BYTES_MAX);
	bool is_more = cell->bytes > cell->n_kept;
	size_t n = is_more ? utf8_cut(cell->data, cell->n_kept, cell->n_kept) : cell->n_kept;
	if (cell->n_kept == 4 && memcmp(cell->data, "NULL", 4) == 0)
		buf_add(&safe, "'NULL'");
	else
		put_safe(&safe, cell->data, n);
	put_safe_cut(out, &safe, columns, is_more);
}

static void put_blob(struct buf *out, const struct cell *cell, size_t columns)
{
	cleanup_buf struct buf hex = BUF_INIT(SHOWN_BYTES_MAX);
	size_t n = MIN(cell->n_kept, (size_t)BLOB_SHOWN_BYTES);
	buf_add(&hex, "X'");
	for (size_t i = 0; i < n; i++)
		buf_addf(&hex, "%02X", (unsigned char)cell->data[i]);
	if (n < cell->bytes)
		buf_addf(&hex, "…' (%" PRIu64 " bytes)", cell->bytes);
	else
		buf_add(&hex, "'");
	put_cut(out, buf_str(&hex), columns, false);
}

void text_cell(struct buf *out, const struct cell *cell, size_t columns)
{
	switch (cell->type) {
	case CELL_NULL:
		buf_add(out, "NULL");
		break;
	case CELL_INTEGER:
		buf_addf(out, "%" PRId64, cell->integer);
		break;
	case CELL_REAL:
		text_real(out, cell->real);
		break;
	case CELL_TEXT:
		put_text(out, cell, columns);
		break;
	case CELL_BLOB:
		put_blob(out, cell, columns);
		break;
	}
}

/* ---- tables ---- */

struct layout {
	size_t *widths;
	size_t limit; /* greatest width of a cell */
};

static void put_name(struct buf *out, const char *name, size_t columns)
{
	cleanup_buf struct buf safe = BUF_INIT(SHOWN_BYTES_MAX);
	size_t bytes = strlen(name), n = utf8_cut(name, bytes, CELL_BYTES);
	put_safe(&safe, name, n);
	put_safe_cut(out, &safe, columns, n < bytes);
}

static size_t measure(const struct grid *grid, struct layout *l)
{
	size_t all = 1;
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		put_name(&text, grid->names[i], l->limit);
		l->widths[i] = text_width(buf_str(&text));
		for (size_t k = 0; k < grid->n_head + grid->n_tail; k++) {
			buf_clear(&text);
			text_cell(&text, &grid->rows[k][i], l->limit);
			l->widths[i] = MAX(l->widths[i], text_width(buf_str(&text)));
		}
		all += l->widths[i] + 3;
	}
	return all;
}

static void put_line(struct buf *out, const struct grid *grid, const struct layout *l,
	const char *const parts[3])
{
	for (size_t i = 0; i < grid->n_columns; i++) {
		buf_add(out, parts[i > 0]);
		for (size_t k = 0; k < l->widths[i] + 2; k++)
			buf_add(out, "─");
	}
	buf_add(out, parts[2]);
}

static void put_padded(struct buf *out, const struct buf *text, size_t width, bool is_right)
{
	int n = (int)(width - MIN(width, text_width(buf_str(text))));
	if (buf_error(text) < 0)
		buf_fail(out, buf_error(text));
	buf_addf(out, " %*s%s%*s │", is_right ? n : 0, "", buf_str(text), is_right ? 0 : n, "");
}

static bool is_number(const struct cell *cell)
{
	return cell->type == CELL_INTEGER || cell->type == CELL_REAL;
}

static void put_row(struct buf *out, const struct grid *grid, const struct layout *l, size_t k)
{
	buf_add(out, "│");
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		const struct cell *cell = &grid->rows[k][i];
		text_cell(&text, cell, l->limit);
		put_padded(out, &text, l->widths[i], is_number(cell));
	}
	buf_add(out, "\n");
}

static void put_gap(struct buf *out, const struct grid *grid, const struct layout *l)
{
	cleanup_buf struct buf dots = BUF_INIT(8);
	buf_add(&dots, "…");
	buf_add(out, "│");
	for (size_t i = 0; i < grid->n_columns; i++)
		put_padded(out, &dots, l->widths[i], false);
	buf_add(out, "\n");
}

static void put_head(struct buf *out, const struct grid *grid, const struct layout *l)
{
	static const char *const top[] = {"┌", "┬", "┐\n"}, *const below[] = {"├", "┼", "┤\n"};
	put_line(out, grid, l, top);
	buf_add(out, "│");
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf name = BUF_INIT(SHOWN_BYTES_MAX);
		put_name(&name, grid->names[i], l->limit);
		put_padded(out, &name, l->widths[i], false);
	}
	buf_add(out, "\n");
	put_line(out, grid, l, below);
}

/* Write the lines below the table that say what the table does not show. */
static void put_foot(struct buf *out, const struct grid *grid)
{
	uint64_t n_shown = grid->n_head + grid->n_tail;
	if (grid->n_rows == 0)
		buf_add(out, "\n0 rows");
	else if (n_shown < grid->n_rows)
		buf_addf(out, "\n… %" PRIu64 " rows, %" PRIu64 " shown", grid->n_rows, n_shown);
	if (grid->n_columns < grid->n_all_columns)
		buf_addf(out, "\n… %zu columns, %zu shown", grid->n_all_columns, grid->n_columns);
}

int text_table(struct buf *out, const struct grid *grid)
{
	static const char *const bottom[] = {"└", "┴", "┘"};
	static const size_t limits[] = {CELL_COLUMNS, 40, 24, 12};
	struct layout l = {.widths = calloc(grid->n_columns + 1, sizeof *l.widths)};
	if (!l.widths)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		l.limit = limits[i];
		if (measure(grid, &l) <= TABLE_COLUMNS)
			break;
	}
	put_head(out, grid, &l);
	for (size_t k = 0; k < grid->n_head + grid->n_tail; k++) {
		if (k == grid->n_head)
			put_gap(out, grid, &l);
		put_row(out, grid, &l, k);
	}
	put_line(out, grid, &l, bottom);
	put_foot(out, grid);
	free(l.widths);
	return buf_error(out);
}

static void put_markup(struct buf *out, const struct buf *text)
{
	if (buf_error(text) < 0)
		buf_fail(out, buf_error(text));
	for (const char *at = buf_str(text); *at; at++) {
		const char *entity = *at == '&' ? "&amp;"
			: *at == '<'		? "&lt;"
			: *at == '>'		? "&gt;"
			: *at == '"'		? "&quot;"
			: *at == '\''		? "&#39;"
						: NULL;
		if (entity)
			buf_add(out, entity);
		else
			buf_append(out, at, 1);
	}
}

static void put_html_row(struct buf *out, const struct grid *grid, size_t k)
{
	buf_add(out, "<tr>");
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		const struct cell *cell = &grid->rows[k][i];
		bool is_null = cell->type == CELL_NULL;
		text_cell(&text, cell, HTML_COLUMNS);
		buf_add(out,
			is_number(cell)	  ? "<td style=\"text-align:right\">"
				: is_null ? "<td><i>"
					  : "<td>");
		put_markup(out, &text);
		buf_add(out, is_null ? "</i></td>" : "</td>");
	}
	buf_add(out, "</tr>\n");
}

int text_html(struct buf *out, const struct grid *grid)
{
	buf_add(out, "<table>\n<thead><tr>");
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf name = BUF_INIT(SHOWN_BYTES_MAX);
		put_name(&name, grid->names[i], HTML_COLUMNS);
		buf_add(out, "<th>");
		put_markup(out, &name);
		buf_add(out, "</th>");
	}
	buf_add(out, "</tr></thead>\n<tbody>\n");
	for (size_t k = 0; k < grid->n_head + grid->n_tail; k++) {
		if (k == grid->n_head)
			buf_addf(out, "<tr><td colspan=\"%zu\">…</td></tr>\n", grid->n_columns);
		put_html_row(out, grid, k);
	}
	buf_add(out, "</tbody>\n</table>");
	if (grid->n_head + grid->n_tail < grid->n_rows)
		buf_addf(out, "\n<p>%" PRIu64 " rows</p>", grid->n_rows);
	return buf_error(out);
}
