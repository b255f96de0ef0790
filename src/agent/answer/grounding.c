/*
 * Grounding: do the numbers of an answer come from the output of the run, or from the task?
 *
 * Every number that the run prints is remembered as a value. A number of the answer is read with
 * its precision: rounding may have changed it by up to half a unit of its last digit. The number is
 * grounded if a remembered value lies within that range: 12.34567 grounds "12.3".
 *
 * A number may have several readings, of which one must be grounded: "12 %" is 12 or 0.12, "1 MB"
 * is 10^6 or 2^20 bytes, "91.473,02" may have a decimal comma, "about 1,200" may be rounded at its
 * last digit that is not zero. The sign is ignored: a fall by 3 is a change of -3. A double cannot
 * represent every integer beyond 2^53, so for long integers the hashes of their digits are compared
 * instead. Numbers that are names are not checked: dates, versions, ordinals, list items, digits
 * within words, and code. SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/grounding.h"

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/attr.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS_MAX = 400, EXPONENT_MAX = 400, GROUP = 3, LIST_MAX = 99, EXACT_DIGITS = 15 };

/* The check tolerates this relative error in numbers of the run, which may be sums of doubles. */
#define NOISE 1e-12

struct grounding {
	double *v; /* absolute values of the numbers in the task and in the output of the run */
	size_t n, room;
	uint64_t *exact; /* hashes of long integers, which a double may not represent exactly */
	size_t n_exact, exact_room;
	bool is_sorted, is_full;
};

struct text {
	const char *data;
	size_t bytes;
};

/* A number in a text. */
struct number {
	size_t at, end;
	double value;	   /* absolute value */
	double half_unit;  /* half a unit of the last digit: 0.05 for "12.3" */
	double half_round; /* half a unit of the last digit that is not zero: 50 for "1,200" */
	uint64_t exact;	   /* hash of the digits; 0 if a double represents the number */
	size_t group_end;  /* end of the first group if commas separate groups; otherwise 0 */
	bool is_percent, is_decimal;
	bool is_part; /* the number is part of a date, a time, a version, or a word */
};

/* ---- characters and words ---- */

static char at(const struct text *t, size_t i)
{
	return i < t->bytes ? t->data[i] : '\0';
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

/* ---- reading a number ---- */

/* Return the length of the no-break or narrow space at @i, or 0 if there is another character. */
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
	while (ascii_is_digit(at(t, i + n)))
		n++;
	return n;
}

/* Return the length of @separator and exactly three digits at @i; 0 if they are not there. */
static size_t group(const struct text *t, size_t i, char separator)
{
	size_t n = separator == ' ' ? wide_space(t, i) : at(t, i) == separator;
	if (separator == ' ' && n == 0)
		n = at(t, i) == ' ';
	return n > 0 && n_digits(t, i + n) == GROUP ? n + GROUP : 0;
}

/* Return the end of the number at @i, which may have groups of digits. Set *@first_end to the
 * end of the first group if commas separate the groups, as in "100,200", otherwise to 0. */
static size_t read_groups(const struct text *t, size_t i, size_t *first_end)
{
	size_t n = n_digits(t, i), more = 0;
	*first_end = 0;
	if (n == 0 || n > GROUP || at(t, i) == '0')
		return i + n;
	for (const char *separator = ",'_ "; *separator && more == 0; separator++) {
		size_t end = i + n;
		while ((more = group(t, end, *separator)) > 0)
			end += more;
		more = end - i - n;
		if (more > 0 && *separator == ',')
			*first_end = i + n;
	}
	return i + n + more;
}

/* Return the offset behind " x 10^" or a similar sign of a power, or @i if none is there. */
static size_t behind_power(const struct text *t, size_t i)
{
	static const char *const times[] = {"\xc3\x97", "\xc2\xb7", "*", "x"};
	static const char *const tens[] = {"10^", "10**"};
	size_t from = at(t, i) == ' ' ? i + 1 : i;
	for (size_t n = 0; n < ARRAY_LEN(times) * ARRAY_LEN(tens); n++) {
		const char *mark = times[n / ARRAY_LEN(tens)], *ten = tens[n % ARRAY_LEN(tens)];
		size_t next = from + strlen(mark);
		next += at(t, next) == ' ';
		if (has_word(t, from, mark) && has_word(t, next, ten))
			return next + strlen(ten);
	}
	return i;
}

static size_t read_exponent(const struct text *t, size_t i, int *exponent)
{
	*exponent = 0;
	size_t sign = (at(t, i) | 0x20) == 'e' ? i + 1 : behind_power(t, i);
	bool is_minus = at(t, sign) == '-';
	size_t from = sign + (is_minus || at(t, sign) == '+'), n = n_digits(t, from);
	if (sign == i || n == 0 || n > 4)
		return i;
	for (size_t k = 0; k < n; k++)
		*exponent = *exponent * 10 + t->data[from + k] - '0';
	*exponent = MIN(*exponent, EXPONENT_MAX) * (is_minus ? -1 : 1);
	return from + n;
}

/* Return the FNV-1a hash of the digits, with the lowest bit set so that it is never 0. */
static uint64_t hash_of(const char *digits, size_t n)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)digits[i]) * UINT64_C(1099511628211);
	return hash | 1;
}

/* Return the value of the number in [@i, @end). Set *@n_zeros to the number of zeros at its end.
 * A double may not represent an integer of more than EXACT_DIGITS digits exactly: for such an
 * integer, set *@exact to the hash of its digits. For all other numbers, set *@exact to 0. */
static double digits_value(
	const struct text *t, size_t i, size_t end, int *n_zeros, uint64_t *exact)
{
	char digits[DIGITS_MAX + 1];
	size_t n = 0;
	*n_zeros = 0;
	for (; i < end && n < DIGITS_MAX; i++) {
		if (ascii_is_digit(t->data[i]) || t->data[i] == '.')
			digits[n++] = t->data[i];
		if (ascii_is_digit(t->data[i]))
			*n_zeros = t->data[i] == '0' ? *n_zeros + 1 : 0;
	}
	digits[n] = '\0';
	bool is_long = n > EXACT_DIGITS && !strchr(digits, '.') && digits[0] != '0';
	*exact = is_long ? hash_of(digits, n) : 0;
	return strtod(digits, NULL);
}

/* ---- the context of a number: units, dates, labels ---- */

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

/* Return the factor of a word such as "million" or "k" at @i, or 1. A single letter must follow
 * the number directly. */
static double scale_of(const struct text *t, size_t i, size_t *end)
{
	size_t from = at(t, i) == ' ' ? i + 1 : i;
	for (size_t n = 0; n < ARRAY_LEN(scales); n++) {
		size_t bytes = strlen(scales[n].word), next = from + bytes;
		bool is_ended = !is_letter(at(t, next)) && !ascii_is_digit(at(t, next));
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

/* Return whether the number is part of something larger, as in 2024-05-13, 12:30, 3.11.2,
 * 10.0.0.1, 3/4, x2, H2O and 1st. But "5-7" is two numbers, and 5kg is one. */
static bool is_part(const struct text *t, const struct number *n)
{
	char before = n->at > 0 ? t->data[n->at - 1] : '\0';
	char two = n->at > 1 ? t->data[n->at - 2] : '\0';
	char after = at(t, n->end), beyond = at(t, n->end + 1);
	static const char *const ordinals[] = {"st", "nd", "rd", "th"};
	if (is_letter(before) || (before == '-' && is_letter(two)))
		return true;
	if ((after | 0x20) == 'x' && n->end - n->at == 1 &&
		(is_letter(beyond) || ascii_is_digit(beyond)))
		return true; /* as in "0x1f" */
	for (size_t i = 0; i < ARRAY_LEN(ordinals); i++)
		if (has_word(t, n->end, ordinals[i]) && !is_letter(at(t, n->end + 2)))
			return true;
	if (before && strchr(".:/", before) && ascii_is_digit(two))
		return true;
	if (after && strchr(".:/", after) && ascii_is_digit(beyond))
		return true;
	/* the year of a date such as 2024-05-13, or its month or day */
	bool is_year = n->end - n->at == 4 && after == '-' && n_digits(t, n->end + 1) == 2 &&
		at(t, n->end + 3) == '-';
	bool is_rest = before == '-' && ascii_is_digit(two) && n->end - n->at == 2;
	return is_year || is_rest;
}

static bool is_month(const struct text *t, size_t i)
{
	static const char *const months[] = {"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december"};
	size_t n = 0;
	while (is_letter(at(t, i + n)))
		n++;
	for (size_t k = 0; k < ARRAY_LEN(months); k++) {
		size_t bytes = strlen(months[k]);
		bool is_short = n == 3 || (n == 4 && k == 8); /* "Sept" */
		if ((n == bytes || is_short) && n <= bytes &&
			strncasecmp(t->data + i, months[k], n) == 0)
			return true;
	}
	return false;
}

static bool has_month(const struct text *t, const struct number *n)
{
	size_t word = n->at;
	while (word > 0 && strchr(" ,.", t->data[word - 1]))
		word--;
	/* In "May 13, 2024", skip the day. */
	if (word > 0 && ascii_is_digit(t->data[word - 1]) && word < n->at) {
		while (word > 0 && (ascii_is_digit(t->data[word - 1]) || t->data[word - 1] == ' '))
			word--;
	}
	while (word > 0 && is_letter(t->data[word - 1]))
		word--;
	size_t next = at(t, n->end) == ' ' ? n->end + 1 : n->end;
	return (word < n->at && is_month(t, word)) || is_month(t, next);
}

/* Return whether one of @words, which end in a space or a mark, is directly before @i. */
static bool is_behind(const struct text *t, size_t i, const char *const *words, size_t n_words)
{
	for (size_t k = 0; k < n_words; k++) {
		size_t bytes = strlen(words[k]);
		bool is_there = i >= bytes && has_word(t, i - bytes, words[k]);
		if (is_there &&
			(i == bytes || !is_letter(words[k][0]) ||
				!is_letter(t->data[i - bytes - 1])))
			return true;
	}
	return false;
}

/* Return whether the number is a year: "in 2024", "since 1999". */
static bool is_year(const struct text *t, const struct number *n)
{
	static const char *const words[] = {"in ", "since ", "from ", "until ", "till ", "by ",
		"year ", "during ", "before ", "after ", "of ", "through ", "mid-", "(", "fy ",
		"fy"};
	return n->end - n->at == 4 && n->value >= 1900 && n->value < 2100 &&
		is_behind(t, n->at, words, ARRAY_LEN(words));
}

/* Return whether the number is the label of a list item ("1. First", "2) Second"), of a heading
 * ("Step 3") or of a version ("Python 3"). */
static bool is_label(const struct text *t, const struct number *n)
{
	static const char *const words[] = {"step ", "section ", "figure ", "fig. ", "table ",
		"part ", "example ", "option ", "question ", "line ", "no. ", "chapter "};
	static const char *const versions[] = {"python ", "version ", "node ", "release ", "numpy ",
		"pandas ", "sqlite ", "linux "};
	size_t from = n->at;
	while (from > 0 && strchr(" \t*#(>", t->data[from - 1]))
		from--;
	bool is_first = from == 0 || t->data[from - 1] == '\n';
	char after = at(t, n->end), beyond = at(t, n->end + 1);
	if (is_behind(t, n->at, versions, ARRAY_LEN(versions)))
		return true;
	if (n->is_decimal || n->value > LIST_MAX)
		return false;
	if (is_first && after && strchr(".):", after) && (beyond == ' ' || beyond == '*'))
		return true;
	return is_behind(t, n->at, words, ARRAY_LEN(words));
}

static bool is_about(const struct text *t, const struct number *n)
{
	static const char *const words[] = {"about ", "around ", "approximately ", "roughly ",
		"nearly ", "almost ", "circa ", "approx. ", "some ", "~", "~ ", "\xe2\x89\x88",
		"\xe2\x89\x88 "};
	size_t from = n->at;
	if (from > 0 && t->data[from - 1] == '$')
		from--;
	return is_behind(t, from, words, ARRAY_LEN(words));
}

/* Find the factors that a unit of bytes may mean: "MB" is 1024^2 or 1000^2. Returns: how many. */
static size_t unit_factors(const struct text *t, size_t i, double out[2])
{
	static const char letters[] = "kmgtp";
	size_t from = at(t, i) == ' ' ? i + 1 : i;
	const char *found = at(t, from) ? strchr(letters, at(t, from) | 0x20) : NULL;
	if (!found)
		return 0;
	bool is_binary = at(t, from + 1) == 'i';
	size_t unit = from + 1 + is_binary;
	if (at(t, unit) != 'B' || is_letter(at(t, unit + 1)))
		return 0;
	double power = (double)(found - letters) + 1;
	out[0] = pow(1024, power);
	out[1] = pow(1000, power);
	return is_binary ? 1 : 2;
}

/* Read the first number at or after @i. Returns: whether a number was found. */
static bool next_number(const struct text *t, size_t i, struct number *out)
{
	while (i < t->bytes && !ascii_is_digit(t->data[i]) &&
		!(t->data[i] == '.' && ascii_is_digit(at(t, i + 1)) &&
			(i == 0 || !ascii_is_digit(t->data[i - 1]))))
		i++;
	if (i >= t->bytes)
		return false;
	size_t group_end, end = read_groups(t, i, &group_end), n_decimals = 0;
	if (at(t, end) == '.' && ascii_is_digit(at(t, end + 1))) {
		n_decimals = n_digits(t, end + 1);
		end += 1 + n_decimals;
	}
	int exponent, n_zeros;
	*out = (struct number){.at = i, .group_end = group_end, .is_decimal = n_decimals > 0};
	double value = digits_value(t, i, end, &n_zeros, &out->exact);
	out->end = read_exponent(t, end, &exponent);
	out->is_part = is_part(t, out);
	double scale = scale_of(t, out->end, &out->end) * pow(10, exponent);
	if (scale != 1)
		out->exact = 0;
	out->is_percent = is_percent(t, out->end);
	out->value = value * scale;
	out->half_unit = 0.5 * pow(10, -(double)n_decimals) * scale;
	out->half_round = n_decimals > 0 ? out->half_unit : 0.5 * pow(10, n_zeros) * scale;
	return true;
}

/* ---- the remembered numbers ---- */

struct grounding *grounding_new(void)
{
	return xnew(struct grounding);
}

void grounding_free(struct grounding *g)
{
	if (g)
		free(g->v);
	if (g)
		free(g->exact);
	free(g);
}

bool grounding_is_full(const struct grounding *g)
{
	return g->is_full || g->n == GROUNDING_NUMBERS_MAX;
}

const double *grounding_values(const struct grounding *g, size_t *n)
{
	*n = g->n;
	return g->v;
}

const uint64_t *grounding_exact(const struct grounding *g, size_t *n)
{
	*n = g->n_exact;
	return g->exact;
}

int grounding_remember(struct grounding *g, double value)
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

int grounding_remember_exact(struct grounding *g, uint64_t hash)
{
	if (g->n_exact == g->exact_room) {
		size_t room = MAX(g->exact_room * 2, (size_t)64);
		uint64_t *exact = realloc(g->exact, room * sizeof *exact);
		if (!exact)
			return -ENOMEM;
		g->exact = exact;
		g->exact_room = room;
	}
	g->exact[g->n_exact++] = hash;
	return 0;
}

/* Remember the groups of a number, too: "[100,200,300]" may be three numbers or one. */
static int remember_groups(struct grounding *g, const struct text *t, const struct number *n)
{
	for (size_t i = n->at; n->group_end && i < n->end; i++) {
		size_t bytes = n_digits(t, i);
		int n_zeros;
		uint64_t exact;
		int r = bytes
			? grounding_remember(g, digits_value(t, i, i + bytes, &n_zeros, &exact))
			: 0;
		if (r < 0)
			return r;
		i += bytes;
	}
	return 0;
}

int grounding_add(struct grounding *g, const char *text, size_t bytes)
{
	const struct text t = {text, bytes};
	struct number n;
	for (size_t i = 0; next_number(&t, i, &n) && !g->is_full; i = n.end) {
		int r = isfinite(n.value) ? grounding_remember(g, n.value) : 0;
		if (r == 0 && n.exact)
			r = grounding_remember_exact(g, n.exact);
		if (r == 0)
			r = remember_groups(g, &t, &n);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- checking whether the numbers of a text are grounded ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Return whether a remembered value differs from @value by at most @slack. */
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

static bool is_exact(const struct grounding *g, uint64_t hash)
{
	for (size_t i = 0; i < g->n_exact; i++)
		if (g->exact[i] == hash)
			return true;
	return false;
}

/* Read a number with a decimal comma, such as "91.473,02" or "383,33". Returns: the end of the
 * number if the number is grounded when it is read like this; otherwise 0. */
static size_t comma_decimal(const struct grounding *g, const struct text *t, size_t i)
{
	char digits[DIGITS_MAX + 1];
	size_t n = 0, end = i, run = n_digits(t, i), n_decimals;
	for (bool is_first = true; run > 0 && n + run < DIGITS_MAX; is_first = false) {
		memcpy(digits + n, t->data + end, run);
		n += run;
		end += run;
		bool is_group = at(t, end) == '.' && n_digits(t, end + 1) == GROUP;
		run = is_group && (!is_first || n <= GROUP) ? GROUP : 0;
		end += run > 0;
	}
	n_decimals = at(t, end) == ',' ? n_digits(t, end + 1) : 0;
	if (n == 0 || n_decimals == 0 || n + n_decimals + 1 > DIGITS_MAX)
		return 0;
	digits[n] = '.';
	memcpy(digits + n + 1, t->data + end + 1, n_decimals);
	digits[n + 1 + n_decimals] = '\0';
	double half_unit = 0.5 * pow(10, -(double)n_decimals);
	return is_shown(g, strtod(digits, NULL), half_unit) ? end + 1 + n_decimals : 0;
}

static bool is_grounded(const struct grounding *g, const struct text *t, const struct number *n)
{
	double factors[2];
	if (!isfinite(n->value) || n->is_part || is_label(t, n) || has_month(t, n) || is_year(t, n))
		return true;
	if (n->exact)
		return is_exact(g, n->exact);
	double slack = is_about(t, n) ? n->half_round : n->half_unit;
	if (is_shown(g, n->value, slack) ||
		(n->is_percent && is_shown(g, n->value / 100, slack / 100)))
		return true;
	for (size_t i = unit_factors(t, n->end, factors); i > 0; i--)
		if (is_shown(g, n->value * factors[i - 1], slack * factors[i - 1]))
			return true;
	return false;
}

/* If a fenced block of code begins at @i, return the offset behind it, otherwise @i. */
static size_t skip_code(const struct text *t, size_t i)
{
	bool is_line = i == 0 || t->data[i - 1] == '\n';
	if (!is_line || !has_word(t, i, "```"))
		return i;
	const char *end = memmem(t->data + i + 3, t->bytes - i - 3, "\n```", 4);
	return end ? (size_t)(end - t->data) + 4 : t->bytes;
}

/* Return the offset of the first fence in [@i, @end), or @end. */
static size_t next_code(const struct text *t, size_t i, size_t end)
{
	for (; i < end; i++)
		if (skip_code(t, i) > i)
			return i;
	return end;
}

size_t grounding_check(struct grounding *g, const char *text, size_t bytes,
	struct grounding_miss *out, size_t n_max)
{
	const struct text t = {text, bytes};
	struct number n;
	size_t n_missed = 0, next;
	if (!g->is_sorted && g->n > 0)
		qsort(g->v, g->n, sizeof *g->v, compare);
	g->is_sorted = true;
	for (size_t i = 0; next_number(&t, i, &n); i = next) {
		size_t code = next_code(&t, i, n.at + 1);
		size_t comma = comma_decimal(g, &t, n.at);
		next = code <= n.at ? skip_code(&t, code) : comma ? comma : n.end;
		if (code <= n.at || comma || is_grounded(g, &t, &n))
			continue;
		if (n_missed < n_max)
			out[n_missed] = (struct grounding_miss){n.at, n.end - n.at};
		n_missed++;
	}
	return n_missed;
}
