/* Strings and bytes, and the builder of texts (struct text). SPDX-License-Identifier: Apache-2.0 */
#include "plan/value/str.h"

#include "base/utf8.h"

#include <string.h>

enum { SHARE_MIN_BYTES = 64 };

/* A buffer that several strings share: the content of each string is a prefix of the buffer. The
 * longest string can be extended in place, so that a loop with s += x takes linear time. */
struct str_room {
	uint32_t used, room;
	char data[];
};

/* A string with a pointer to its shared buffer. Most strings have no shared buffer. They are
 * only a struct str, which saves the memory of the pointer. */
struct str_shared {
	struct str str;
	struct str_room *room;
};

static struct str_room *room_of(const struct str *s)
{
	return s->has_room ? ((const struct str_shared *)s)->room : NULL;
}

static struct str *shared(struct heap *h, struct str_room *r)
{
	struct str_shared *s = heap_alloc(h, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct str_shared){.str = {.data = r->data, .has_room = 1}, .room = r};
	return &s->str;
}

int str_alloc(struct heap *h, uint32_t type, size_t bytes, char **data, struct val *out)
{
	if (bytes > STR_MAX_BYTES)
		return heap_fail_kind(
			h, FAIL_MEMORY, "out of memory: a string of %zu bytes", bytes);
	if (heap_pay(h, bytes / 64) < 0)
		return -1;
	struct str *s = heap_alloc(h, sizeof *s + bytes + 1);
	if (!s)
		return -1;
	char *at = (char *)(s + 1);
	at[bytes] = '\0';
	*s = (struct str){.n_bytes = (uint32_t)bytes, .n_chars = (uint32_t)bytes, .data = at};
	*data = at;
	*out = VAL_PTR(type, s);
	return 0;
}

static uint32_t count_chars(const char *data, size_t bytes)
{
	const uint64_t each = 0x0101010101010101u;
	size_t n = bytes, i = 0;
	/* Count the characters of eight bytes at once: subtract the UTF-8 continuation bytes. */
	for (uint64_t word; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, data + i, sizeof word);
		n -= (word >> 7 & ~word >> 6 & each) * each >> 56;
	}
	for (; i < bytes; i++)
		n -= ((unsigned char)data[i] & 0xc0) == 0x80;
	return (uint32_t)n;
}

void str_filled(struct val v)
{
	v.str->n_chars = count_chars(v.str->data, v.str->n_bytes);
}

int str_new(struct heap *h, const char *data, size_t bytes, struct val *out)
{
	char *at;
	if (str_alloc(h, T_STRING, bytes, &at, out) < 0)
		return -1;
	if (bytes > 0)
		memcpy(at, data, bytes);
	str_filled(*out);
	return 0;
}

int str_of(struct heap *h, const char *text, struct val *out)
{
	return str_new(h, text, strlen(text), out);
}

int bytes_new(struct heap *h, const void *data, size_t bytes, struct val *out)
{
	char *at;
	if (str_alloc(h, T_BYTES, bytes, &at, out) < 0)
		return -1;
	if (bytes > 0)
		memcpy(at, data, bytes);
	return 0;
}

int str_part(struct heap *h, struct val v, size_t from, size_t to, struct val *out)
{
	if (from == 0 && to == v.str->n_bytes) {
		*out = v;
		return 0;
	}
	/* Copy a short part. A long part shares the bytes of @v. */
	if (to - from <= 32) {
		char *at;
		if (str_alloc(h, v.type, to - from, &at, out) < 0)
			return -1;
		memcpy(at, v.str->data + from, to - from);
	} else {
		struct str *s = heap_alloc(h, sizeof *s);
		if (!s)
			return -1;
		*s = (struct str){.n_bytes = (uint32_t)(to - from), .data = v.str->data + from};
		s->n_chars = s->n_bytes;
		*out = VAL_PTR(v.type, s);
	}
	if (v.type == T_STRING && v.str->n_bytes != v.str->n_chars)
		str_filled(*out);
	out->label = v.label;
	return heap_pay(h, (to - from) / 256);
}

static struct str *with_room(struct heap *h, const struct str *a, size_t bytes)
{
	size_t room = bytes * 2 + SHARE_MIN_BYTES;
	struct str_room *r = heap_alloc(h, sizeof *r + room);
	struct str *s = r ? shared(h, r) : NULL;
	if (!s)
		return NULL;
	*r = (struct str_room){.used = a->n_bytes, .room = (uint32_t)room};
	memcpy(r->data, a->data, a->n_bytes);
	return s;
}

int str_concat(struct heap *h, struct val a, struct val b, struct val *out)
{
	size_t n = (size_t)a.str->n_bytes + b.str->n_bytes;
	if (b.str->n_bytes == 0 || a.str->n_bytes == 0) {
		*out = b.str->n_bytes == 0 ? a : b;
		return 0;
	}
	if (n > STR_MAX_BYTES)
		return heap_fail_kind(h, FAIL_MEMORY, "out of memory: a string of %zu bytes", n);
	if (a.str->n_bytes < SHARE_MIN_BYTES) {
		char *at;
		if (str_alloc(h, a.type, n, &at, out) < 0)
			return -1;
		memcpy(at, a.str->data, a.str->n_bytes);
		memcpy(at + a.str->n_bytes, b.str->data, b.str->n_bytes);
	} else {
		if (heap_pay(h, b.str->n_bytes / 64) < 0)
			return -1;
		struct str_room *r = room_of(a.str);
		bool has_room =
			r && r->used == a.str->n_bytes && r->room - r->used >= b.str->n_bytes;
		struct str *s = has_room ? shared(h, r) : with_room(h, a.str, n);
		if (!s)
			return -1;
		r = ((const struct str_shared *)s)->room;
		memcpy(r->data + a.str->n_bytes, b.str->data, b.str->n_bytes);
		r->used = (uint32_t)n;
		s->n_bytes = (uint32_t)n;
		*out = VAL_PTR(a.type, s);
	}
	out->str->n_chars = a.str->n_chars + b.str->n_chars;
	return 0;
}

int str_repeat(struct heap *h, struct val s, int64_t n, struct val *out)
{
	size_t bytes = s.str->n_bytes;
	char *at;
	if (n < 1 || bytes == 0)
		return str_alloc(h, s.type, 0, &at, out);
	if ((uint64_t)n > STR_MAX_BYTES / bytes)
		return heap_fail_kind(h, FAIL_MEMORY,
			"out of memory: excessive repeat (%zu * %lld)", bytes, (long long)n);
	if (str_alloc(h, s.type, bytes * (size_t)n, &at, out) < 0)
		return -1;
	for (int64_t i = 0; i < n; i++)
		memcpy(at + (size_t)i * bytes, s.str->data, bytes);
	out->str->n_chars = s.str->n_chars * (uint32_t)n;
	return 0;
}

size_t str_offset(struct val v, size_t index)
{
	const struct str *s = v.str;
	if (index >= s->n_chars)
		return s->n_bytes;
	if (s->n_chars == s->n_bytes)
		return index;
	size_t at = 0;
	for (; index > 0; index--) {
		at++;
		while (((unsigned char)s->data[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

static inline uint64_t rotate(uint64_t x, int by)
{
	return (x << by) | (x >> (64 - by));
}

#define SIP_ROUND(v)                                                                               \
	do {                                                                                       \
		(v)[0] += (v)[1];                                                                  \
		(v)[1] = rotate((v)[1], 13) ^ (v)[0];                                              \
		(v)[0] = rotate((v)[0], 32);                                                       \
		(v)[2] += (v)[3];                                                                  \
		(v)[3] = rotate((v)[3], 16) ^ (v)[2];                                              \
		(v)[0] += (v)[3];                                                                  \
		(v)[3] = rotate((v)[3], 21) ^ (v)[0];                                              \
		(v)[2] += (v)[1];                                                                  \
		(v)[1] = rotate((v)[1], 17) ^ (v)[2];                                              \
		(v)[2] = rotate((v)[2], 32);                                                       \
	} while (0)

/* Hash a string with SipHash-1-3, so that an outsider who does not know the seed cannot construct
 * strings that collide. */
uint64_t str_hash(struct heap *h, struct str *s)
{
	if (s->hash)
		return s->hash;
	uint64_t v[4] = {h->seed[0] ^ 0x736f6d6570736575u, h->seed[1] ^ 0x646f72616e646f6du,
		h->seed[0] ^ 0x6c7967656e657261u, h->seed[1] ^ 0x7465646279746573u};
	uint64_t word, last = (uint64_t)s->n_bytes << 56;
	size_t i = 0;
	for (; i + 8 <= s->n_bytes; i += 8) {
		memcpy(&word, s->data + i, 8);
		v[3] ^= word;
		SIP_ROUND(v);
		v[0] ^= word;
	}
	for (size_t k = 0; i + k < s->n_bytes; k++)
		last |= (uint64_t)(unsigned char)s->data[i + k] << (8 * k);
	v[3] ^= last;
	SIP_ROUND(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int k = 0; k < 3; k++)
		SIP_ROUND(v);
	uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];
	s->hash = (uint32_t)(hash ^ hash >> 32);
	s->hash += s->hash == 0;
	return s->hash;
}

bool str_equal(const struct str *a, const struct str *b)
{
	if (a == b)
		return true;
	if (a->n_bytes != b->n_bytes || (a->hash && b->hash && a->hash != b->hash))
		return false;
	return memcmp(a->data, b->data, a->n_bytes) == 0;
}

bool str_is(struct val v, const char *text)
{
	size_t n = strlen(text);
	return v.type == T_STRING && v.str->n_bytes == n && memcmp(v.str->data, text, n) == 0;
}

int64_t str_find(const struct str *s, const struct str *part, size_t from, size_t to)
{
	if (from > to)
		return -1;
	if (part->n_bytes == 0)
		return (int64_t)from;
	const char *found = part->n_bytes == 1
		? memchr(s->data + from, part->data[0], to - from)
		: memmem(s->data + from, to - from, part->data, part->n_bytes);
	return found ? found - s->data : -1;
}

int64_t str_rfind(const struct str *s, const struct str *part, size_t from, size_t to)
{
	size_t n = part->n_bytes;
	if (from > to || to - from < n)
		return -1;
	for (size_t at = to - n;; at--) {
		if (memcmp(s->data + at, part->data, n) == 0)
			return (int64_t)at;
		if (at == from)
			return -1;
	}
}

static int text_room(struct text *t, size_t bytes)
{
	if (t->room - t->n > bytes)
		return 0;
	/* Grow to a power of two, because the heap can reuse released pieces of such sizes. */
	size_t room = 64;
	while (room <= t->n + bytes)
		room *= 2;
	char *data = heap_regrow(t->h, t->data, t->n, room, 1);
	if (!data)
		return -1;
	heap_release(t->h, t->data, t->room);
	t->data = data;
	t->room = room;
	return 0;
}

int text_add(struct text *t, const char *data, size_t bytes)
{
	if (text_room(t, bytes) < 0)
		return -1;
	if (bytes > 0)
		memcpy(t->data + t->n, data, bytes);
	t->n += bytes;
	return bytes > 64 ? heap_pay(t->h, bytes / 64) : 0;
}

int text_puts(struct text *t, const char *text)
{
	return text_add(t, text, strlen(text));
}

int text_fill(struct text *t, const char *data, size_t bytes, int64_t times)
{
	for (int64_t i = 0; i < times; i++)
		if (text_add(t, data, bytes) < 0 || heap_pay(t->h, 1) < 0)
			return -1;
	return 0;
}

int text_char(struct text *t, int32_t character)
{
	uint32_t c = (uint32_t)character;
	char out[4];
	size_t n = 0;
	if (c < 0x80) {
		out[n++] = (char)c;
	} else if (c < 0x800) {
		out[n++] = (char)(0xc0 | c >> 6);
		out[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		out[n++] = (char)(0xe0 | c >> 12);
		out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		out[n++] = (char)(0xf0 | c >> 18);
		out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[n++] = (char)(0x80 | (c & 0x3f));
	}
	return text_add(t, out, n);
}

int text_take(struct text *t, uint32_t type, struct val *out)
{
	int r = type == T_STRING ? str_new(t->h, t->data, t->n, out)
				 : bytes_new(t->h, t->data, t->n, out);
	text_done(t);
	return r;
}

void text_done(struct text *t)
{
	heap_release(t->h, t->data, t->room);
	*t = (struct text){.h = t->h};
}

int32_t str_ord(struct val s)
{
	int32_t c;
	(void)utf8_decode(s.str->data, s.str->n_bytes, &c);
	return c;
}
