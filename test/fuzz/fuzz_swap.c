/*
 * Lines, and behind a NUL a text. As needles, the lines are blotted out of the text: in any pieces,
 * the same bytes are as where each needle was looked for at each place. As placeholders and values
 * by turns, they are replaced in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE 1
#include "fuzz.h"

#include "base/attr.h"
#include "gateway/process/swap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 16, TEXT_MAX = 4096, NEEDLE_MIN = 8, ROOM = 16 << 20 };

struct lines {
	char *v[LINES_MAX];
	size_t n;
};

static struct lines lines_of(char *text)
{
	struct lines lines = {.n = 0};
	char *line;
	while (lines.n < LINES_MAX && (line = strsep(&text, "\n")))
		lines.v[lines.n++] = line;
	return lines;
}

/* ---- blotting out ---- */

static bool has_text(const struct buf *b, const char *text)
{
	return b->bytes > 0 && memmem(b->data, b->bytes, text, strlen(text)) != NULL;
}

static void mark(const struct lines *lines, const char *text, size_t bytes, char *out)
{
	memcpy(out, text, bytes);
	for (size_t i = 0; i < lines->n; i++) {
		size_t n = strlen(lines->v[i]);
		for (size_t at = 0; n >= NEEDLE_MIN && at + n <= bytes; at++)
			if (memcmp(text + at, lines->v[i], n) == 0)
				memset(out + at, '*', n);
	}
}

/* The most that may be held back after @text. */
static size_t may_be_held(const struct lines *lines, const char *text, size_t bytes)
{
	size_t most = 0;
	for (size_t i = 0; i < lines->n; i++) {
		size_t whole = strlen(lines->v[i]);
		for (size_t n = 1; whole >= NEEDLE_MIN && n <= bytes && n < whole; n++)
			if (n > most && memcmp(text + bytes - n, lines->v[i], n) == 0)
				most = n;
	}
	return most;
}

static void check_pieces(
	struct blot *b, const struct lines *lines, const char *text, size_t bytes, uint32_t seed)
{
	char want[TEXT_MAX];
	struct buf out = BUF_INIT(ROOM);
	uint32_t most = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 16 : 512;
	mark(lines, text, bytes, want);
	for (size_t at = 0, n; at < bytes; at += n) {
		seed = seed * 1664525 + 1013904223;
		n = MIN(1 + (seed >> 8) % most, bytes - at);
		char *exact = malloc(n);
		memcpy(exact, text + at, n);
		blot_feed(b, exact, n, false, &out);
		free(exact);
		MUST(out.bytes == at + n - may_be_held(lines, text, at + n));
		MUST(out.bytes == 0 || memcmp(out.data, want, out.bytes) == 0);
	}
	blot_feed(b, NULL, 0, true, &out);
	MUST(out.bytes == bytes && (bytes == 0 || memcmp(out.data, want, bytes) == 0));
	buf_clear(&out);
	blot_text(b, text, bytes, &out);
	MUST(out.bytes == bytes && (bytes == 0 || memcmp(out.data, want, bytes) == 0));
	for (size_t i = 0; i < lines->n; i++)
		MUST(strlen(lines->v[i]) < NEEDLE_MIN || strchr(lines->v[i], '*') ||
			!has_text(&out, lines->v[i]));
	buf_done(&out);
}

static void check_blot(const struct lines *lines, const char *text, size_t bytes, uint32_t seed)
{
	struct blot *b = blot_new(), *values = blot_new();
	struct buf out = BUF_INIT(ROOM);
	for (size_t i = 0; i < lines->n; i++) {
		blot_add(b, lines->v[i], strlen(lines->v[i]));
		blot_add_value(values, lines->v[i]);
	}
	for (uint32_t i = 0; i < 3; i++)
		check_pieces(b, lines, text, bytes, seed + i);
	blot_feed(values, text, bytes / 2, false, &out);
	blot_feed(values, text + bytes / 2, bytes - bytes / 2, true, &out);
	MUST(out.bytes == bytes);
	for (size_t i = 0; i < lines->n; i++)
		MUST(strlen(lines->v[i]) < NEEDLE_MIN || strchr(lines->v[i], '*') ||
			!has_text(&out, lines->v[i]));
	blot_free(b);
	blot_free(values);
	buf_done(&out);
}

/* ---- placeholders ---- */

static void swap_plainly(
	const struct swap *all, size_t n, const char *text, size_t bytes, struct buf *out)
{
	for (size_t at = 0; at < bytes;) {
		size_t best = n, most = 0;
		for (size_t i = 0; i < n; i++) {
			size_t is = strlen(all[i].placeholder);
			if (is > most && at + is <= bytes &&
				memcmp(text + at, all[i].placeholder, is) == 0) {
				best = i;
				most = is;
			}
		}
		if (best < n)
			(void)buf_add(out, all[best].value);
		else
			(void)buf_append(out, text + at, 1);
		at += most > 0 ? most : 1;
	}
}

static void check_swap(const struct lines *lines, const char *text, size_t bytes)
{
	struct swap all[LINES_MAX / 2];
	struct buf out = BUF_INIT(ROOM), want = BUF_INIT(ROOM);
	char *header = fuzz_text((const uint8_t *)text, bytes);
	size_t n = lines->n / 2;
	for (size_t i = 0; i < n; i++)
		all[i] = (struct swap){lines->v[2 * i], lines->v[2 * i + 1]};
	swap_plainly(all, n, text, bytes, &want);
	for (enum swap_form form = SWAP_RAW; form <= SWAP_JSON; form++) {
		bool is_any = swap_text(all, n, form, text, bytes, &out);
		MUST(is_any == swap_is_in(all, n, text, bytes));
		MUST(buf_error(&out) || is_any ||
			(out.bytes == bytes && memcmp(buf_str(&out), text, bytes) == 0));
		MUST(form != SWAP_RAW || buf_error(&out) ||
			(out.bytes == want.bytes &&
				memcmp(buf_str(&out), buf_str(&want), want.bytes) == 0));
		buf_clear(&out);
	}
	bool is_any = swap_header(all, n, header, &out);
	MUST(is_any || strcmp(buf_str(&out), header) == 0);
	(void)swap_form_of(header);
	free(header);
	buf_done(&out);
	buf_done(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	uint32_t seed = (uint32_t)bytes;
	size_t n = fuzz_part(&data, &bytes, &part);
	char *text = fuzz_text(part, n), *rest = malloc(MIN(bytes, TEXT_MAX) + 1);
	struct lines lines = lines_of(text);
	bytes = MIN(bytes, TEXT_MAX);
	if (bytes > 0)
		memcpy(rest, data, bytes);
	for (size_t i = 0; i < bytes; i++)
		seed = seed * 31 + data[i];
	check_blot(&lines, rest, bytes, seed);
	check_swap(&lines, rest, bytes);
	free(text);
	free(rest);
	return 0;
}
