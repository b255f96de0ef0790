/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/run_part.h"

#include <errno.h>
#include <string.h>

enum { NUMBER_BYTES = 32 };

static bool is_inside(const char *text, size_t bytes, size_t at)
{
	return at < bytes && ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* Return the offset of the character that contains the byte at offset @at. */
static size_t floor_of(const char *text, size_t bytes, size_t at)
{
	at = MIN(at, bytes);
	while (at > 0 && is_inside(text, bytes, at))
		at--;
	return at;
}

static size_t ceiling_of(const char *text, size_t bytes, size_t at)
{
	at = MIN(at, bytes);
	while (is_inside(text, bytes, at))
		at++;
	return at;
}

int run_part_read(struct run_part *out, const char *text, size_t bytes, size_t offset, size_t limit)
{
	size_t from = floor_of(text, bytes, offset);
	size_t to = floor_of(text, bytes, from + MIN(limit, bytes - from));
	if (to == from && from < bytes)
		to = ceiling_of(text, bytes, from + 1);
	*out = (struct run_part){.text = BUF_INIT(to - from + 1),
		.offset = from,
		.next = to,
		.is_last = to == bytes};
	return buf_append(&out->text, text + from, to - from);
}

static size_t count_ends(const char *text, size_t bytes)
{
	size_t n = 0;
	for (const char *at = text, *end = text + bytes;
		(at = memchr(at, '\n', (size_t)(end - at))); at++)
		n++;
	return n;
}

/* Append a line with its number. Of a long line, append only the part around the offset @hit. */
static int add_line(struct buf *out, size_t number, const char *line, size_t bytes, size_t hit)
{
	size_t from = 0, to = bytes;
	if (bytes > RUN_PART_LINE_BYTES) {
		from = floor_of(line, bytes, hit - MIN(hit, (size_t)RUN_PART_LEAD_BYTES));
		to = floor_of(line, bytes, from + MIN(bytes - from, (size_t)RUN_PART_LINE_BYTES));
	}
	int r = buf_addf(out, "%zu:%s", number, from > 0 ? "…" : "");
	if (r == 0)
		r = buf_append(out, line + from, to - from);
	return r < 0 ? r : buf_add(out, to < bytes ? "…\n" : "\n");
}

int run_part_find(
	struct run_part *out, const char *text, size_t bytes, const struct run_part_search *search)
{
	size_t at = floor_of(text, bytes, search->offset), end = bytes, counted = 0, number = 1;
	const char *last = memrchr(text, '\n', bytes);
	if (!search->is_whole)
		end = last ? (size_t)(last - text) + 1 : 0;
	*out = (struct run_part){
		.text = BUF_INIT(search->limit + RUN_PART_LINE_BYTES + NUMBER_BYTES), .offset = at};
	while (at < end && out->text.bytes < search->limit) {
		const char *hit = memmem(text + at, end - at, search->word, strlen(search->word));
		if (!hit) {
			at = end;
			break;
		}
		const char *before = memrchr(text, '\n', (size_t)(hit - text));
		const char *line = before ? before + 1 : text;
		const char *stop = memchr(hit, '\n', (size_t)(text + bytes - hit));
		size_t n = (size_t)((stop ? stop : text + bytes) - line);
		number += count_ends(text + counted, (size_t)(line - text) - counted);
		counted = (size_t)(line - text);
		int r = add_line(&out->text, number, line, n, (size_t)(hit - line));
		if (r < 0)
			return r;
		out->n_lines++;
		at = MIN(counted + n + 1, bytes);
	}
	out->next = MAX(at, out->offset);
	out->is_last = at >= bytes;
	return 0;
}
