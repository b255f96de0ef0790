/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

/* The lead bytes from `first` to `last`. They are followed by `n_more` continuation bytes, of
 * which the first is between `min` and `max` (table 3-7). */
struct lead {
	unsigned char first, last;
	unsigned char n_more;
	unsigned char min, max;
};

static const struct lead leads[] = {
	{0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, /* no overlong */
	{0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, /* no surrogate */
	{0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf}, /* no overlong */
	{0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f}, /* up to U+10FFFF */
};

static const struct lead *find_lead(unsigned char byte)
{
	if (byte < leads[0].first || byte > leads[ARRAY_LEN(leads) - 1].last)
		return NULL;
	const struct lead *lead = leads;
	while (byte > lead->last)
		lead++;
	return lead;
}

size_t utf8_decode(const void *data, size_t bytes, int32_t *character)
{
	const unsigned char *at = data;
	*character = -1;
	if (bytes == 0)
		return 0;
	if (at[0] < 0x80) {
		*character = at[0];
		return 1;
	}
	const struct lead *lead = find_lead(at[0]);
	if (!lead)
		return 1;
	int32_t c = at[0] & (0x3f >> lead->n_more);
	for (size_t i = 1; i <= lead->n_more; i++) {
		unsigned char min = i == 1 ? lead->min : 0x80, max = i == 1 ? lead->max : 0xbf;
		if (i >= bytes || at[i] < min || at[i] > max)
			return i;
		c = c << 6 | (at[i] & 0x3f);
	}
	*character = c;
	return (size_t)lead->n_more + 1;
}

/* Count the ASCII bytes at the beginning, eight at a time, since most texts are pure ASCII.
 * Returns: a multiple of eight; up to seven more bytes may be ASCII. */
static size_t plain_bytes(const char *at, size_t bytes)
{
	size_t n = 0;
	for (uint64_t eight; bytes - n >= sizeof eight; n += sizeof eight) {
		memcpy(&eight, at + n, sizeof eight);
		if (eight & UINT64_C(0x8080808080808080))
			break;
	}
	return n;
}

bool utf8_is_valid(const void *data, size_t bytes)
{
	const char *at = data;
	for (int32_t c; bytes > 0;) {
		size_t n = plain_bytes(at, bytes);
		at += n;
		bytes -= n;
		if (bytes == 0)
			break;
		n = utf8_decode(at, bytes, &c);
		if (c < 0)
			return false;
		at += n;
		bytes -= n;
	}
	return true;
}

size_t utf8_count(const void *data, size_t bytes)
{
	const char *at = data;
	size_t n_characters = 0;
	for (int32_t c; bytes > 0; n_characters++) {
		size_t n = utf8_decode(at, bytes, &c);
		at += n;
		bytes -= n;
	}
	return n_characters;
}

/* If an append to @out has failed, cut @out back to @old_bytes, but keep the error. Returns:
 * buf_error(). */
static int all_or_nothing(struct buf *out, size_t old_bytes)
{
	int r = buf_error(out);
	if (r < 0) {
		buf_cut(out, old_bytes);
		buf_fail(out, r);
	}
	return r;
}

int utf8_repair(struct buf *out, const void *data, size_t bytes, size_t *n_replaced)
{
	const char *at = data;
	size_t old_bytes = out->bytes, n_bad = 0, n_good = 0;
	while (n_good < bytes) {
		int32_t c;
		n_good += plain_bytes(at + n_good, bytes - n_good);
		if (n_good == bytes)
			break;
		size_t n = utf8_decode(at + n_good, bytes - n_good, &c);
		if (c >= 0) {
			n_good += n;
			continue;
		}
		buf_append(out, at, n_good);
		buf_add(out, "\xef\xbf\xbd");
		at += n_good + n;
		bytes -= n_good + n;
		n_good = 0;
		n_bad++;
	}
	buf_append(out, at, n_good);
	int r = all_or_nothing(out, old_bytes);
	if (n_replaced && r == 0)
		*n_replaced += n_bad;
	return r;
}

/* Count the bytes at the beginning that a JSON string may contain without an escape. */
static size_t unquoted_bytes(const char *at, size_t bytes)
{
	size_t n = 0;
	while (n < bytes && (unsigned char)at[n] >= 0x20 && at[n] != '"' && at[n] != '\\') {
		int32_t c;
		size_t taken = utf8_decode(at + n, bytes - n, &c);
		if (c < 0)
			break;
		n += taken;
	}
	return n;
}

int utf8_quote(struct buf *out, const void *data, size_t bytes)
{
	static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
	const char *at = data;
	buf_add(out, "\"");
	for (size_t n; bytes > 0; at += n, bytes -= n) {
		int32_t c;
		n = unquoted_bytes(at, bytes);
		buf_append(out, at, n);
		if (n > 0)
			continue;
		n = utf8_decode(at, bytes, &c);
		const char *known = c > 0 && c < 0x80 ? strchr(from, c) : NULL;
		if (c < 0)
			buf_add(out, "\xef\xbf\xbd");
		else if (known)
			buf_addf(out, "\\%c", into[known - from]);
		else
			buf_addf(out, "\\u%04x", (unsigned)c);
	}
	buf_add(out, "\"");
	return buf_error(out);
}

size_t utf8_unfinished(const void *data, size_t bytes)
{
	const unsigned char *at = data;
	for (size_t n = 1; n < UTF8_MAX_BYTES && n <= bytes; n++) {
		unsigned char c = at[bytes - n];
		if (c >= 0xc2 && c <= 0xf4) /* the bytes with which a character can begin */
			return n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
		if (c < 0x80)
			break;
	}
	return 0;
}

size_t utf8_cut(const void *data, size_t bytes, size_t max_bytes)
{
	const char *at = data;
	if (bytes <= max_bytes)
		return bytes;
	for (size_t back = 1; back < UTF8_MAX_BYTES && back <= max_bytes; back++) {
		int32_t c;
		size_t start = max_bytes - back;
		size_t n = utf8_decode(at + start, bytes - start, &c);
		if (c >= 0 && n > back)
			return start;
	}
	return max_bytes;
}

static bool is_control(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

static bool is_layout(int32_t c)
{
	return (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Return whether @c is invisible unless a font supports it specially. Source:
 * Default_Ignorable_Code_Point in DerivedCoreProperties.txt of Unicode 15. */
static bool is_invisible(int32_t c)
{
	static const struct {
		int32_t from, to;
	} ranges[] = {{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160},
		{0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x202a, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
		{0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff}};
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

static bool is_selector(int32_t c)
{
	return c >= 0xfe00 && c <= 0xfe0f;
}

/*
 * Return whether @c is a joiner or a variation selector that belongs to the spelling of a word or
 * an emoji. @before is the character before @c.
 * A joiner or variation selector belongs to the spelling if @before is visible and beyond ASCII. A
 * joiner also belongs to the spelling if @before is a variation selector.
 */
static bool is_spelling(int32_t before, int32_t c)
{
	bool is_joiner = c == 0x200c || c == 0x200d;
	return (is_joiner || is_selector(c)) && before >= 0x80 &&
		(!is_invisible(before) || (is_joiner && is_selector(before)));
}

bool utf8_has_invisible(const void *data, size_t bytes)
{
	const char *at = data;
	for (int32_t c; bytes > 0;) {
		size_t n = utf8_decode(at, bytes, &c);
		if (is_invisible(c))
			return true;
		at += n;
		bytes -= n;
	}
	return false;
}

static void escape_one(struct buf *out, const char *at, size_t n, int32_t c, enum utf8_lines lines)
{
	bool is_kept = lines == UTF8_KEEP_LINES && (c == '\n' || c == '\t');
	if (c < 0)
		for (size_t i = 0; i < n; i++)
			buf_addf(out, "\\x%02x", (unsigned)(unsigned char)at[i]);
	else if (!is_kept && (is_layout(c) || is_invisible(c)))
		buf_addf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
	else if (!is_kept && is_control(c))
		buf_addf(out, "\\x%02x", (unsigned)c);
	else
		buf_append(out, at, n);
}

int utf8_escape_terminal(struct buf *out, const void *data, size_t bytes, enum utf8_lines lines)
{
	const char *at = data;
	size_t old_bytes = out->bytes;
	for (int32_t c, before = 0; bytes > 0 && buf_error(out) == 0; before = c) {
		size_t n = utf8_decode(at, bytes, &c);
		bool is_spelled = lines == UTF8_KEEP_LINES && is_spelling(before, c);
		if (is_spelled)
			buf_append(out, at, n);
		else
			escape_one(out, at, n, c, lines);
		at += n;
		bytes -= n;
	}
	return all_or_nothing(out, old_bytes);
}

int utf8_escape_json(struct buf *out, const void *data, size_t bytes)
{
	const char *at = data;
	size_t old_bytes = out->bytes;
	for (int32_t c, before = 0; bytes > 0 && buf_error(out) == 0; before = c) {
		size_t n = utf8_decode(at, bytes, &c);
		bool is_shown = c < 0x7f ||
			(!is_control(c) && !is_layout(c) &&
				(!is_invisible(c) || is_spelling(before, c)));
		if (is_shown)
			buf_append(out, at, n);
		else if (c > 0xffff)
			buf_addf(out, "\\u%04x\\u%04x", 0xd800U + (((unsigned)c - 0x10000) >> 10),
				0xdc00U + ((unsigned)c & 0x3ff));
		else
			buf_addf(out, "\\u%04x", (unsigned)c);
		at += n;
		bytes -= n;
	}
	return all_or_nothing(out, old_bytes);
}
