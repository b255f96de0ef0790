/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/grid.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/screen/table.h"
#include "cli/screen/term.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUT_MAX_BYTES = 64 << 20 };

struct grid grid_new(const char *const *heads, size_t n_columns, size_t n_rows)
{
	struct grid c = {.n_max = (n_rows + 1) * n_columns, .n_columns = n_columns};
	c.cell = xcalloc(c.n_max, sizeof *c.cell);
	for (size_t i = 0; i < n_columns; i++)
		grid_add(&c, heads[i]);
	return c;
}

void grid_addf(struct grid *c, const char *format, ...)
{
	va_list args;
	if (c->n == c->n_max)
		return;
	va_start(args, format);
	if (vasprintf(&c->cell[c->n], format, args) < 0)
		c->cell[c->n] = NULL;
	va_end(args);
	c->n++;
}

void grid_add_bytes(struct grid *c, const char *text, size_t bytes)
{
	grid_addf(c, "%.*s", (int)bytes, text);
}

void grid_add(struct grid *c, const char *text)
{
	grid_add_bytes(c, text, strlen(text));
}

void grid_add_time(struct grid *c, const json_t *ms)
{
	char text[32] = "";
	time_t seconds = (time_t)(json_integer_value(ms) / 1000);
	struct tm tm;
	if (json_is_integer(ms) && gmtime_r(&seconds, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	grid_add(c, text);
}

int grid_print(struct grid *c, FILE *to, size_t n_columns_max)
{
	cleanup_buf struct buf out = BUF_INIT(OUT_MAX_BYTES);
	int r = table_write(&out, (const char *const *)c->cell, c->n_columns, c->n / c->n_columns,
		n_columns_max);
	for (size_t i = 0; i < c->n; i++)
		free(c->cell[i]);
	free(c->cell);
	return r < 0 || fwrite(buf_str(&out), 1, out.bytes, to) != out.bytes;
}

size_t grid_width(FILE *to)
{
	int fd = fileno(to);
	return term_is(fd) ? (size_t)term_columns(fd) : 0;
}
