/* SPDX-License-Identifier: Apache-2.0 */
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

static int put_escaped(struct buf *out, unsigned char c)
{
	static const char letters[] = "btn\0fr";
	if (c >= '\b' && c <= '\r' && letters[c - '\b'])
		return buf_addf(out, "\\%c", letters[c - '\b']);
	if (c == '"' || c == '\\')
		return buf_addf(out, "\\%c", c);
	return buf_addf(out, "\\u%04x", c);
}

int text_json(struct buf *out, const char *text, size_t bytes)
{
	int r = buf_add(out, "\"");
	for (size_t at = 0; r == 0 && at < bytes;) {
		size_t n = at;
		int32_t c = 0;
		size_t taken = 1;
		while (n < bytes && (unsigned char)text[n] >= 0x20 && text[n] != '"' &&
			text[n] != '\\') {
			taken = utf8_decode(text + n, bytes - n, &c);
			if (c < 0)
				break;
			n += taken;
		}
		if (n > at)
			r = buf_append(out, text + at, n - at);
		at = n;
		if (r < 0 || at == bytes)
			break;
		if (c < 0) {
			r = buf_add(out, "\xef\xbf\xbd");
			at += taken;
		} else {
			r = put_escaped(out, (unsigned char)text[at++]);
		}
	}
	return r < 0 ? r : buf_add(out, "\"");
}

int text_real(struct buf *out, double real)
{
	char number[32];
	if (!isfinite(real))
		return buf_add(out, real > 0 ? "Infinity" : "-Infinity");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(number, sizeof number, "%.*g", digits, real);
		if (strtod(number, NULL) == real)
			break;
	}
	return buf_addf(out, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

int text_json_real(struct buf *out, double real)
{
	if (isfinite(real))
		return text_real(out, real);
	return buf_add(out, real > 0 ? "\"Infinity\"" : "\"-Infinity\"");
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

/* Escape into @out what a terminal would obey. */
static int put_safe(struct buf *out, const char *text, size_t bytes)
{
	int r = 0;
	while (r == 0 && bytes > 0) {
		size_t n = 0;
		while (n < bytes && text[n] != '\n' && text[n] != '\t' && text[n] != '\r')
			n++;
		if (n > 0)
			r = utf8_escape_terminal(out, text, n, UTF8_ONE_LINE);
		if (r == 0 && n < bytes)
			r = buf_addf(out, "\\%c",
				text[n] == '\n'		  ? 'n'
					: text[n] == '\t' ? 't'
							  : 'r');
		n += n < bytes;
		text += n;
		bytes -= n;
	}
	return r;
}

/* Append @text, cut so that it fills at most @columns; @is_more: it was cut before. */
static int put_cut(struct buf *out, const char *text, size_t columns, bool is_more)
{
	size_t width = text_width(text), bytes = strlen(text), at = 0, filled = 0;
	if (width <= columns && !is_more)
		return buf_append(out, text, bytes);
	while (at < bytes) {
		int32_t c;
		size_t n = utf8_decode(text + at, bytes - at, &c);
		if (filled + (size_t)char_width(c) + 1 > columns)
			break;
		filled += (size_t)char_width(c);
		at += n;
	}
	int r = buf_append(out, text, at);
	return r < 0 ? r : buf_add(out, "…");
}

static int put_text(struct buf *out, const struct cell *cell, size_t columns)
{
	cleanup_buf struct buf safe = BUF_INIT(SHOWN_BYTES_MAX);
	bool is_more = cell->bytes > cell->n_kept;
	size_t n = is_more ? utf8_cut(cell->data, cell->n_kept, cell->n_kept) : cell->n_kept;
	bool is_null_word = cell->n_kept == 4 && memcmp(cell->data, "NULL", 4) == 0;
	int r = is_null_word ? buf_add(&safe, "'NULL'") : put_safe(&safe, cell->data, n);
	return r < 0 ? r : put_cut(out, buf_str(&safe), columns, is_more);
}

static int put_blob(struct buf *out, const struct cell *cell, size_t columns)
{
	cleanup_buf struct buf hex = BUF_INIT(SHOWN_BYTES_MAX);
	size_t n = MIN(cell->n_kept, (size_t)BLOB_SHOWN_BYTES);
	(void)buf_add(&hex, "X'");
	for (size_t i = 0; i < n; i++)
		(void)buf_addf(&hex, "%02X", (unsigned char)cell->data[i]);
	if (n < cell->bytes)
		(void)buf_addf(&hex, "…' (%" PRIu64 " bytes)", cell->bytes);
	else
		(void)buf_add(&hex, "'");
	return put_cut(out, buf_str(&hex), columns, false);
}

int text_cell(struct buf *out, const struct cell *cell, size_t columns)
{
	switch (cell->type) {
	case CELL_NULL:
		return buf_add(out, "NULL");
	case CELL_INTEGER:
		return buf_addf(out, "%" PRId64, cell->integer);
	case CELL_REAL:
		return text_real(out, cell->real);
	case CELL_TEXT:
		return put_text(out, cell, columns);
	case CELL_BLOB:
		return put_blob(out, cell, columns);
	}
	return 0;
}

/* ---- tables ---- */

struct layout {
	size_t *widths;
	size_t limit; /* of a cell */
};

static int put_name(struct buf *out, const char *name, size_t columns)
{
	cleanup_buf struct buf safe = BUF_INIT(SHOWN_BYTES_MAX);
	size_t bytes = strlen(name), n = utf8_cut(name, bytes, CELL_BYTES);
	int r = put_safe(&safe, name, n);
	return r < 0 ? r : put_cut(out, buf_str(&safe), columns, n < bytes);
}

static size_t measure(const struct grid *grid, struct layout *l)
{
	size_t all = 1;
	for (size_t i = 0; i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		(void)put_name(&text, grid->names[i], l->limit);
		l->widths[i] = text_width(buf_str(&text));
		for (size_t k = 0; k < grid->n_head + grid->n_tail; k++) {
			buf_clear(&text);
			(void)text_cell(&text, &grid->rows[k][i], l->limit);
			l->widths[i] = MAX(l->widths[i], text_width(buf_str(&text)));
		}
		all += l->widths[i] + 3;
	}
	return all;
}

static int put_line(struct buf *out, const struct grid *grid, const struct layout *l,
	const char *const parts[3])
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++) {
		r = buf_add(out, parts[i > 0]);
		for (size_t k = 0; r == 0 && k < l->widths[i] + 2; k++)
			r = buf_add(out, "─");
	}
	return r < 0 ? r : buf_add(out, parts[2]);
}

static int put_padded(struct buf *out, const char *text, size_t width, bool is_right)
{
	int n = (int)(width - MIN(width, text_width(text)));
	return buf_addf(out, " %*s%s%*s │", is_right ? n : 0, "", text, is_right ? 0 : n, "");
}

static int put_row(struct buf *out, const struct grid *grid, const struct layout *l, size_t k)
{
	int r = buf_add(out, "│");
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		const struct cell *cell = &grid->rows[k][i];
		r = text_cell(&text, cell, l->limit);
		if (r == 0)
			r = put_padded(out, buf_str(&text), l->widths[i],
				cell->type == CELL_INTEGER || cell->type == CELL_REAL);
	}
	return r < 0 ? r : buf_add(out, "\n");
}

static int put_gap(struct buf *out, const struct grid *grid, const struct layout *l)
{
	int r = buf_add(out, "│");
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++)
		r = put_padded(out, "…", l->widths[i], false);
	return r < 0 ? r : buf_add(out, "\n");
}

static int put_head(struct buf *out, const struct grid *grid, const struct layout *l)
{
	static const char *const top[] = {"┌", "┬", "┐\n"}, *const below[] = {"├", "┼", "┤\n"};
	int r = put_line(out, grid, l, top);
	if (r == 0)
		r = buf_add(out, "│");
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++) {
		cleanup_buf struct buf name = BUF_INIT(SHOWN_BYTES_MAX);
		r = put_name(&name, grid->names[i], l->limit);
		if (r == 0)
			r = put_padded(out, buf_str(&name), l->widths[i], false);
	}
	if (r == 0)
		r = buf_add(out, "\n");
	return r < 0 ? r : put_line(out, grid, l, below);
}

/* What is said below: only what the table does not show. */
static int put_foot(struct buf *out, const struct grid *grid)
{
	uint64_t n_shown = grid->n_head + grid->n_tail;
	int r = 0;
	if (grid->n_rows == 0)
		r = buf_add(out, "\n0 rows");
	else if (n_shown < grid->n_rows)
		r = buf_addf(out, "\n… %" PRIu64 " rows, %" PRIu64 " shown", grid->n_rows, n_shown);
	if (r == 0 && grid->n_columns < grid->n_all_columns)
		r = buf_addf(
			out, "\n… %zu columns, %zu shown", grid->n_all_columns, grid->n_columns);
	return r;
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
	int r = put_head(out, grid, &l);
	for (size_t k = 0; r == 0 && k < grid->n_head + grid->n_tail; k++) {
		if (k == grid->n_head)
			r = put_gap(out, grid, &l);
		if (r == 0)
			r = put_row(out, grid, &l, k);
	}
	if (r == 0)
		r = put_line(out, grid, &l, bottom);
	free(l.widths);
	return r < 0 ? r : put_foot(out, grid);
}

static int put_markup(struct buf *out, const char *text)
{
	int r = 0;
	for (; r == 0 && *text; text++)
		r = *text == '&'	? buf_add(out, "&amp;")
			: *text == '<'	? buf_add(out, "&lt;")
			: *text == '>'	? buf_add(out, "&gt;")
			: *text == '"'	? buf_add(out, "&quot;")
			: *text == '\'' ? buf_add(out, "&#39;")
					: buf_append(out, text, 1);
	return r;
}

static int put_html_row(struct buf *out, const struct grid *grid, size_t k)
{
	int r = buf_add(out, "<tr>");
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++) {
		cleanup_buf struct buf text = BUF_INIT(SHOWN_BYTES_MAX);
		const struct cell *cell = &grid->rows[k][i];
		bool is_number = cell->type == CELL_INTEGER || cell->type == CELL_REAL;
		r = text_cell(&text, cell, HTML_COLUMNS);
		if (r == 0)
			r = buf_add(out,
				is_number ? "<td style=\"text-align:right\">"
					: cell->type == CELL_NULL ? "<td><i>"
								  : "<td>");
		if (r == 0)
			r = put_markup(out, buf_str(&text));
		if (r == 0)
			r = buf_add(out, cell->type == CELL_NULL ? "</i></td>" : "</td>");
	}
	return r < 0 ? r : buf_add(out, "</tr>\n");
}

int text_html(struct buf *out, const struct grid *grid)
{
	int r = buf_add(out, "<table>\n<thead><tr>");
	for (size_t i = 0; r == 0 && i < grid->n_columns; i++) {
		cleanup_buf struct buf name = BUF_INIT(SHOWN_BYTES_MAX);
		r = put_name(&name, grid->names[i], HTML_COLUMNS);
		if (r == 0)
			r = buf_add(out, "<th>");
		if (r == 0)
			r = put_markup(out, buf_str(&name));
		if (r == 0)
			r = buf_add(out, "</th>");
	}
	if (r == 0)
		r = buf_add(out, "</tr></thead>\n<tbody>\n");
	for (size_t k = 0; r == 0 && k < grid->n_head + grid->n_tail; k++) {
		if (k == grid->n_head)
			r = buf_addf(out, "<tr><td colspan=\"%zu\">…</td></tr>\n", grid->n_columns);
		if (r == 0)
			r = put_html_row(out, grid, k);
	}
	if (r == 0)
		r = buf_add(out, "</tbody>\n</table>");
	if (r == 0 && grid->n_head + grid->n_tail < grid->n_rows)
		r = buf_addf(out, "\n<p>%" PRIu64 " rows</p>", grid->n_rows);
	return r;
}
