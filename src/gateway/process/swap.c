/*
 * Texts are searched with memmem(), once for each placeholder or needle: it looks at one byte in
 * many, so it is faster than anything that looks at each byte once for all needles.
 *
 * A needle may lie over the end of a piece of a stream. So of each piece, the last bytes that are
 * the beginning of a needle are held back, as they came and as they will be shown. The next piece
 * is searched by itself, and so is its seam: the end of what was held back and the beginning of the
 * piece, of both one byte less than the needle has. The "*" are written to what is shown and never
 * to what is searched, so needles that overlap are all found.
 *
 * A needle may overlap itself, as one of equal letters does, and then be at every few bytes of a
 * text. Each has a period, the least distance at which it can follow itself. Whether it does so is
 * seen from the bytes of one period, so such a text takes no longer than others of its length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE 1
#include "gateway/process/swap.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * HEAD_BYTES: only so much of a needle is given to memmem(), which prepares for all of it each
 * time, and for long ones at length.
 */
enum { NEEDLE_MIN = 8, HEAD_BYTES = 128 };

/* ---- placeholders ---- */

static const char *find(const char *what, const char *at, const char *end)
{
	size_t bytes = strlen(what);
	return bytes > 0 && at < end ? memmem(at, (size_t)(end - at), what, bytes) : NULL;
}

bool swap_is_in(const struct swap *all, size_t n, const char *text, size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (bytes > 0 && find(all[i].placeholder, text, text + bytes))
			return true;
	return false;
}

/* In capitals, as RFC 3986 wants them in an escape of a URL. */
static void add_hex(struct buf *out, const char *before, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char hex[] = {digits[c >> 4], digits[c & 15]};
	(void)buf_add(out, before);
	(void)buf_append(out, hex, sizeof hex);
}

static void add_url(struct buf *out, char c)
{
	if (ascii_is_name((unsigned char)c) || c == '-' || c == '.' || c == '~')
		(void)buf_append(out, &c, 1);
	else
		add_hex(out, "%", (unsigned char)c);
}

static void add_json(struct buf *out, char c)
{
	if ((unsigned char)c < ' ') {
		add_hex(out, "\\u00", (unsigned char)c);
		return;
	}
	if (c == '"' || c == '\\')
		(void)buf_add(out, "\\");
	(void)buf_append(out, &c, 1);
}

static void add_value(struct buf *out, enum swap_form form, const char *value)
{
	static void (*const add[])(struct buf *, char) = {
		[SWAP_URL] = add_url, [SWAP_JSON] = add_json};
	if (form == SWAP_RAW) {
		(void)buf_add(out, value);
		return;
	}
	for (; *value; value++)
		add[form](out, *value);
}

/* Return which placeholder is first from @at on, the longest of several at one place; @n for none.
 * @next: where each is next, or @end. It is searched for again only behind that place. */
static size_t first(
	const struct swap *all, size_t n, const char **next, const char *at, const char *end)
{
	size_t best = n, best_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		size_t bytes = strlen(all[i].placeholder);
		if (next[i] < at) {
			const char *found = find(all[i].placeholder, at, end);
			next[i] = found ? found : end;
		}
		if (next[i] == end || (best < n && next[i] > next[best]))
			continue;
		if (best == n || next[i] < next[best] || bytes > best_bytes) {
			best = i;
			best_bytes = bytes;
		}
	}
	return best;
}

bool swap_text(const struct swap *all, size_t n, enum swap_form form, const char *text,
	size_t bytes, struct buf *out)
{
	const char *at = text, *end = text + bytes;
	bool is_any = swap_is_in(all, n, text, bytes);
	if (is_any) {
		const char **next = xcalloc(n, sizeof *next);
		size_t i;
		while ((i = first(all, n, next, at, end)) < n) {
			(void)buf_append(out, at, (size_t)(next[i] - at));
			add_value(out, form, all[i].value);
			at = next[i] + strlen(all[i].placeholder);
		}
		free(next);
	}
	(void)buf_append(out, at, (size_t)(end - at));
	return is_any;
}

/* ---- placeholders inside of base64 ---- */

/* Return where the base64 of "Basic BASE64" begins; 0 if this is not its form. */
static size_t basic_begins(const char *value)
{
	static const char scheme[] = "basic";
	size_t blanks = strspn(value, " \t"), n = blanks + sizeof scheme - 1;
	if (strncasecmp(value + blanks, scheme, sizeof scheme - 1) != 0)
		return 0;
	blanks = strspn(value + n, " \t");
	return blanks > 0 ? n + blanks : 0;
}

/* Returns: false if @text is no base64. */
static bool decode(struct buf *out, const char *text, size_t bytes)
{
	struct err err = {0};
	cleanup_buf struct buf padded = BUF_INIT(bytes + 4);
	(void)buf_append(&padded, text, bytes);
	while (padded.bytes % 4 != 0 && !buf_error(&padded) && !memchr(text, '=', bytes))
		(void)buf_add(&padded, "=");
	if (buf_error(&padded))
		buf_fail(out, buf_error(&padded));
	else if (base64_read(out, padded.data, padded.bytes, &err) < 0 && err.code != ERR_USAGE)
		buf_fail(out, -ENOMEM);
	return !buf_error(out) && out->bytes > 0;
}

static void wipe(void *data, size_t bytes)
{
	if (data)
		explicit_bzero(data, bytes);
}

/* Replace what is inside of the @bytes of base64 at @value + @at, and append all of @value.
 * Returns: false, and nothing is appended, if nothing is to be replaced there. */
static bool swap_basic(const struct swap *all, size_t n, const char *value, size_t at, size_t bytes,
	struct buf *out)
{
	cleanup_buf struct buf inside = BUF_INIT(bytes + 8);
	cleanup_wipe_buf struct buf changed = BUF_INIT(out->max_bytes);
	bool is_any = decode(&inside, value + at, bytes) &&
		swap_text(all, n, SWAP_RAW, inside.data, inside.bytes, &changed);
	buf_fail(out, buf_error(&inside) ? buf_error(&inside) : buf_error(&changed));
	if (!is_any)
		return false;
	(void)buf_append(out, value, at);
	(void)base64_write(out, changed.data, changed.bytes);
	(void)buf_add(out, value + at + bytes);
	return true;
}

bool swap_header(const struct swap *all, size_t n, const char *value, struct buf *out)
{
	size_t at = basic_begins(value), bytes = strlen(value), last = bytes;
	while (last > at && ascii_is_blank((unsigned char)value[last - 1]))
		last--;
	if (at > 0 && last > at && swap_basic(all, n, value, at, last - at, out))
		return true;
	return swap_text(all, n, SWAP_RAW, value, bytes, out);
}

static bool is_word(const char *text, size_t bytes, const char *word)
{
	return bytes == strlen(word) && strncasecmp(text, word, bytes) == 0;
}

enum swap_form swap_form_of(const char *type)
{
	static const char suffix[] = "+json";
	const size_t tail = sizeof suffix - 1;
	const char *s = type ? type + strspn(type, " \t") : "";
	size_t n = strcspn(s, "; \t");
	const char *rest = s + n + strspn(s + n, " \t");
	if (*rest && *rest != ';')
		return SWAP_RAW;
	if (is_word(s, n, "application/x-www-form-urlencoded"))
		return SWAP_URL;
	if (is_word(s, n, "application/json") || (n > tail && is_word(s + n - tail, tail, suffix)))
		return SWAP_JSON;
	return SWAP_RAW;
}

/* ---- needles ---- */

struct needle {
	char *text;
	size_t bytes, period;
	size_t head; /* how many of its first bytes are searched for */
};

struct blot {
	struct needle v[BLOT_NEEDLES_MAX];
	size_t n, longest;
	/* The end of the stream that is held back, less than @longest bytes: as it came, with room
	 * for as many of the next piece; and as it will be shown. */
	char *came, *shown;
	size_t held;
};

struct blot *blot_new(void)
{
	return xnew(struct blot);
}

static void free_held(struct blot *b)
{
	wipe(b->came, 2 * b->longest);
	wipe(b->shown, b->longest);
	free(b->came);
	free(b->shown);
}

void blot_free(struct blot *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		wipe(b->v[i].text, b->v[i].bytes);
		free(b->v[i].text);
	}
	free_held(b);
	free(b);
}

static void make_room(struct blot *b, size_t longest)
{
	char *came = xcalloc(2, longest), *shown = xcalloc(1, longest);
	if (b->held > 0) {
		memcpy(came, b->came, b->held);
		memcpy(shown, b->shown, b->held);
	}
	free_held(b);
	b->came = came;
	b->shown = shown;
	b->longest = longest;
}

static size_t period_of(const char *text, size_t bytes)
{
	size_t period = 1;
	while (memcmp(text, text + period, bytes - period) != 0)
		period++;
	return period;
}

void blot_add(struct blot *b, const char *needle, size_t bytes)
{
	struct needle v = {.bytes = bytes, .head = MIN(bytes, HEAD_BYTES)};
	if (bytes < NEEDLE_MIN || bytes > BLOT_NEEDLE_MAX || b->n == BLOT_NEEDLES_MAX)
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].bytes == bytes && memcmp(b->v[i].text, needle, bytes) == 0)
			return;
	v.period = period_of(needle, bytes);
	/* A head that could be at every few bytes would cost more than it saves. */
	if (period_of(needle, v.head) < v.head / 2)
		v.head = bytes;
	v.text = xcalloc(1, bytes);
	memcpy(v.text, needle, bytes);
	b->v[b->n++] = v;
	if (bytes > b->longest)
		make_room(b, bytes);
}

/* Add what is base64 in the alphabet for URLs; blot_add() drops what is the same. Changes @text. */
static void add_base64url(struct blot *b, char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)(text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i]);
	blot_add(b, text, bytes);
}

void blot_add_value(struct blot *b, const char *value)
{
	size_t bytes = strlen(value);
	if (bytes > BLOT_NEEDLE_MAX)
		return;
	struct buf shifted = BUF_INIT(bytes + 3);
	struct buf text = BUF_INIT(6 * bytes + 8); /* the longest of all forms is \u00XX in JSON */
	for (enum swap_form form = SWAP_RAW; form <= SWAP_JSON; form++) {
		if (!buf_reserve(&text, 6 * bytes))
			xdie("a needle");
		add_value(&text, form, value);
		blot_add(b, text.data, text.bytes);
		buf_clear(&text);
	}
	/* Base64 differs by how many bytes, modulo 3, stand before the value: "user:VALUE". The
	 * characters that have bits of what is before it or behind it are left out. */
	for (size_t before = 0; before < 3; before++) {
		const size_t from = (before * 8 + 5) / 6, to = (before + bytes) * 8 / 6;
		if (buf_append(&shifted, "\0\0", before) < 0 ||
			buf_append(&shifted, value, bytes) < 0 ||
			base64_write(&text, shifted.data, shifted.bytes) < 0)
			xdie("a needle");
		if (to > from) {
			blot_add(b, text.data + from, to - from);
			add_base64url(b, text.data + from, to - from);
		}
		buf_clear(&text);
		buf_clear(&shifted);
	}
	buf_wipe(&text);
	buf_wipe(&shifted);
}

bool blot_is_empty(const struct blot *b)
{
	return !b || b->n == 0;
}

/* ---- blotting out ---- */

/* Write a "*" to @shown for each byte of @text that is of @v. */
static void cover(const struct needle *v, const char *text, size_t bytes, char *shown)
{
	const char *at = text, *end = text + bytes;
	size_t rest = v->bytes - v->head;
	while ((size_t)(end - at) > rest &&
		(at = memmem(at, (size_t)(end - at) - rest, v->text, v->head))) {
		const char *past = at + v->bytes;
		if (memcmp(at + v->head, v->text + v->head, rest) != 0) {
			at++;
			continue;
		}
		while ((size_t)(end - past) >= v->period &&
			memcmp(past, past - v->period, v->period) == 0)
			past += v->period;
		memset(shown + (at - text), '*', (size_t)(past - at));
		at = past - v->bytes + v->period;
	}
}

/* Return how many bytes at the end of @text are the beginning of a needle; most of all needles. */
static size_t begun(const struct blot *b, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	size_t most = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct needle *v = &b->v[i];
		const char *at = end - MIN(bytes, v->bytes - 1);
		while ((size_t)(end - at) > most &&
			(at = memchr(at, v->text[0], (size_t)(end - at)))) {
			size_t n = (size_t)(end - at);
			if (memcmp(at, v->text, n) == 0)
				most = MAX(most, n);
			at++;
		}
	}
	return most;
}

/* Return where to write @bytes; NULL, and it shows in @out, if there is no room. */
static char *need_room(struct buf *out, size_t bytes)
{
	char *at = buf_reserve(out, bytes);
	if (!at)
		buf_fail(out,
			bytes > out->max_bytes || out->bytes > out->max_bytes - bytes ? -E2BIG
										      : -ENOMEM);
	return at;
}

bool blot_is_holding(const struct blot *b)
{
	return b && b->held > 0;
}

void blot_feed(struct blot *b, const char *data, size_t bytes, bool is_last, struct buf *out)
{
	if (blot_is_empty(b)) {
		(void)buf_append(out, data, bytes);
		return;
	}
	size_t held = b->held, all = held + bytes, keep = 0;
	char *shown = need_room(out, all);
	if (!shown || all == 0)
		return;
	size_t ahead = MIN(bytes, b->longest - 1);
	if (held > 0)
		memcpy(shown, b->shown, held);
	if (bytes > 0)
		memcpy(shown + held, data, bytes);
	if (ahead > 0)
		memcpy(b->came + held, data, ahead);
	for (size_t i = 0; i < b->n && bytes > 0; i++) {
		const struct needle *v = &b->v[i];
		size_t from = held - MIN(held, v->bytes - 1);
		if (from < held)
			cover(v, b->came + from, held - from + MIN(bytes, v->bytes - 1),
				shown + from);
		cover(v, data, bytes, shown + held);
	}
	bool is_long = ahead < bytes;
	const char *end = is_long ? data + bytes : b->came + all;
	if (!is_last && b->n > 0)
		keep = begun(b, end - (is_long ? ahead : all), is_long ? ahead : all);
	if (keep > 0) {
		memmove(b->came, end - keep, keep);
		memcpy(b->shown, shown + all - keep, keep);
	}
	b->held = keep;
	buf_grown(out, all - keep);
}

void blot_text(const struct blot *b, const char *text, size_t bytes, struct buf *out)
{
	if (blot_is_empty(b)) {
		(void)buf_append(out, text, bytes);
		return;
	}
	char *shown = need_room(out, bytes);
	if (!shown || bytes == 0)
		return;
	memcpy(shown, text, bytes);
	for (size_t i = 0; i < b->n; i++)
		cover(&b->v[i], text, bytes, shown);
	buf_grown(out, bytes);
}
