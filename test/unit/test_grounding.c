/* Numbers in text, and whether they come from what was computed. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "agent/grounding.h"
#include "agent/number.h"

#include "base/attr.h"
#include "t.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

TEST(numbers_are_read_in_every_way_they_are_written)
{
	static const struct {
		const char *text;
		double value, other; /* other: one more reading; or the same */
	} rows[] = {
		{"42", 42, 42},
		{"-42", -42, -42},
		{"\xe2\x88\x92"
		 "42",
			-42, -42},
		{"3.25", 3.25, 3.25},
		{"1,234.5", 1234.5, 1234.5},
		{"1.234,5", 1234.5, 1234.5},
		{"1,234,567", 1234567, 1234567},
		{"1.234.567", 1234567, 1234567},
		{"1,234", 1234, 1.234},
		{"1.234", 1.234, 1234},
		{"3,14", 3.14, 3.14},
		{"1'234'567.8", 1234567.8, 1234567.8},
		{"1_000_000", 1e6, 1e6},
		{"1\xc2\xa0"
		 "234\xe2\x80\xaf"
		 "567,5",
			1234567.5, 1234567.5},
		{"$91,473.02", 91473.02, 91473.02},
		{"\xe2\x82\xac"
		 "5",
			5, 5},
		{"12.5%", 12.5, 0.125},
		{"12.5 percent", 12.5, 0.125},
		{"1.2e5", 1.2e5, 1.2e5},
		{"1.2E-5", 1.2e-5, 1.2e-5},
		{"1.2 x 10^5", 1.2e5, 1.2e5},
		{"1.2\xc3\x97"
		 "10^-5",
			1.2e-5, 1.2e-5},
		{"1.2 million", 1.2, 1.2e6},
		{"3k", 3, 3000},
		{"5 GB", 5, 5e9},
		{"2 KiB", 2, 2048},
		{"7 km", 7, 7000},
		{"np.float64(2.5)", 2.5, 2.5},
		{"[7, 8]", 7, 7},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct number n;
		size_t at = 0;
		bool has_value = false, has_other = false;
		if (!CHECK(number_next(rows[i].text, strlen(rows[i].text), &at, &n)))
			continue;
		for (size_t k = 0; k < n.n_readings; k++) {
			has_value |= is_near(n.readings[k].value, rows[i].value);
			has_other |= is_near(n.readings[k].value, rows[i].other);
		}
		if (!CHECK(has_value && has_other && n.is_claim))
			(void)printf("# %s\n", rows[i].text);
	}
}

TEST(what_says_nothing_of_how_much_is_no_claim)
{
	static const char *const texts[] = {"2024-05-13", "13.05.2024", "5/13/2024", "2024-05",
		"12:30", "2024-05-13T10:30:00.5Z", "in 2024", "since 1999", "from 2019 to 2024",
		"May 13, 2024", "13 May", "the 1st and the 22nd", "v2 of utf8", "python 3.11",
		"1.2.3", "10.0.0.1", "1. first\n2. second", "  3) third", "Step 4", "Figure 12",
		"0x1f", "3f9a2b", "x_1"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct number n;
		size_t at = 0, n_claims = 0;
		while (number_next(texts[i], strlen(texts[i]), &at, &n))
			n_claims += n.is_claim;
		if (!CHECK_INT(n_claims, 0))
			(void)printf("# %s\n", texts[i]);
	}
}

static size_t check(const char *evidence, const char *text, char *first)
{
	struct grounding g = {0};
	struct grounding_gap gaps[4];
	CHECK_INT(grounding_add(&g, evidence, strlen(evidence)), 0);
	size_t n = grounding_check(&g, text, strlen(text), gaps, ARRAY_LEN(gaps));
	*first = '\0';
	if (n > 0)
		(void)snprintf(first, 40, "%.*s", (int)gaps[0].bytes, text + gaps[0].at);
	grounding_done(&g);
	return n;
}

TEST(numbers_come_from_what_was_computed)
{
	static const struct {
		const char *evidence, *text, *gap; /* NULL: all are grounded */
	} rows[] = {
		{"91473.02412", "You will have $91,473.02.", NULL},
		{"91473.02412", "You will have about 91,000.", NULL},
		{"91473.02412", "You will have 91,473.", NULL},
		{"91473.02412", "You will have 91,473.03.", "91,473.03"},
		{"91473.02412", "You will have 91,000.", "91,000"},
		{"91473.02412",
			"\xe2\x82\xac"
			"91.473,02",
			NULL},
		{"0.125", "It is 12.5%, or 0.13, or 0.12.", NULL},
		{"0.125", "It is 12.4%.", "12.4%"},
		{"12.5", "It is 12.5 %.", NULL},
		{"1234567", "1.2 million", NULL},
		{"1234567", "1.3 million", "1.3 million"},
		{"1234567", "1.23e6 or 1.23 \xc3\x97 10^6", NULL},
		{"[1, 2, 3.5]", "1, 2 and 3.5", NULL},
		{"[100,200,300]", "100 and 200 and 300", NULL},
		{"[3,4]", "3,4", NULL},
		{"-5.2", "a loss of 5.2", NULL},
		{"5.2", "it is -5.2", "-5.2"},
		{"7", "In 2024, by step 2, it was 7.", NULL},
		{"7", "1. It was 7.\n2. It was 8.", "8"},
		{"{'a': 7}", "Run:\n```python\nx = 99\n```\nIt is 7.", NULL},
		{"7", "```\n99\n``` 8", "8"},
		{"12345678901234567890", "12,345,678,901,234,567,890", NULL},
		{"12345678901234567890", "12,345,678,901,234,567,891",
			"12,345,678,901,234,567,891"},
		{"", "There are 3.", "3"},
		{"", "No numbers.", NULL},
		{"1e-05", "0.00001", NULL},
		{"2 ** 10 = 1024", "1 KiB is 1024 bytes, 2^10", NULL},
		{"1048576 bytes", "1 MiB", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char first[40];
		size_t n = check(rows[i].evidence, rows[i].text, first);
		if (!CHECK_STR(first, rows[i].gap ? rows[i].gap : ""))
			(void)printf("# %s\n", rows[i].text);
		CHECK_INT(n, rows[i].gap != NULL);
	}
}

/* Any number, written in any of these ways, comes from itself; and another one does not. */
TEST(a_number_is_itself_in_every_format)
{
	uint64_t random = 1;
	for (int i = 0; i < 2000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		double x = (double)(random >> 33) / 1000.0 + 1;
		long whole = (long)x;
		int cents = (int)lround((x - (double)whole) * 100) % 100;
		char evidence[64], text[512], first[40];
		(void)snprintf(evidence, sizeof evidence, "%.17g", (double)whole + cents / 100.0);
		char groups[64];
		(void)snprintf(groups, sizeof groups,
			whole >= 1000000	? "%ld,%03ld,%03ld"
				: whole >= 1000 ? "%.0ld%ld,%03ld"
						: "%.0ld%.0ld%ld",
			whole >= 1000000 ? whole / 1000000 : 0L,
			whole >= 1000000	? whole / 1000 % 1000
				: whole >= 1000 ? whole / 1000
						: 0L,
			whole >= 1000 ? whole % 1000 : whole);
		(void)snprintf(text, sizeof text,
			"%ld.%02d and %s.%02d and $%s.%02d and %.2e and %.9f million", whole, cents,
			groups, cents, groups, cents, (double)whole + cents / 100.0,
			((double)whole + cents / 100.0) / 1e6);
		if (!CHECK_INT(check(evidence, text, first), 0))
			(void)printf("# %s: %s: %s\n", evidence, text, first);
		(void)snprintf(text, sizeof text, "%ld.%02d", whole, (cents + 1) % 100);
		CHECK_INT(check(evidence, text, first), 1);
	}
}

TEST(there_is_a_maximum)
{
	struct grounding g = {0};
	struct grounding_gap gaps[1];
	size_t bytes = (size_t)3 * (GROUNDING_NUMBERS_MAX + 1);
	char *text = malloc(bytes);
	CHECK(text != NULL);
	for (size_t i = 0; text && i < bytes; i += 3)
		memcpy(text + i, "17 ", 3);
	CHECK_INT(grounding_add(&g, text, bytes), 0);
	CHECK(g.is_full);
	CHECK_INT(grounding_check(&g, "17", 2, gaps, 1), 0);
	CHECK_INT(grounding_check(&g, "18 19", 5, gaps, 1), 2);
	CHECK_INT(grounding_check(&g, "18 19", 5, gaps, 0), 2);
	free(text);
	grounding_done(&g);
}
