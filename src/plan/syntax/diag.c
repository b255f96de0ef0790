/* Add diagnostics, and print them as text and as JSON. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/diag.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

enum { SHOWN_MAX_BYTES = 160 }; /* how many bytes of a source line are shown at most */

void source_place(const struct source *src, uint32_t offset, uint32_t *line, uint32_t *column)
{
	size_t start = 0, n = 1, end = MIN((size_t)offset, src->bytes);
	const char *at;
	while ((at = memchr(src->text + start, '\n', end - start))) {
		start = (size_t)(at - src->text) + 1;
		n++;
	}
	*line = (uint32_t)n;
	*column = (uint32_t)utf8_count(src->text + start, end - start) + 1;
}

int diag_add(struct diags *all, const struct source *src, const struct diag *one)
{
	all->n_all++;
	if (all->n == DIAG_MAX)
		return -1;
	struct diag *d = &all->item[all->n++];
	*d = *one;
	source_place(src, d->start, &d->line, &d->column);
	return -1;
}

/* Find the line that contains @offset. *bytes is set to its length without the line end. Returns:
 * the offset of its first byte. */
static size_t line_of(const struct source *src, uint32_t offset, size_t *bytes)
{
	size_t from = MIN((size_t)offset, src->bytes), to;
	while (from > 0 && src->text[from - 1] != '\n')
		from--;
	const char *end = memchr(src->text + from, '\n', src->bytes - from);
	to = end ? (size_t)(end - src->text) : src->bytes;
	while (to > from && src->text[to - 1] == '\r')
		to--;
	*bytes = to - from;
	return from;
}

static int underline(struct buf *out, const char *text, size_t before, size_t marked, char mark)
{
	int r = 0;
	for (size_t i = 0; i < before && r == 0; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			r = buf_append(out, text[i] == '\t' ? "\t" : " ", 1);
	size_t n = utf8_count(text + before, marked);
	for (size_t i = 0; i < MAX(n, (size_t)1) && r == 0; i++)
		r = buf_append(out, &mark, 1);
	return r;
}

int source_show(struct buf *out, const struct source *src, uint32_t start, uint32_t end, char mark)
{
	size_t bytes, from = line_of(src, start, &bytes);
	size_t at = MIN((size_t)start, src->bytes) - from;
	uint32_t line, column;
	source_place(src, start, &line, &column);
	/* If the line is very long, show only the part around the place. */
	size_t skip = at > SHOWN_MAX_BYTES / 2 ? at - SHOWN_MAX_BYTES / 2 : 0;
	while (skip > 0 && ((unsigned char)src->text[from + skip] & 0xc0) == 0x80)
		skip--;
	const char *text = src->text + from + skip;
	size_t shown = utf8_cut(text, bytes - MIN(skip, bytes), SHOWN_MAX_BYTES);
	at = MIN(at - skip, shown);
	size_t marked = MIN((size_t)(MAX(end, start) - start), shown - at);
	int r = buf_addf(out, "%5u | ", line);
	if (r == 0)
		r = utf8_escape_terminal(out, text, shown, UTF8_KEEP_LINES);
	if (r == 0)
		r = buf_add(out, "\n      | ");
	return r == 0 ? underline(out, text, at, marked, mark) : r;
}

int diag_text(struct buf *out, const struct source *src, const struct diag *d)
{
	int r = buf_addf(out, "error[P%03d]: ", d->code);
	if (r == 0)
		r = utf8_escape_terminal(out, d->msg, strlen(d->msg), UTF8_ONE_LINE);
	if (r == 0)
		r = buf_add(out, "\n  --> ");
	if (r == 0)
		r = utf8_escape_terminal(out, src->name, strlen(src->name), UTF8_ONE_LINE);
	if (r == 0)
		r = buf_addf(out, ":%u:%u\n", d->line, d->column);
	if (r == 0)
		r = source_show(out, src, d->start, d->end, '^');
	if (r == 0)
		r = buf_add(out, "\n");
	if (r == 0 && d->hint[0]) {
		r = buf_add(out, "  fix: ");
		if (r == 0)
			r = utf8_escape_terminal(out, d->hint, strlen(d->hint), UTF8_KEEP_LINES);
		if (r == 0)
			r = buf_add(out, "\n");
	}
	return r;
}

static int quoted(struct buf *out, const char *name, const char *text)
{
	int r = buf_addf(out, "\"%s\":\"", name);
	for (size_t i = 0, bytes = strlen(text), n; i < bytes && r == 0; i += n) {
		int32_t c;
		n = utf8_decode(text + i, bytes - i, &c);
		if (c < 0)
			r = buf_add(out, "\\ufffd");
		else if (c == '"' || c == '\\')
			r = buf_addf(out, "\\%c", (char)c);
		else if (c < 0x20)
			r = buf_addf(out, "\\u%04x", (unsigned)c);
		else
			r = buf_append(out, text + i, n);
	}
	return r == 0 ? buf_add(out, "\"") : r;
}

static int diag_json(struct buf *out, const struct source *src, const struct diag *d)
{
	int r = buf_addf(out, "{\"code\":\"P%03d\",", d->code);
	if (r == 0)
		r = quoted(out, "message",
			d->is_private ? "the message is withheld: it may repeat what a tool gave"
				      : d->msg);
	if (r == 0)
		r = buf_add(out, ",");
	if (r == 0)
		r = quoted(out, "file", src->name);
	if (r == 0)
		r = buf_addf(out, ",\"line\":%u,\"column\":%u,\"start\":%u,\"end\":%u", d->line,
			d->column, d->start, d->end);
	if (r == 0 && d->hint[0]) {
		r = buf_add(out, ",");
		if (r == 0)
			r = quoted(out, "fix", d->hint);
	}
	return r == 0 ? buf_add(out, "}") : r;
}

int diags_json(struct buf *out, const struct source *src, const struct diags *all)
{
	int r = buf_add(out, "[");
	for (size_t i = 0; i < all->n && r == 0; i++) {
		if (i > 0)
			r = buf_add(out, ",");
		if (r == 0)
			r = diag_json(out, src, &all->item[i]);
	}
	return r == 0 ? buf_add(out, "]") : r;
}

static int diags_text(struct buf *out, const struct source *src, const struct diags *all)
{
	int r = 0;
	for (size_t i = 0; i < all->n && r == 0; i++)
		r = diag_text(out, src, &all->item[i]);
	return r == 0 && all->n_all > all->n
		? buf_addf(out, "… and %zu more\n", all->n_all - all->n)
		: r;
}

int diags_report(struct buf *out, const struct source *src, const struct diags *all, bool is_json)
{
	if (!is_json)
		return diags_text(out, src, all);
	int r = buf_add(out, "{\"diagnostics\":");
	if (r == 0)
		r = diags_json(out, src, all);
	return r == 0 ? buf_addf(out, ",\"more\":%zu}\n", all->n_all - all->n) : r;
}
