/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/policy_text.h"

#include "base/utf8.h"
#include "plan/int.h"
#include "plan/method.h"
#include "plan/str.h"
#include "plan/table.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_DEPTH_MAX = 8, NUMBER_MAX_BYTES = 64 };

/* A stretch of a text. */
struct piece {
	const char *at;
	size_t n;
};

static struct piece piece_of(const struct str *s)
{
	return (struct piece){s->data, s->n_bytes};
}

/*
 * Characters that stand for others (by compatibility forms of Unicode), that combine, are not seen,
 * are spaces or controls: what a text with one of them is, another program may see otherwise.
 */
static bool is_unclear(int32_t c)
{
	static const int32_t ranges[][2] = {{0x00, 0x08}, {0x0b, 0x0c}, {0x0e, 0x1f}, {0x7f, 0xa0},
		{0xa8, 0xa8}, {0xaa, 0xaa}, {0xad, 0xad}, {0xaf, 0xaf}, {0xb2, 0xb5}, {0xb8, 0xba},
		{0xbc, 0xbe}, {0xdf, 0xdf}, {0x130, 0x133}, {0x13f, 0x140}, {0x149, 0x149},
		{0x17f, 0x17f}, {0x1c4, 0x1cc}, {0x1f1, 0x1f3}, {0x2b0, 0x385}, {0x387, 0x387},
		{0x3d0, 0x3ff}, {0x587, 0x587}, {0x61c, 0x61c}, {0x675, 0x678}, {0x1100, 0x11ff},
		{0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x1d2c, 0x1dff}, {0x1e9a, 0x1e9e},
		{0x1f00, 0x2bff}, {0x2c7c, 0x2c7d}, {0x2e80, 0x3000}, {0x3130, 0x318f},
		{0x3200, 0x33ff}, {0xa69c, 0xa69d}, {0xa770, 0xa770}, {0xa7f2, 0xa7f9},
		{0xab5c, 0xab69}, {0xd7a4, 0xffff}, {0x1d400, 0x1d7ff}, {0x1ee00, 0x1eeff},
		{0x1f100, 0x1f2ff}, {0x1fbf0, 0x1fbf9}, {0xe0000, 0x10ffff}};
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return c < 0;
}

static int32_t next(struct piece *p)
{
	int32_t c;
	size_t n = utf8_decode(p->at, p->n, &c);
	p->at += n;
	p->n -= n;
	return c;
}

static bool has_unclear(struct piece p)
{
	while (p.n > 0)
		if (is_unclear(next(&p)))
			return true;
	return false;
}

static bool is_ascii(struct piece p)
{
	for (size_t i = 0; i < p.n; i++)
		if ((unsigned char)p.at[i] >= 0x80)
			return false;
	return true;
}

static bool is_separator(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f || strchr(",;<>\"'()[]\\", c);
}

static size_t count(struct piece p, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < p.n; i++)
		n += p.at[i] == c;
	return n;
}

/*
 * One thing: what holds a space or a separator may be two. Of addresses routes and groups have
 * parts that a program may take for the address: "a%b@c", "b!a@c", "x: a@b", "a@b@c". So has what
 * is encoded as a word of a header: "=?utf-8?q?a=40b=3e?=@c".
 */
static bool is_one(struct piece p, bool is_address)
{
	for (size_t i = 0; i < p.n; i++)
		if (is_separator(p.at[i]) || (is_address && strchr("%!:?", p.at[i])))
			return false;
	return is_address ? is_ascii(p) && count(p, '@') <= 1 : !has_unclear(p);
}

bool policy_ends_with(const char *text, size_t bytes, const struct str *end)
{
	size_t n = end->n_bytes;
	if (bytes == 0 || bytes < n || memcmp(text + bytes - n, end->data, n) != 0)
		return false;
	/* The end itself is the policy's word; in front of an @ stands somebody. */
	const struct piece all = {text, bytes}, before = {text, bytes - n};
	bool is_address = count(all, '@') > 0;
	return is_one(before, is_address) && count(all, '@') <= 1 &&
		(n == 0 || end->data[0] != '@' || bytes > n);
}

static int32_t fold(int32_t c)
{
	return c == 0x3c2 ? 0x3c3 : char_lower(c);
}

/* Whatever the case. */
static bool is_alike(struct piece a, struct piece b)
{
	while (a.n > 0 && b.n > 0)
		if (fold(next(&a)) != fold(next(&b)))
			return false;
	return a.n == b.n;
}

static struct piece without_dots(struct piece p)
{
	while (p.n > 1 && p.at[p.n - 1] == '.')
		p.n--;
	return p;
}

static struct piece trimmed(struct piece p)
{
	while (p.n > 0 && is_separator(p.at[0])) {
		p.at++;
		p.n--;
	}
	while (p.n > 0 && is_separator(p.at[p.n - 1]))
		p.n--;
	return without_dots(p);
}

/* A name of a domain may be written in another way. */
static bool may_be_encoded(struct piece text, struct piece name)
{
	return !is_ascii(name) && memmem(text.at, text.n, "xn--", 4);
}

static bool may_end(struct piece text, const struct str *end)
{
	struct piece e = without_dots(piece_of(end));
	bool is_address = count(text, '@') + count(e, '@') > 0;
	if (text.n == 0 || !is_one(text, is_address) || may_be_encoded(text, e))
		return true;
	text = without_dots(text);
	size_t n = utf8_count(text.at, text.n), n_end = utf8_count(e.at, e.n);
	for (; n > n_end; n--)
		(void)next(&text);
	return is_alike(text, e);
}

/* Returns: false when it is none. */
static bool number_of(struct piece p, double *out)
{
	char text[NUMBER_MAX_BYTES], *end;
	p = trimmed(p);
	if (p.n == 0 || p.n >= sizeof text)
		return false;
	memcpy(text, p.at, p.n);
	text[p.n] = '\0';
	*out = strtod(text, &end);
	return *end == '\0';
}

static bool number_in(struct val v, double *out)
{
	struct heap none = {0};
	if (v.type == T_STRING)
		return number_of(piece_of(v.str), out);
	*out = v.type == T_BOOL ? (double)v.i : v.f;
	if (val_is_int(v))
		return int_to_float(&none, v, out) == 0;
	return v.type == T_BOOL || v.type == T_FLOAT;
}

bool policy_is_same(struct val a, struct val b)
{
	if (a.type == T_STRING && b.type == T_STRING)
		return str_equal(a.str, b.str);
	bool are_numbers =
		(val_is_int(a) || a.type == T_FLOAT) && (val_is_int(b) || b.type == T_FLOAT);
	return are_numbers && num_compare(a, b) == 0;
}

/* The whole of a text, or a word of it, may be @one: a list may be written as one text. */
static bool may_name(struct piece text, struct val one)
{
	double x, y;
	bool is_number = number_of(text, &x) && number_in(one, &y) && x == y;
	return is_number ||
		(one.type == T_STRING && is_alike(trimmed(text), trimmed(piece_of(one.str))));
}

/*
 * A word between separators: may it be another address than is written, or a part of one? Mail
 * programs put together what spaces, quotes and comments stand between.
 */
static bool is_no_address(struct piece word, bool is_last)
{
	char first = word.at[0], last = word.at[word.n - 1];
	bool is_part = first == '.' || first == '@' || last == '@' || (last == '.' && !is_last);
	return is_part || (count(word, '@') > 0 && !is_one(word, true));
}

static bool text_may_be(struct piece text, struct val one)
{
	struct piece address = one.type == T_STRING ? piece_of(one.str) : (struct piece){0};
	bool are_addresses = count(address, '@') > 0 && count(text, '@') > 0;
	size_t from = 0;
	if (may_name(text, one) || (are_addresses && may_be_encoded(text, address)))
		return true;
	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && !is_separator(text.at[i]) && text.at[i] != '|')
			continue;
		struct piece word = {text.at + from, i - from};
		if (word.n > 0 &&
			(may_name(word, one) ||
				(are_addresses && is_no_address(word, i == text.n))))
			return true;
		from = i + 1;
	}
	return false;
}

/* A number or a bool, which may be written out. */
static bool number_may_be(struct val v, struct val one)
{
	double x, y;
	if (v.type == T_BOOL && one.type == T_STRING) {
		const char *word = v.i ? "true" : "false";
		if (is_alike(trimmed(piece_of(one.str)), (struct piece){word, strlen(word)}))
			return true;
	}
	return policy_is_same(v, one) || (number_in(v, &x) && number_in(one, &y) && x == y);
}

typedef bool part_test(struct val v, struct val one);

static bool ends(struct val v, struct val one)
{
	return v.type != T_STRING || may_end(piece_of(v.str), one.str);
}

static bool names(struct val v, struct val one)
{
	if (v.type != T_STRING)
		return number_may_be(v, one);
	return has_unclear(piece_of(v.str)) || text_may_be(piece_of(v.str), one);
}

static bool any_part(struct val v, uint32_t depth, part_test *test, const struct tuple *list);

static bool any_of(
	const struct val *item, size_t n, uint32_t depth, part_test *test, const struct tuple *list)
{
	for (size_t i = 0; i < n; i++)
		if (any_part(item[i], depth, test, list))
			return true;
	return false;
}

static bool any_entry(
	const struct table *t, uint32_t depth, part_test *test, const struct tuple *list)
{
	const struct entry *e;
	for (uint32_t at = 0; (e = table_next(t, &at));)
		if (any_part(e->key, depth, test, list) || any_part(e->value, depth, test, list))
			return true;
	return false;
}

static bool any_part(struct val v, uint32_t depth, part_test *test, const struct tuple *list)
{
	bool is_deep = depth == PARTS_DEPTH_MAX;
	switch ((int)v.type) {
	case T_UNSET:
	case T_NONE:
		return false;
	case T_BOOL:
	case T_INT:
	case T_BIG:
	case T_FLOAT:
	case T_STRING:
		for (uint32_t i = 0; i < list->n; i++)
			if (test(v, list->item[i]))
				return true;
		return false;
	case T_LIST:
		return is_deep || any_of(v.list->item, v.list->n, depth + 1, test, list);
	case T_TUPLE:
		return is_deep || any_of(v.tuple->item, v.tuple->n, depth + 1, test, list);
	case T_DICT:
	case T_SET:
		return is_deep || any_entry(v.table, depth + 1, test, list);
	case T_STRUCT:
		return is_deep || any_of(v.record->names, v.record->n, depth + 1, test, list) ||
			any_of(v.record->values, v.record->n, depth + 1, test, list);
	default:
		return true;
	}
}

bool policy_any_ends_with(struct val v, const struct tuple *list)
{
	return any_part(v, 0, ends, list);
}

bool policy_any_member(struct val v, const struct tuple *list)
{
	return any_part(v, 0, names, list);
}
