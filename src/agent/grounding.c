/*
 * A number is read as it is written: a value, and half of the unit of its last digit, which is what
 * rounding may have done to it. What was shown is kept sorted by size, so that a text is checked in
 * one look per number and reading of it. SPDX-License-Identifier: Apache-2.0
 */
#include "agent/grounding.h"

#include "base/attr.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 400, EXPONENT_MAX = 400, GROUP = 3, LIST_MAX = 99 };

/* What a sum of doubles may be off by. */
#define NOISE 1e-12

struct grounding {
	double *v; /* sizes, without sign */
	size_t n, room;
	bool is_sorted, is_full;
};

struct text {
	const char *data;
	size_t bytes;
};

/* One number of a text. */
struct number {
	size_t at, end;
	double value;	   /* without sign */
	double half_unit;  /* of its last digit */
	double half_round; /* of its last digit that is no zero */
	bool is_percent, is_decimal, is_scaled;
	bool is_part; /* of a date, a time, a version, a word */
};

/* ---- letters ---- */

static char at(const struct text *t, size_t i)
{
	return i < t->bytes ? t->data[i] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	unsigned char low = (unsigned char)c | 0x20;
	return (low >= 'a' && low <= 'z') || c == '_';
}

static bool has_word(const struct text *t, size_t i, const char *word)
{
	size_t n = strlen(word);
	return t->bytes - MIN(i, t->bytes) >= n && strncasecmp(t->data + i, word, n) == 0;
}

/* ---- reading one ---- */

/* The spaces that stand between groups: a narrow or another no-break space. Returns: its bytes. */
static size_t wide_space(const struct text *t, size_t i)
{
	static const char *const spaces[] = {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
	for (size_t n = 0; n < ARRAY_LEN(spaces); n++)
		if (has_word(t, i, spaces[n]))
			return strlen(spaces[n]);
	return 0;
}

static size_t n_digits(const struct text *t, size_t i)
{
	size_t n = 0;
	while (is_digit(at(t, i + n)))
		n++;
	return n;
}

/* A separator and exactly three digits. Returns: the bytes of both. */
static size_t group(const struct text *t, size_t i, char separator)
{
	size_t n = separator == ' ' ? wide_space(t, i) : at(t, i) == separator;
	if (separator == ' ' && n == 0)
		n = at(t, i) == ' ';
	return n > 0 && n_digits(t, i + n) == GROUP ? n + GROUP : 0;
}

/* "1,234,567": to the end of the groups. Lists of three-digit numbers are read as they look. */
static size_t read_groups(const struct text *t, size_t i)
{
	size_t n = n_digits(t, i), more = 0;
	if (n == 0 || n > GROUP || at(t, i) == '0')
		return i + n;
	for (const char *separator = ",'_ "; *separator && more == 0; separator++) {
		size_t end = i + n;
		while ((more = group(t, end, *separator)) > 0)
			end += more;
		more = end - i - n;
	}
	return i + n + more;
}

static size_t read_exponent(const struct text *t, size_t i, int *exponent)
{
	*exponent = 0;
	if ((at(t, i) | 0x20) != 'e')
		return i;
	bool is_minus = at(t, i + 1) == '-';
	size_t from = i + 1 + (is_minus || at(t, i + 1) == '+'), n = n_digits(t, from);
	if (n == 0 || n > 4)
		return i;
	for (size_t k = 0; k < n; k++)
		*exponent = *exponent * 10 + t->data[from + k] - '0';
	*exponent = MIN(*exponent, EXPONENT_MAX) * (is_minus ? -1 : 1);
	return from + n;
}

/* The digits of [i, end) without what groups them, as strtod() reads them. */
static double digits_value(const struct text *t, size_t i, size_t end, int *n_zeros)
{
	char digits[DIGITS_MAX + 1];
	size_t n = 0;
	*n_zeros = 0;
	for (; i < end && n < DIGITS_MAX; i++) {
		if (is_digit(t->data[i]) || t->data[i] == '.')
			digits[n++] = t->data[i];
		if (is_digit(t->data[i]))
			*n_zeros = t->data[i] == '0' ? *n_zeros + 1 : 0;
	}
	digits[n] = '\0';
	return strtod(digits, NULL);
}

/* ---- what stands beside it ---- */

static const struct {
	const char *word;
	double factor;
} scales[] = {
	{"thousand", 1e3},
	{"million", 1e6},
	{"billion", 1e9},
	{"trillion", 1e12},
	{"mn", 1e6},
	{"mio", 1e6},
	{"bn", 1e9},
	{"tn", 1e12},
	{"k", 1e3},
	{"m", 1e6},
	{"b", 1e9},
};

/* "1.2 million", "3k"; a letter only right behind it. Returns: 1 for none. */
static double scale_of(const struct text *t, size_t i, size_t *end)
{
	size_t from = at(t, i) == ' ' ? i + 1 : i;
	for (size_t n = 0; n < ARRAY_LEN(scales); n++) {
		size_t bytes = strlen(scales[n].word), next = from + bytes;
		bool is_ended = !is_letter(at(t, next)) && !is_digit(at(t, next));
		if (has_word(t, from, scales[n].word) && is_ended && (bytes > 1 || from == i)) {
			*end = next;
			return scales[n].factor;
		}
	}
	return 1;
}

static bool is_percent(const struct text *t, size_t i)
{
	i += at(t, i) == ' ' ? 1 : wide_space(t, i);
	return at(t, i) == '%' || has_word(t, i, "percent") || has_word(t, i, "per cent");
}

/* 2024-05-13, 12:30, 3.11.2, 10.0.0.1, a/b; x2, H2O; but "5-7" is two numbers, and 5kg is one. */
static bool is_part(const struct text *t, const struct number *n)
{
	char before = n->at > 0 ? t->data[n->at - 1] : '\0';
	char two = n->at > 1 ? t->data[n->at - 2] : '\0';
	char after = at(t, n->end), beyond = at(t, n->end + 1);
	if (is_letter(before) || (before == '-' && is_letter(two)))
		return true;
	if (before && strchr(".:/", before) && is_digit(two))
		return true;
	if (after && strchr(".:/", after) && is_digit(beyond))
		return true;
	/* year-month-day: two digits each behind four */
	bool is_year = n->end - n->at == 4 && after == '-' && n_digits(t, n->end + 1) == 2 &&
		at(t, n->end + 3) == '-';
	bool is_rest = before == '-' && is_digit(two) && n->end - n->at == 2;
	return is_year || is_rest;
}

/* "May 13, 2024", "13 May", "in 2024": a month beside it. */
static bool has_month(const struct text *t, const struct number *n)
{
	static const char *const months[] = {"jan", "feb", "mar", "apr", "may ", "jun", "jul",
		"aug", "sep", "oct", "nov", "dec"};
	size_t word = n->at;
	while (word > 0 && strchr(" ,.", t->data[word - 1]))
		word--;
	/* "13, 2024": over the day */
	if (word > 0 && is_digit(t->data[word - 1]) && word < n->at) {
		while (word > 0 && (is_digit(t->data[word - 1]) || t->data[word - 1] == ' '))
			word--;
	}
	while (word > 0 && is_letter(t->data[word - 1]))
		word--;
	size_t next = at(t, n->end) == ' ' ? n->end + 1 : n->end;
	for (size_t i = 0; i < ARRAY_LEN(months); i++)
		if ((has_word(t, word, months[i]) && word < n->at) || has_word(t, next, months[i]))
			return true;
	return false;
}

/* Of a list ("1. First", "2) Second") or a heading ("Step 3"). */
static bool is_label(const struct text *t, const struct number *n)
{
	static const char *const words[] = {"step ", "section ", "figure ", "fig. ", "table ",
		"part ", "example ", "option ", "question ", "line ", "no. ", "chapter "};
	size_t from = n->at;
	while (from > 0 && strchr(" \t*#(>", t->data[from - 1]))
		from--;
	bool is_first = from == 0 || t->data[from - 1] == '\n';
	char after = at(t, n->end), beyond = at(t, n->end + 1);
	if (n->is_decimal || n->value > LIST_MAX)
		return false;
	if (is_first && after && strchr(".):", after) && (beyond == ' ' || beyond == '*'))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t bytes = strlen(words[i]);
		if (n->at >= bytes && has_word(t, n->at - bytes, words[i]))
			return true;
	}
	return false;
}

static bool is_about(const struct text *t, const struct number *n)
{
	static const char *const words[] = {"about ", "around ", "approximately ", "roughly ",
		"nearly ", "almost ", "circa ", "approx. ", "some ", "~", "~ ", "\xe2\x89\x88",
		"\xe2\x89\x88 "};
	size_t from = n->at;
	if (from > 0 && t->data[from - 1] == '$')
		from--;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t bytes = strlen(words[i]);
		if (from >= bytes && has_word(t, from - bytes, words[i]))
			return true;
	}
	return false;
}

/* Read the next number from @i on. Returns: whether there is one. */
static bool next_number(const struct text *t, size_t i, struct number *out)
{
	while (i < t->bytes && !is_digit(t->data[i]) &&
		!(t->data[i] == '.' && is_digit(at(t, i + 1)) &&
			(i == 0 || !is_digit(t->data[i - 1]))))
		i++;
	if (i >= t->bytes)
		return false;
	size_t end = read_groups(t, i), n_decimals = 0;
	if (at(t, end) == '.' && is_digit(at(t, end + 1))) {
		n_decimals = n_digits(t, end + 1);
		end += 1 + n_decimals;
	}
	int exponent, n_zeros;
	double value = digits_value(t, i, end, &n_zeros);
	*out = (struct number){.at = i, .is_decimal = n_decimals > 0};
	out->end = read_exponent(t, end, &exponent);
	out->is_part = is_part(t, out);
	double scale = scale_of(t, out->end, &out->end) * pow(10, exponent);
	out->is_scaled = scale > 1;
	out->is_percent = is_percent(t, out->end);
	out->value = value * scale;
	out->half_unit = 0.5 * pow(10, -(double)n_decimals) * scale;
	out->half_round = n_decimals > 0 ? out->half_unit : 0.5 * pow(10, n_zeros) * scale;
	return true;
}

/* ---- what was shown ---- */

struct grounding *grounding_new(void)
{
	return calloc(1, sizeof(struct grounding));
}

void grounding_free(struct grounding *g)
{
	if (g)
		free(g->v);
	free(g);
}

bool grounding_is_full(const struct grounding *g)
{
	return g->is_full;
}

static int remember(struct grounding *g, double value)
{
	if (g->n == GROUNDING_NUMBERS_MAX) {
		g->is_full = true;
		return 0;
	}
	if (g->n == g->room) {
		size_t room = MAX(g->room * 2, (size_t)256);
		double *v = realloc(g->v, room * sizeof *v);
		if (!v)
			return -ENOMEM;
		g->v = v;
		g->room = room;
	}
	g->v[g->n++] = value;
	g->is_sorted = false;
	return 0;
}

int grounding_add(struct grounding *g, const char *text, size_t bytes)
{
	const struct text t = {text, bytes};
	struct number n;
	for (size_t i = 0; next_number(&t, i, &n) && !g->is_full; i = n.end) {
		int r = isfinite(n.value) ? remember(g, n.value) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the check ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Was one shown that is within @slack of @value? */
static bool is_shown(const struct grounding *g, double value, double slack)
{
	double reach = slack * (1 + 1e-9) + value * NOISE, low = value - reach;
	size_t from = 0, to = g->n;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (g->v[middle] < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from < g->n && g->v[from] <= value + reach;
}

static bool is_grounded(const struct grounding *g, const struct text *t, const struct number *n)
{
	if (!isfinite(n->value) || n->is_part || is_label(t, n) || has_month(t, n))
		return true;
	double slack = is_about(t, n) ? n->half_round : n->half_unit;
	return is_shown(g, n->value, slack) ||
		(n->is_percent && is_shown(g, n->value / 100, slack / 100));
}

size_t grounding_check(struct grounding *g, const char *text, size_t bytes,
	struct grounding_miss *out, size_t n_max)
{
	const struct text t = {text, bytes};
	struct number n;
	size_t n_missed = 0;
	if (!g->is_sorted && g->n > 0)
		qsort(g->v, g->n, sizeof *g->v, compare);
	g->is_sorted = true;
	for (size_t i = 0; next_number(&t, i, &n); i = n.end) {
		if (is_grounded(g, &t, &n))
			continue;
		if (n_missed < n_max)
			out[n_missed] = (struct grounding_miss){n.at, n.end - n.at};
		n_missed++;
	}
	return n_missed;
}
