/* Ranges of versions, as npm's semver reads them. SPDX-License-Identifier: Apache-2.0 */
#include "serve/front/version.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

struct row {
	const char *range, *in, *out; /* versions, with spaces between them */
};

/* Check that each version of @list is in @range, or is not. */
static void check_list(const char *range, const char *list, bool want)
{
	char version[32];
	for (const char *at = list; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		snprintf(version, sizeof version, "%.*s", (int)n, at);
		if (!CHECK_INT(version_is_in(version, range), want))
			printf("# %s in \"%s\"\n", version, range);
		at += n;
	}
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_list(rows[i].range, rows[i].in, true);
		check_list(rows[i].range, rows[i].out, false);
	}
}

TEST(versions_with_missing_numbers)
{
	static const struct row rows[] = {
		{"*", "0.0.0 0.0.1 1.2.3 10 999999999.0.0", ""},
		{"x", "0.0.0 3.11.2", ""},
		{"X", "0.0.0 3.11.2", ""},
		{"", "1.2.3", ""},
		{"3", "3 3.0.0 3.11.2 3.999.0", "2.99.9 4.0.0 30.1.0"},
		{"3.x", "3.0.0 3.11.2", "2.9.9 4.0.0"},
		{"3.X", "3.0.0 3.11.2", "2.9.9 4.0.0"},
		{"3.*", "3.0.0 3.11.2", "2.9.9 4.0.0"},
		{"3.x.x", "3.0.0 3.11.2", "2.9.9 4.0.0"},
		{"3.11", "3.11.0 3.11.2 3.11", "3.1.1 3.10.9 3.12.0 4.11.0"},
		{"3.11.x", "3.11.0 3.11.2", "3.10.9 3.12.0"},
		{"3.11.2", "3.11.2", "3.11.1 3.11.3 3.11 3.11.20"},
		{"0", "0.0.0 0.9.1", "1.0.0"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(version_operators)
{
	static const struct row rows[] = {
		{"=1", "1.0.0 1.9.9", "0.9.9 2.0.0"},
		{"=1.2.3", "1.2.3", "1.2.2 1.2.4"},
		{"v1.2.3", "1.2.3 v1.2.3", "1.2.4"},
		{"=v1.2.3", "1.2.3", "1.2.4"},
		{"<2", "0.0.0 1.99.99", "2.0.0 2.0.1 3.0.0"},
		{"<2.1.3", "2.1.2 2.0.9", "2.1.3 2.2.0"},
		{"<=2", "2.0.0 2.99.99 1.0.0", "3.0.0"},
		{"<=2.1.3", "2.1.3 2.1.2", "2.1.4"},
		{">2", "3.0.0 10.0.0", "2.0.0 2.99.99 1.0.0"},
		{">2.1", "2.2.0", "2.1.0 2.1.9"},
		{">2.1.3", "2.1.4 3.0.0", "2.1.3 2.1.2"},
		{">=2", "2.0.0 10.0.0", "1.99.99"},
		{">=2.1.3", "2.1.3 2.1.4 3.0.0", "2.1.2 2.0.9"},
		{">= 3", "3.0.0 4.0.0", "2.9.9"},
		{">*", "", "0.0.0 1.2.3 999999999.0.0"},
		{"<*", "", "0.0.0 1.2.3"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(version_carets_and_tildes)
{
	static const struct row rows[] = {
		{"^1.2.3", "1.2.3 1.2.4 1.9.0", "1.2.2 2.0.0 0.9.9"},
		{"^1.2", "1.2.0 1.9.9", "1.1.9 2.0.0"},
		{"^1", "1.0.0 1.9.9", "0.9.9 2.0.0"},
		{"^1.x", "1.0.0 1.9.9", "0.9.9 2.0.0"},
		{"^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.0.0"},
		{"^0.0.3", "0.0.3", "0.0.2 0.0.4 0.1.0"},
		{"^0.0", "0.0.0 0.0.9", "0.1.0 1.0.0"},
		{"^0", "0.0.0 0.9.9", "1.0.0"},
		{"^*", "0.0.0 9.9.9", ""},
		{"~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0 2.0.0"},
		{"~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"},
		{"~1", "1.0.0 1.9.9", "0.9.9 2.0.0"},
		{"~0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(versions_joined)
{
	static const struct row rows[] = {
		{">=3 <4", "3.0.0 3.9.9", "2.9.9 4.0.0"},
		{"  >=3   <4  ", "3.0.0 3.9.9", "2.9.9 4.0.0"},
		{"<4 >=3", "3.0.0 3.9.9", "2.9.9 4.0.0"},
		{">=3 <4 3.5.x", "3.5.1", "3.4.9 3.6.0"},
		{"1 || 3", "1.0.0 3.9.9", "0.1.0 2.0.0 4.0.0"},
		{"1||3", "1.0.0 3.9.9", "2.0.0 4.0.0"},
		{"^0.2.3 || >=2.1 <2.3 || 9", "0.2.9 2.1.0 2.2.9 9.9.9", "0.3.0 2.0.9 2.3.0 8.0.0"},
		{"||", "1.2.3", ""},
		{"1||", "1.2.3 2.0.0", ""},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

/* A range that is not valid has no version, also where one of its parts would have it. */
TEST(versions_that_are_none)
{
	static const char *const ranges[] = {"a", "latest", "v", "-1", "+1", ".", "3.", ".3",
		"1..2", "1.2.3.4", "1.2.3-beta", "1.2.3+5", "1.a", "1 - 2", "1.2 - 2.3", "|",
		"1 | 2", "1 ||| 2", "* || a", "a || *", "* || v", "* || >", "* a", "==1", "=>1",
		"<>1", "^^1", "~>1", ">==1", "> = 1", ">", "^", "1 >", "1,2", "1\t2", "1\n", "1;",
		"\xc3\xa9", "*1", "1x"};
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		check_list(ranges[i], "0.0.0 1.0.0 1.2.3 2.0.0", false);
	static const char *const versions[] = {"", "a", "-1", "."};
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		CHECK(!version_is_in(versions[i], "*"));
}

TEST(versions_of_many_digits)
{
	char digits[5001], range[5010];
	memset(digits, '9', sizeof digits - 1);
	digits[sizeof digits - 1] = '\0';
	CHECK(!version_is_in("1.2.3", digits));
	CHECK(!version_is_in("999999999.0.0", digits));
	static const char *const operators[] = {"^", "~", ">=", ">", "=", "1.", "1.2."};
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		snprintf(range, sizeof range, "%s%s", operators[i], digits);
		CHECK(!version_is_in("1.2.3", range));
		CHECK(!version_is_in(digits, range));
	}
	CHECK(!version_is_in(digits, "<=9"));
	CHECK(!version_is_in(digits, "999999998"));
	CHECK(version_is_in(digits, ">1"));
	CHECK(version_is_in("999999999.999999999.999999999", "999999999.999999999.999999999"));
	CHECK(!version_is_in("999999999.999999999.999999998", "999999999.999999999.999999999"));
	CHECK(version_is_in("000001.02.3", "1.2.3"));
}
