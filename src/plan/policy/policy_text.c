/*
 * Compare texts with the lists of ends_with() and member(), asymmetrically.
 *
 * An allow clause holds only if the text has a single reading: policy_ends_with("ann@example.com",
 * "@example.com") holds for a plain address and fails for "a%b@example.com" or two addresses in one
 * text, since a mail program may deliver those elsewhere.
 *
 * A deny clause holds if any reading matches: the text may be a list in one string,
 * percent-encoded, of another case, a number in hexadecimal, or contain characters that look like
 * others. If the answer is unclear, the functions return the safe value: false for allow, true for
 * deny.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/policy_text.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "plan/builtin/builtin.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_DEPTH_MAX = 8, SHORT_BYTES = 64, READINGS_MAX = 2 };

/* A part of a text, not terminated by a NUL byte. */
struct piece {
	const char *at;
	size_t n;
};

static struct piece piece_of(const struct str *s)
{
	return (struct piece){s->data, s->n_bytes};
}

/* Return whether another program may read the character @c as a different one. This holds for
 * compatibility forms of Unicode, combining and invisible characters, spaces and controls. */
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
	return (unsigned char)c <= ' ' || c == 0x7f || strchr(",;<>\"'()[]{}|`\\", c);
}

static bool is_alnum(int32_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Return whether some program treats the character as a separator of words. In ASCII, this holds
 * for all characters except letters, digits and . - _ */
static bool is_break(int32_t c)
{
	static const int32_t ranges[][2] = {{0xa1, 0xbf}, {0xd7, 0xd7}, {0xf7, 0xf7},
		{0x55a, 0x55f}, {0x589, 0x58f}, {0x5be, 0x5be}, {0x5c0, 0x5c0}, {0x5c3, 0x5c3},
		{0x5f3, 0x5f4}, {0x606, 0x60f}, {0x61b, 0x61f}, {0x66a, 0x66d}, {0x6d4, 0x6d4},
		{0x700, 0x70d}, {0x964, 0x965}, {0x970, 0x970}, {0xe4f, 0xe4f}, {0xe5a, 0xe5b},
		{0xf01, 0xf17}, {0x104a, 0x104f}, {0x10fb, 0x10fb}, {0x1360, 0x1368},
		{0x166d, 0x166e}, {0x1680, 0x1680}, {0x17d4, 0x17db}, {0x1800, 0x180a},
		{0x2e00, 0x2e5d}, {0x3001, 0x3020}, {0x3030, 0x303f}, {0x309b, 0x309c},
		{0x30a0, 0x30a0}, {0x30fb, 0x30fb}, {0x1f000, 0x1faff}};
	if (c < 0x80)
		return !is_alnum(c) && c != '.' && c != '-' && c != '_';
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static size_t count(struct piece p, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < p.n; i++)
		n += p.at[i] == c;
	return n;
}

/* Return whether @p is one word, without spaces, separators or unclear characters. */
static bool is_one(struct piece p)
{
	for (size_t i = 0; i < p.n; i++)
		if (is_separator(p.at[i]))
			return false;
	return !has_unclear(p);
}

/*
 * Return whether the address @all is plain: every program takes it for one address, and for the
 * same one. Only the first @n bytes are tested for forbidden characters. Two examples of what is
 * not plain:
 * - "a%b@c", "b!a@c", "x: a@b" and "=?utf-8?q?a=40b?=@c" are a route, a group or an encoded word. A
 *   mail program may deliver to another address.
 * - "a|b@c", "`a`@c" and "-a@c" have another meaning for a shell or an option parser.
 */
static bool is_plain_address(struct piece all, size_t n)
{
	const char *at = memchr(all.at, '@', all.n);
	size_t n_local = at ? (size_t)(at - all.at) : all.n;
	char last = '@';
	for (size_t i = 0; i < n; last = all.at[i++]) {
		char c = all.at[i];
		bool is_local = i < n_local, is_first = last == '@';
		bool is_last = i + 1 == n_local || i + 1 == all.n;
		bool is_fine = is_alnum(c) || (c == '@' && i == n_local) ||
			(is_local && (c == '_' || c == '+')) || (c == '-' && !is_first) ||
			(c == '.' && !is_first && last != '.' && !is_last);
		if (!is_fine || (c == '-' && i + 1 == all.n))
			return false;
	}
	return n_local > 0 && count(all, '@') <= 1;
}

bool policy_ends_with(const char *text, size_t bytes, const struct str *end)
{
	size_t n = end->n_bytes;
	if (bytes == 0 || bytes < n || memcmp(text + bytes - n, end->data, n) != 0)
		return false;
	/* The policy wrote @end, so only the part before it is checked. */
	const struct piece all = {text, bytes}, before = {text, bytes - n};
	if (count(all, '@') == 0)
		return is_one(before);
	return is_plain_address(all, before.n);
}

static int32_t fold(int32_t c)
{
	return c == 0x3c2 ? 0x3c3 : char_lower(c);
}

/* Return whether @a and @b are equal if case is ignored. */
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

/* Return whether the text may contain an encoded form ("xn--…") of the domain name @name. */
static bool may_be_encoded(struct piece text, struct piece name)
{
	return !is_ascii(name) && memmem(text.at, text.n, "xn--", 4);
}

/* Return @p without the dots, dashes and underscores at its end. */
static struct piece without_tail(struct piece p)
{
	while (p.n > 0 && strchr(".-_", p.at[p.n - 1]))
		p.n--;
	return p;
}

static struct piece without_marks(struct piece p)
{
	while (p.n > 0 && strchr(".-_", p.at[0])) {
		p.at++;
		p.n--;
	}
	return without_tail(p);
}

static bool ends_alike(struct piece text, struct piece end)
{
	size_t from = text.n;
	for (size_t n = utf8_count(end.at, end.n); n > 0 && from > 0; n--)
		while (--from > 0 && ((unsigned char)text.at[from] & 0xc0) == 0x80)
			;
	return is_alike((struct piece){text.at + from, text.n - from}, end);
}

/* Return whether @text, or a beginning of @text that a separator follows, may end with @end.
 * After the separator may come a path, a port, a query, or a stream of a file ("a.exe::$DATA"). */
static bool a_word_may_end(struct piece text, struct piece end)
{
	struct piece rest = text;
	for (;;) {
		struct piece word = {text.at, (size_t)(rest.at - text.at)};
		if (rest.n > 0 && !is_break(next(&rest)))
			continue;
		if (ends_alike(word, end) || ends_alike(without_dots(word), without_dots(end)) ||
			ends_alike(without_tail(word), without_dots(end)))
			return true;
		if (rest.n == 0)
			return false;
	}
}

static bool may_end(struct piece text, struct val one)
{
	struct piece end = piece_of(one.str);
	if (text.n == 0 || may_be_encoded(text, end))
		return true;
	if (count(text, '@') + count(end, '@') == 0)
		return !is_one(text) || a_word_may_end(text, end);
	text = without_dots(text);
	return !is_plain_address(text, text.n) || ends_alike(text, without_dots(end));
}

/* Convert a digit of any script to ASCII; return any other character unchanged. */
static int32_t plain_digit(int32_t c)
{
	static const int32_t zeros[] = {0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66,
		0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0,
		0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
		0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0, 0x10d30, 0x11066, 0x110f0,
		0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
		0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1e140, 0x1e2f0,
		0x1e950};
	for (size_t i = 0; i < ARRAY_LEN(zeros); i++)
		if (c >= zeros[i] && c < zeros[i] + 10)
			return '0' + c - zeros[i];
	return c;
}

/* Find the numbers that a program may read in a text, such as 5 in "0x5" or "0b101". There may
 * be two: some programs read "010" as ten, others as eight. Returns: how many numbers were
 * found. */
static size_t read_number(const char *text, double out[READINGS_MAX])
{
	char *end;
	size_t n = 0;
	out[n] = strtod(text, &end);
	n += end != text && *end == '\0';
	bool is_less = text[0] == '-';
	text += is_less || text[0] == '+';
	if (text[0] != '0')
		return n;
	int base = (text[1] | 0x20) == 'b' ? 2 : 8;
	text += (text[1] | 0x20) == 'b' || (text[1] | 0x20) == 'o' ? 2 : 1;
	if (text[0] < '0' || text[0] > '9')
		return n;
	double x = (double)strtoull(text, &end, base);
	out[n] = is_less ? -x : x;
	return n + (*end == '\0');
}

/* Find the numbers that a program may read in the text @p, such as ten and eight in "010", and
 * store them in @out. Returns: how many numbers were found; -1 if memory is exhausted. The
 * caller must then assume that the text may be any number. */
static int numbers_of(struct piece p, double out[READINGS_MAX])
{
	char small[SHORT_BYTES];
	p = trimmed(p);
	char *text = p.n < sizeof small ? small : malloc(p.n + 1);
	if (!text)
		return -1;
	size_t n = 0;
	while (p.n > 0) {
		int32_t c = plain_digit(next(&p));
		/* Skip _ and , which separate groups of digits. Any character that is not ASCII
		 * becomes "?", so that read_number() finds no number in the text. */
		if (c != '_' && c != ',')
			text[n++] = c > 0 && c < 0x80 ? (char)c : '?';
	}
	text[n] = '\0';
	int found = (int)read_number(text, out);
	if (text != small)
		free(text);
	return found;
}

static int numbers_in(struct val v, double out[READINGS_MAX])
{
	struct heap none = {0};
	if (v.type == T_STRING)
		return numbers_of(piece_of(v.str), out);
	out[0] = v.type == T_BOOL ? (double)v.i : v.f;
	if (val_is_int(v))
		return int_to_float(&none, v, out) == 0;
	return v.type == T_BOOL || v.type == T_FLOAT;
}

static bool is_same_number(int n_a, const double *a, int n_b, const double *b)
{
	for (int i = 0; i < n_a; i++)
		for (int k = 0; k < n_b; k++)
			if (a[i] == b[k])
				return true;
	return n_a < 0 || n_b < 0;
}

bool policy_is_same(struct val a, struct val b)
{
	if (a.type == T_STRING && b.type == T_STRING)
		return str_equal(a.str, b.str);
	bool are_numbers =
		(val_is_int(a) || a.type == T_FLOAT) && (val_is_int(b) || b.type == T_FLOAT);
	return are_numbers && num_compare(a, b) == 0;
}

/* Return whether @p is a word for the bool @truth, such as "yes" for True. */
static bool is_bool(struct piece p, bool truth)
{
	static const char *const words[2][5] = {
		{"false", "no", "off", "f", "n"}, {"true", "yes", "on", "t", "y"}};
	p = trimmed(p);
	for (size_t i = 0; i < ARRAY_LEN(words[0]); i++)
		if (is_alike(p, (struct piece){words[truth][i], strlen(words[truth][i])}))
			return true;
	return false;
}

/* Return whether a program may take the whole text for the value @one of the policy. If @one is
 * 5, for example, this is true of "0x5". */
static bool may_name(struct piece text, struct val one)
{
	double a[READINGS_MAX], b[READINGS_MAX];
	int n = numbers_of(text, a);
	if ((n != 0 && is_same_number(n, a, numbers_in(one, b), b)) ||
		(one.type == T_BOOL && is_bool(text, one.i)))
		return true;
	return one.type == T_STRING && is_alike(trimmed(text), trimmed(piece_of(one.str)));
}

/* Remove the next word from the front of @rest. Returns: the word; an empty piece if no word is
 * left. */
static struct piece next_word(struct piece *rest)
{
	struct piece at = *rest;
	struct piece word = at;
	while (at.n > 0) {
		struct piece before = at;
		if (!is_break(next(&at)))
			continue;
		word.n = (size_t)(before.at - word.at);
		if (word.n > 0)
			break;
		word = at;
	}
	*rest = at;
	return word;
}

static bool is_word(struct piece word, struct piece of)
{
	of = without_dots(of);
	return is_alike(without_dots(word), of) || is_alike(without_marks(word), of);
}

/* Return whether @text contains the words of @one in a row. */
static bool has_words(struct piece text, struct piece one)
{
	for (;;) {
		struct piece words = one, at = text, want, word;
		do {
			want = next_word(&words);
			word = next_word(&at);
		} while (want.n > 0 && word.n > 0 && is_word(word, want));
		if (want.n == 0)
			return next_word(&one).n > 0;
		if (next_word(&text).n == 0)
			return false;
	}
}

/* Return whether @text contains a word that a program may take for the value @one of the policy.
 * If @one is 5, such a word is "0x5". */
static bool has_number(struct piece text, struct val one)
{
	struct piece word;
	while ((word = next_word(&text)).n > 0)
		if (may_name(word, one) ||
			(!strchr("-.", word.at[0]) && may_name(without_marks(word), one)))
			return true;
	return false;
}

/*
 * Return whether @word is unclear as an address, so that a mail program may deliver to another one:
 * - It begins or ends with "@" or a dot, so it may be only a part of an address. Mail programs join
 *   parts that are separated by spaces, quotes and comments.
 * - It contains "@", but is not a plain address, see is_plain_address().
 * @word is the text between two separators. @is_last is true if @word is at the end of the whole
 * text. A dot at its end is then allowed, because it may end a sentence.
 */
static bool is_no_address(struct piece word, bool is_last)
{
	char first = word.at[0], last = word.at[word.n - 1];
	bool is_part = first == '.' || first == '@' || last == '@' || (last == '.' && !is_last);
	return is_part || (count(word, '@') > 0 && !is_plain_address(word, without_dots(word).n));
}

static bool text_may_be(struct piece text, struct val one)
{
	struct piece address = one.type == T_STRING ? piece_of(one.str) : (struct piece){0};
	bool are_addresses = count(address, '@') > 0 && count(text, '@') > 0;
	size_t from = 0;
	if (may_name(text, one) || (are_addresses && may_be_encoded(text, address)))
		return true;
	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && !is_separator(text.at[i]))
			continue;
		struct piece word = {text.at + from, i - from};
		if (word.n > 0 &&
			(may_name(word, one) ||
				(are_addresses && is_no_address(word, i == text.n))))
			return true;
		from = i + 1;
	}
	return has_number(text, one) || has_words(text, address);
}

/* Return whether a program may take the number or bool @v for the value @one of the policy. For
 * example, a program may take 1 for the text "yes". */
static bool number_may_be(struct val v, struct val one)
{
	double a[READINGS_MAX], b[READINGS_MAX];
	int n = numbers_in(v, a);
	if (n == 1 && one.type == T_STRING && (a[0] == 0 || a[0] == 1) &&
		is_bool(piece_of(one.str), a[0] == 1))
		return true;
	return policy_is_same(v, one) || is_same_number(n, a, numbers_in(one, b), b);
}

typedef bool text_test(struct piece text, struct val one);

/* Return whether @test holds for @text as written, or for @text after decoding percent-encoding,
 * such as %41 to "A". A decoded separator, such as a space (%20), becomes "/", which also ends a
 * word. The separator itself would make @test count the whole text as unreliable. */
static bool test_decoded(struct piece text, struct val one, text_test *test)
{
	if (test(text, one))
		return true;
	if (count(text, '%') == 0)
		return false;
	char *plain = malloc(text.n);
	if (!plain)
		return true;
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++, n++) {
		int high = -1, low = -1;
		plain[n] = text.at[i];
		if (text.at[i] == '%' && text.n - i > 2) {
			high = ascii_hex_value(text.at[i + 1]);
			low = ascii_hex_value(text.at[i + 2]);
		}
		if (high < 0 || low < 0)
			continue;
		char c = (char)(high * 16 + low);
		plain[n] = is_separator(c) ? '/' : c;
		i += 2;
	}
	bool holds = n < text.n && test((struct piece){plain, n}, one);
	free(plain);
	return holds;
}

typedef bool part_test(struct val v, struct val one);

static bool ends(struct val v, struct val one)
{
	return v.type != T_STRING || test_decoded(piece_of(v.str), one, may_end);
}

/* Return whether a program may take @text, or a part of it, for the value @one of the policy.
 * This is also assumed if a mail header's encoding ("=?…?=") hides a part of @text. */
static bool text_names(struct piece text, struct val one)
{
	bool is_encoded = memmem(text.at, text.n, "=?", 2) && memmem(text.at, text.n, "?=", 2);
	return is_encoded || has_unclear(text) || text_may_be(text, one);
}

static bool names(struct val v, struct val one)
{
	if (v.type != T_STRING)
		return number_may_be(v, one);
	return test_decoded(piece_of(v.str), one, text_names);
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
