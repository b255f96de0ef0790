/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/number.h"

#include "base/attr.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TOKEN_BYTES = 96, WORD_BYTES = 16, EXPONENT_MAX = 400, YEAR_FIRST = 1900, YEAR_LAST = 2100 };

/* Thousands apart, one letter each in a token: "~" stands for all kinds of spaces. */
static const struct {
	const char *bytes;
	char sign;
} separators[] = {{".", '.'}, {",", ','}, {"'", '\''}, {"_", '_'}, {"\xc2\xa0", '~'},
	{"\xe2\x80\xaf", '~'}, {"\xe2\x80\x89", '~'}, {"\xe2\x80\x99", '\''}};

static const struct {
	char point, group;
} customs[] = {{'.', ','}, {',', '.'}, {'.', '\''}, {'.', '_'}, {'.', '~'}, {',', '~'}};

static const struct {
	const char *word;
	double scale;
} scales[] = {{"percent", 0.01}, {"k", 1e3}, {"thousand", 1e3}, {"m", 1e6}, {"mn", 1e6},
	{"mio", 1e6}, {"million", 1e6}, {"b", 1e9}, {"bn", 1e9}, {"billion", 1e9}, {"t", 1e12},
	{"tn", 1e12}, {"trillion", 1e12}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0}, {"tib", 1099511627776.0},
	{"km", 1e3}, {"kg", 1e3}, {"kw", 1e3}, {"kwh", 1e3}, {"ms", 1e-3}, {"cm", 1e-2},
	{"mm", 1e-3}};

/* In front of a number that only names something, or of a year. */
static const char *const labels[] = {"step", "figure", "table", "section", "chapter", "phase",
	"part", "option", "no", "line", "page", "version", "python", "question", "item"};
static const char *const year_words[] = {"in", "since", "year", "years", "from", "until", "to",
	"during", "by", "of", "fy", "between", "and", "through", "till"};
static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
	"sept", "oct", "nov", "dec", "january", "february", "march", "april", "june", "july",
	"august", "september", "october", "november", "december"};
static const char *const vague[] = {"about", "around", "approximately", "roughly", "nearly",
	"almost", "circa", "ca", "approx", "over", "under", "than"};

struct scan {
	const char *text;
	size_t bytes, at;
};

static unsigned char peek(const struct scan *s, size_t at)
{
	return at < s->bytes ? (unsigned char)s->text[at] : 0;
}

static bool is_letter(unsigned char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_word_byte(unsigned char c)
{
	return is_letter(c) || isdigit(c) || c == '_';
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(word, list[i]) == 0)
			return true;
	return false;
}

/* The word that ends in front of @at, across blanks, commas and points. */
static void word_before(const struct scan *s, size_t at, char out[WORD_BYTES])
{
	size_t end = at;
	while (end > 0 && strchr(" ,.(~\t$#", s->text[end - 1]) && s->text[end - 1])
		end--;
	size_t begin = end;
	while (begin > 0 && is_letter(peek(s, begin - 1)))
		begin--;
	size_t n = end - begin < WORD_BYTES ? end - begin : 0;
	memcpy(out, s->text + begin, n);
	out[n] = '\0';
}

/* The word behind @at, across one blank. Returns: where it ends. */
static size_t word_behind(const struct scan *s, size_t at, char out[WORD_BYTES])
{
	size_t begin = at;
	if (peek(s, begin) == ' ')
		begin++;
	else if (peek(s, begin) == 0xc2 && peek(s, begin + 1) == 0xa0)
		begin += 2;
	size_t end = begin;
	while (is_letter(peek(s, end)))
		end++;
	size_t n = end - begin < WORD_BYTES ? end - begin : 0;
	memcpy(out, s->text + begin, n);
	out[n] = '\0';
	return n > 0 ? end : at;
}

/* Digits and what separates them, a letter for each separator. Returns: where they end. */
static size_t read_token(const struct scan *s, size_t at, char out[TOKEN_BYTES])
{
	size_t n = 0;
	while (n < TOKEN_BYTES - 1) {
		if (isdigit(peek(s, at))) {
			out[n++] = s->text[at++];
			continue;
		}
		size_t k = 0;
		for (; k < ARRAY_LEN(separators); k++) {
			size_t w = strlen(separators[k].bytes);
			if (s->bytes - at > w &&
				memcmp(s->text + at, separators[k].bytes, w) == 0 &&
				isdigit(peek(s, at + w)))
				break;
		}
		if (k == ARRAY_LEN(separators))
			break;
		out[n++] = separators[k].sign;
		at += strlen(separators[k].bytes);
	}
	out[n] = '\0';
	return at;
}

/* "1,234.5" by one custom. Returns: false when it is not written so. */
static bool read_by(const char *token, char point, char group, struct reading *out)
{
	char plain[TOKEN_BYTES];
	size_t n = 0, n_group = 0, n_decimals = 0;
	bool has_group = false, has_point = false;
	for (const char *p = token; *p; p++) {
		if (isdigit((unsigned char)*p)) {
			plain[n++] = *p;
			n_group++;
			n_decimals += has_point;
		} else if (*p == group && !has_point) {
			/* In front of the first at most three, between them exactly three. */
			if (n_group > 3 || n_group == 0 || (has_group && n_group != 3))
				return false;
			has_group = true;
			n_group = 0;
		} else if (*p == point && !has_point) {
			if (has_group && n_group != 3)
				return false;
			plain[n++] = '.';
			has_point = true;
		} else {
			return false;
		}
	}
	plain[n] = '\0';
	if (has_group && !has_point && n_group != 3)
		return false;
	*out = (struct reading){strtod(plain, NULL), pow(10, -(double)n_decimals)};
	return true;
}

static void add_reading(struct number *out, struct reading r)
{
	for (size_t i = 0; i < out->n_readings; i++)
		if (out->readings[i].value == r.value && out->readings[i].unit == r.unit)
			return;
	if (out->n_readings < NUMBER_READINGS_MAX && isfinite(r.value))
		out->readings[out->n_readings++] = r;
}

static void scale_all(struct number *out, double scale)
{
	for (size_t i = 0; i < out->n_readings; i++) {
		out->readings[i].value *= scale;
		out->readings[i].unit *= scale;
	}
}

/* "e5", "x10^5", "× 10^-5". Returns: where it ends; @at: there is none. */
static size_t read_exponent(const struct scan *s, size_t at, int *exponent)
{
	size_t i = at;
	if ((peek(s, i) | 0x20) == 'e') {
		i++;
	} else {
		i += peek(s, i) == ' ';
		if (peek(s, i) == 0xc3 && peek(s, i + 1) == 0x97)
			i += 2;
		else if (peek(s, i) && strchr("xX*", s->text[i]))
			i++;
		else
			return at;
		i += peek(s, i) == ' ';
		if (peek(s, i) != '1' || peek(s, i + 1) != '0' || peek(s, i + 2) != '^')
			return at;
		i += 3;
	}
	bool is_negative = peek(s, i) == '-';
	i += is_negative || peek(s, i) == '+';
	size_t begin = i;
	int n = 0;
	for (; isdigit(peek(s, i)); i++)
		n = n < EXPONENT_MAX ? n * 10 + (peek(s, i) - '0') : n;
	if (i == begin || is_letter(peek(s, i)))
		return at;
	*exponent = is_negative ? -n : n;
	return i;
}

/* What stands behind it and scales it: one more reading. Returns: where it ends. */
static size_t read_scale(const struct scan *s, size_t at, struct number *out)
{
	char word[WORD_BYTES];
	size_t blank = at + (peek(s, at) == ' ');
	size_t end = word_behind(s, at, word);
	double scale = peek(s, blank) == '%' ? 0.01 : 0;
	if (scale > 0)
		end = blank + 1;
	for (size_t i = 0; i < ARRAY_LEN(scales) && scale == 0; i++)
		if (strcasecmp(word, scales[i].word) == 0)
			scale = scales[i].scale;
	if (scale == 0)
		return at;
	for (size_t i = 0, n = out->n_readings; i < n; i++)
		add_reading(out,
			(struct reading){
				out->readings[i].value * scale, out->readings[i].unit * scale});
	return end;
}

/* "2024-05-13", "13/5/2024", "2024-05", "12:30:00", "10:30". Returns: where it ends, or @at. */
static size_t read_date(const struct scan *s, size_t at, size_t n_digits)
{
	unsigned char sign = peek(s, at);
	size_t i = at, n_parts = 1, last = 0;
	while (sign && strchr("-/:", sign) && peek(s, i) == sign && isdigit(peek(s, i + 1))) {
		size_t begin = ++i;
		while (isdigit(peek(s, i)))
			i++;
		last = i - begin;
		n_parts++;
	}
	bool is_date = n_parts == 3 || (n_parts == 2 && sign == ':' && last == 2) ||
		(n_parts == 2 && sign == '-' && n_digits == 4 && last == 2);
	if (!is_date)
		return at;
	/* "T10:30:00.5Z" belongs to it. */
	while (is_word_byte(peek(s, i)) ||
		(peek(s, i) && strchr(":.+", s->text[i]) && isdigit(peek(s, i + 1))))
		i++;
	return i;
}

static bool is_ordinal(const struct scan *s, size_t end)
{
	static const char *const endings[] = {"st", "nd", "rd", "th"};
	char word[WORD_BYTES];
	return is_letter(peek(s, end)) && word_behind(s, end, word) > end &&
		is_one_of(word, endings, ARRAY_LEN(endings));
}

/* "1. " or "2) " at the beginning of a line. */
static bool is_list_mark(const struct scan *s, size_t begin, size_t end)
{
	unsigned char mark = peek(s, end), after = peek(s, end + 1);
	size_t i = begin;
	while (i > 0 && (s->text[i - 1] == ' ' || s->text[i - 1] == '\t'))
		i--;
	return (i == 0 || s->text[i - 1] == '\n') && end - begin <= 3 &&
		(mark == '.' || mark == ')') && (after == ' ' || after == '\t');
}

static bool is_year(const struct number *n, size_t n_bytes)
{
	double v = n->readings[0].value;
	return n_bytes == 4 && v >= YEAR_FIRST && v <= YEAR_LAST && v == floor(v);
}

static bool says_how_much(const struct scan *s, const struct number *n, size_t begin, size_t end)
{
	char before[WORD_BYTES], behind[WORD_BYTES];
	word_before(s, begin, before);
	(void)word_behind(s, end, behind);
	if (is_ordinal(s, end) || is_list_mark(s, begin, end) ||
		is_one_of(before, labels, ARRAY_LEN(labels)))
		return false;
	if (end - begin <= 4 &&
		(is_one_of(before, months, ARRAY_LEN(months)) ||
			is_one_of(behind, months, ARRAY_LEN(months))))
		return false;
	if (!is_year(n, end - begin))
		return true;
	/* "May 13, 2024": the month stands before the day. */
	size_t day = begin;
	while (day > 0 && s->text[day - 1] && strchr(" ,.", s->text[day - 1]))
		day--;
	size_t month = day;
	while (month > 0 && day - month < 2 && isdigit(peek(s, month - 1)))
		month--;
	char first[WORD_BYTES];
	word_before(s, month, first);
	return !is_one_of(before, year_words, ARRAY_LEN(year_words)) &&
		!(month < day && is_one_of(first, months, ARRAY_LEN(months)));
}

/* "about 1,200" may come from 1,234: its last zeros do not count, but two digits do. */
static void widen(const struct scan *s, struct number *n, size_t begin)
{
	char before[WORD_BYTES];
	word_before(s, begin, before);
	bool is_vague = is_one_of(before, vague, ARRAY_LEN(vague)) ||
		(begin > 0 && s->text[begin - 1] == '~') ||
		(begin > 2 && memcmp(s->text + begin - 3, "\xe2\x89\x88", 3) == 0);
	for (size_t i = 0; i < n->n_readings && is_vague; i++) {
		struct reading *r = &n->readings[i];
		while (r->value != 0 && r->unit * 100 <= fabs(r->value) &&
			fmod(fabs(r->value), r->unit * 10) < r->unit / 2)
			r->unit *= 10;
	}
}

/* All digits of a long number as one word. Source: FNV-1a. */
static uint64_t fold_digits(const char *token)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t n = 0;
	while (*token == '0')
		token++;
	for (; *token; token++)
		if (isdigit((unsigned char)*token)) {
			hash = (hash ^ (unsigned char)*token) * 0x100000001b3u;
			n++;
		}
	return n > NUMBER_EXACT_DIGITS ? hash | 1 : 0;
}

/* The sign in front, when there is one: "5-3" has none. */
static size_t read_sign(const struct scan *s, size_t begin)
{
	size_t n = begin > 0 && s->text[begin - 1] == '-' ? 1 : 0;
	if (begin > 2 && memcmp(s->text + begin - 3, "\xe2\x88\x92", 3) == 0)
		n = 3;
	unsigned char before = begin > n ? (unsigned char)s->text[begin - n - 1] : ' ';
	return n > 0 && !is_word_byte(before) && before != ')' ? n : 0;
}

/* A number that begins at @begin. Returns: false when it is none; `at` is behind it anyway. */
static bool read_number(struct scan *s, size_t begin, struct number *out)
{
	char token[TOKEN_BYTES];
	int exponent = 0;
	*out = (struct number){.at = begin};
	size_t end = read_token(s, begin, token), digits_end = end;
	s->at = end;
	for (size_t i = 0; i < ARRAY_LEN(customs); i++) {
		struct reading r;
		if (read_by(token, customs[i].point, customs[i].group, &r))
			add_reading(out, r);
	}
	size_t date_end = read_date(s, end, strlen(token));
	if (date_end > end) {
		s->at = date_end;
		return false;
	}
	if (out->n_readings == 0) {
		/* "1,22,3" is a list; "1.2.3" is a version. */
		size_t n = strcspn(token, ",");
		bool is_list = token[n] == ',';
		token[n] = '\0';
		if (!is_list || !read_by(token, '.', '~', &out->readings[0]))
			return false;
		out->n_readings = 1;
		s->at = end = digits_end = begin + n;
	}
	end = read_exponent(s, end, &exponent);
	if (exponent != 0)
		scale_all(out, pow(10, exponent));
	out->digits = exponent == 0 ? fold_digits(token) : 0;
	out->is_claim = says_how_much(s, out, begin, digits_end);
	widen(s, out, begin);
	end = read_scale(s, end, out);
	s->at = end;
	/* "3f9a", "0x1f": a name that begins with a digit. */
	size_t i = end;
	while (is_letter(peek(s, i)))
		i++;
	if (i > end && (isdigit(peek(s, i)) || peek(s, i) == '_')) {
		while (is_word_byte(peek(s, i)))
			i++;
		s->at = i;
		return false;
	}
	size_t sign = read_sign(s, begin);
	out->has_sign = sign > 0;
	out->at = begin - sign;
	out->bytes = end - out->at;
	if (sign > 0)
		for (size_t k = 0; k < out->n_readings; k++)
			out->readings[k].value = -out->readings[k].value;
	return true;
}

bool number_next(const char *text, size_t bytes, size_t *at, struct number *out)
{
	struct scan s = {text, bytes, *at};
	while (s.at < bytes) {
		if (is_letter(peek(&s, s.at)) || text[s.at] == '_') {
			/* A word, with the digits in it. */
			while (is_word_byte(peek(&s, s.at)))
				s.at++;
			continue;
		}
		if (!isdigit(peek(&s, s.at))) {
			s.at++;
			continue;
		}
		if (read_number(&s, s.at, out)) {
			*at = s.at;
			return true;
		}
	}
	*at = bytes;
	return false;
}
