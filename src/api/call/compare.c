/* Comparison of what a program has printed with what was expected.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/call/compare.h"

#include "base/ascii.h"
#include "base/err.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

/* A part of a text, not terminated. */
struct slice {
	const char *at;
	size_t bytes;
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct slice trim(struct slice s)
{
	while (s.bytes > 0 && is_space(s.at[0])) {
		s.at++;
		s.bytes--;
	}
	while (s.bytes > 0 && is_space(s.at[s.bytes - 1]))
		s.bytes--;
	return s;
}

/* Take the next line off @rest. Returns: false behind the last one. */
static bool next_line(struct slice *rest, struct slice *line)
{
	if (!rest->at)
		return false;
	const char *end = rest->bytes > 0 ? memchr(rest->at, '\n', rest->bytes) : NULL;
	*line = (struct slice){rest->at, end ? (size_t)(end - rest->at) : rest->bytes};
	*rest = end ? (struct slice){end + 1, rest->bytes - line->bytes - 1}
		    : (struct slice){NULL, 0};
	return true;
}

static bool next_word(struct slice *rest, struct slice *word)
{
	*rest = trim(*rest);
	size_t n = 0;
	while (n < rest->bytes && !is_space(rest->at[n]))
		n++;
	*word = (struct slice){rest->at, n};
	*rest = (struct slice){rest->at + n, rest->bytes - n};
	return n > 0;
}

static bool is_same(struct slice a, struct slice b)
{
	return a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0;
}

static bool is_same_in_any_case(struct slice a, struct slice b)
{
	size_t i = 0;
	while (i < a.bytes && a.bytes == b.bytes && ascii_lower(a.at[i]) == ascii_lower(b.at[i]))
		i++;
	return a.bytes == b.bytes && i == a.bytes;
}

/* Read a decimal number. */
static bool read_number(struct slice s, double *out)
{
	char text[NUMBER_BYTES], *end;
	if (s.bytes == 0 || s.bytes >= sizeof text)
		return false;
	memcpy(text, s.at, s.bytes);
	text[s.bytes] = '\0';
	if (strspn(text, "0123456789+-.eE") != s.bytes)
		return false;
	*out = strtod(text, &end);
	return *end == '\0';
}

static bool is_near(struct slice a, struct slice b)
{
	double x, y;
	return read_number(a, &x) && read_number(b, &y) &&
		fabs(x - y) / fmax(fabs(y), 1e-10) < 1e-5;
}

static bool is_same_line(struct slice printed, struct slice expected)
{
	printed = trim(printed);
	expected = trim(expected);
	return is_same_in_any_case(printed, expected) || is_near(printed, expected);
}

static bool is_same_word(struct slice printed, struct slice expected)
{
	static const struct slice yes = {"yes", 3}, no = {"no", 2};
	bool is_answer = is_same_in_any_case(expected, yes) || is_same_in_any_case(expected, no);
	return is_same(printed, expected) || (is_answer && is_same_in_any_case(printed, expected));
}

/* Compare the parts of both texts that @next takes off, one by one. */
static bool compare_parts(struct slice a, struct slice b,
	bool (*next)(struct slice *rest, struct slice *part),
	bool (*is_equal)(struct slice printed, struct slice expected))
{
	struct slice x, y;
	for (;;) {
		bool has_a = next(&a, &x), has_b = next(&b, &y);
		if (!has_a || !has_b)
			return has_a == has_b;
		if (!is_equal(x, y))
			return false;
	}
}

static bool compare_words(struct slice printed, struct slice expected)
{
	return compare_parts(printed, expected, next_word, is_same);
}

static bool compare_codeforces(struct slice printed, struct slice expected)
{
	return compare_parts(printed, expected, next_word, is_same_word);
}

static bool compare_lines(struct slice printed, struct slice expected)
{
	return compare_parts(trim(printed), trim(expected), next_line, is_same_line);
}

/* ---- JSON ---- */

enum { DEPTH_MAX = 2048, PARTS_MAX = 1000000 };

/* The number that a value is, as in Python: true is 1. */
static bool is_number(const json_t *value)
{
	return json_is_number(value) || json_is_boolean(value);
}

static double number_of(const json_t *value)
{
	return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

/* As json_equal(), but 1, 1.0 and true are the same. */
static bool is_same_value(const json_t *a, const json_t *b, unsigned depth)
{
	const char *key;
	const json_t *item;
	size_t i;
	if (depth > DEPTH_MAX)
		return false;
	if (is_number(a) && is_number(b))
		return json_is_integer(a) && json_is_integer(b)
			? json_integer_value(a) == json_integer_value(b)
			: number_of(a) == number_of(b);
	if (json_is_array(a) && json_is_array(b)) {
		bool is_equal = json_array_size(a) == json_array_size(b);
		json_array_foreach(a, i, item) is_equal =
			is_equal && is_same_value(item, json_array_get(b, i), depth + 1);
		return is_equal;
	}
	if (json_is_object(a) && json_is_object(b)) {
		bool is_equal = json_object_size(a) == json_object_size(b);
		json_object_foreach(json_unconst(a), key, item) is_equal =
			is_equal && is_same_value(item, json_object_get(b, key), depth + 1);
		return is_equal;
	}
	return json_equal(a, b);
}

static bool compare_json(struct slice printed, struct slice expected)
{
	const char *mark = printed.bytes > 0 ? memrchr(printed.at, 0x1e, printed.bytes) : NULL;
	if (!mark)
		return false;
	size_t bytes = printed.bytes - (size_t)(mark + 1 - printed.at);
	if (json_parts(mark + 1, bytes) > PARTS_MAX)
		return false; /* parsing it would need much memory */
	json_t *a = json_loadb(mark + 1, bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	json_t *b = json_loadb(expected.at, expected.bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	bool is_equal = a && b && is_same_value(a, b, 0);
	json_decref(a);
	json_decref(b);
	return is_equal;
}

bool compare_outputs(const char *how, const json_t *printed, const json_t *expected)
{
	static const struct {
		const char *word;
		bool (*compare)(struct slice printed, struct slice expected);
	} ways[] = {{"exact", is_same}, {"words", compare_words}, {"lines", compare_lines},
		{"codeforces", compare_codeforces}, {"json", compare_json}};
	struct slice a = {json_string_value(printed), json_string_length(printed)};
	struct slice b = {json_string_value(expected), json_string_length(expected)};
	for (size_t i = 0; a.at && b.at && i < ARRAY_LEN(ways); i++)
		if (strcmp(ways[i].word, how ? how : "words") == 0)
			return ways[i].compare(a, b);
	return false;
}
