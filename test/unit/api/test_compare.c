/* What counts as the same output. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/compare.h"

#include "base/attr.h"
#include "t.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *how, *printed, *expected;
	bool is_equal;
};

static bool is_equal(const char *how, const char *printed, const char *expected)
{
	json_t *a = json_string(printed), *b = json_string(expected);
	bool equal = compare_outputs(how, a, b);
	json_decref(a);
	json_decref(b);
	return equal;
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!CHECK_INT(is_equal(rows[i].how, rows[i].printed, rows[i].expected),
			    rows[i].is_equal))
			printf("# %s: \"%s\" and \"%s\"\n", rows[i].how ? rows[i].how : "default",
				rows[i].printed, rows[i].expected);
}

TEST(exact)
{
	static const struct row rows[] = {
		{"exact", "", "", true},
		{"exact", "a\n", "a\n", true},
		{"exact", "a", "a\n", false},
		{"exact", "a ", "a", false},
		{"exact", "A", "a", false},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(words)
{
	static const struct row rows[] = {
		{"words", "", "", true},
		{"words", " \n\t", "", true},
		{"words", "1 2\n3", "1\n2 3\n", true},
		{"words", "1 2", "1 2 3", false},
		{"words", "1 2 3", "1 2", false},
		{"words", "12", "1 2", false},
		{"words", "yes", "YES", false},
		{"words", "1", "1.0", false},
		{"words", "\xc3\xa9", "\xc3\xa9 ", true},
		{NULL, "1  2", "1 2", true},
		{NULL, "a", "A", false},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(lines)
{
	static const struct row rows[] = {
		{"lines", "", "\n\n", true},
		{"lines", "a\nb\n", "a\nb", true},
		{"lines", "  a  \r\n b", "a\nb\n\n", true},
		{"lines", "Yes", "YES", true},
		{"lines", "a", "a\nb", false},
		{"lines", "a\nb", "a", false},
		{"lines", "a\n\nb", "a\nb", false},
		{"lines", "a b", "a  b", false},
		{"lines", "1.000001", "1", true},
		{"lines", "1.0001", "1", false},
		{"lines", "1e3", "1000.0", true},
		{"lines", "-0.0", "0", true},
		{"lines", "0.000000001", "0", false},
		{"lines", "1 2", "1.0 2", false},
		{"lines", "0x10", "16", false},
		{"lines", "nan", "nan", true},
		{"lines", "inf", "1e999", false},
		{"lines", "1e999", "1e999", true},
		{"lines", ".", ".0", false},
		{"lines", "0000000000000000000000000000000000000000000000000000000000000000001",
			"1", false},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(codeforces)
{
	static const struct row rows[] = {
		{"codeforces", "yes\nNo", "YES no", true},
		{"codeforces", "Alice", "alice", false},
		{"codeforces", "yes!", "YES!", false},
		{"codeforces", "yes yes", "YES", false},
		{"codeforces", "1 \n\n 2", "1 2", true},
		{"codeforces", "no", "yes", false},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(json)
{
	static const struct row rows[] = {
		{"json", "\x1e[1, 2]", "[1,2]", true},
		{"json", "text\x1e 3 \n", "3", true},
		{"json",
			"\x1e"
			"1\x1e"
			"2",
			"2", true},
		{"json",
			"\x1e"
			"1\x1e"
			"2",
			"1", false},
		{"json", "3", "3", false},
		{"json", "", "", false},
		{"json", "\x1e", "", false},
		{"json",
			"\x1e"
			"1.0",
			"1", true},
		{"json", "\x1e[1.0, {\"a\": 2}]", "[1, {\"a\": 2.0}]", true},
		{"json", "\x1e{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}", true},
		{"json", "\x1e{\"a\": 1}", "{\"a\": 1, \"b\": 2}", false},
		{"json", "\x1e{\"a\": 1, \"b\": 2}", "{\"a\": 1}", false},
		{"json", "\x1e[1, 2]", "[1]", false},
		{"json", "\x1e[1]", "[1, 2]", false},
		{"json", "\x1e[1]", "{\"0\": 1}", false},
		{"json", "\x1etrue", "1", true},
		{"json",
			"\x1e"
			"false",
			"1", false},
		{"json", "\x1e[\"\\u0000\"]", "[\"\\u0000\"]", true},
		{"json", "\x1enull", "null", true},
		{"json", "\x1e\"a\"", "\"a\"", true},
		{"json", "\x1e\"a\"", "\"A\"", false},
		{"json", "\x1e[1", "[1]", false},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(bytes_of_value_0_and_no_text)
{
	json_t *a = json_stringn("a\0b", 3), *b = json_stringn("a\0c", 3), *n = json_integer(1);
	CHECK(compare_outputs("exact", a, a));
	CHECK(!compare_outputs("exact", a, b));
	CHECK(!compare_outputs("words", a, b));
	CHECK(!compare_outputs("lines", a, b));
	CHECK(!compare_outputs("words", a, n));
	CHECK(!compare_outputs("words", n, a));
	CHECK(!compare_outputs("words", NULL, a));
	CHECK(!compare_outputs("sideways", a, a));
	json_decref(a);
	json_decref(b);
	json_decref(n);
}

/* Values with very many parts are not parsed. */
TEST(much_json)
{
	size_t n = 2100000;
	char *text = malloc(2 * n + 4);
	text[0] = 0x1e;
	text[1] = '[';
	for (size_t i = 0; i < n; i++)
		memcpy(text + 2 + 2 * i, "1,", 2);
	memcpy(text + 1 + 2 * n, "]", 2);
	CHECK(!is_equal("json", text, text + 1));
	free(text);
}

/* Values that are too deep to be compared are not the same, and nothing breaks. */
TEST(deep_json)
{
	static char deep[8004];
	deep[0] = 0x1e;
	for (size_t depth = 300; depth <= 3900; depth += 1800) {
		memset(deep + 1, '[', depth);
		memset(deep + 1 + depth, ']', depth);
		deep[1 + 2 * depth] = '\0';
		CHECK_INT(is_equal("json", deep, deep + 1), depth < 2048);
	}
}
