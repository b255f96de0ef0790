/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/grounding.h"
#include "t.h"

#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* What was shown, what is said of it, and the first number that does not come from there. */
static const struct row {
	const char *shown, *said, *miss;
} rows[] = {
	{"383.3333333", "The average margin is 383.33.", NULL},
	{"383.3333333", "It is 383.", NULL},
	{"383.3333333", "It is 383.34.", "383.34"},
	{"383.3333333", "It is 384", "384"},
	{"42", "42", NULL},
	{"42", "It is 43.", "43"},
	{"", "It is 43.", "43"},
	{"[1, 2.5, -7]", "From 1 to 2.5, and 7 less.", NULL},
	/* groups, currencies, units */
	{"91473.02", "You would have $91,473.02.", NULL},
	{"91473.02", "You would have 91 473.02 \xe2\x82\xac.", NULL},
	{"91473.02",
		"91'473 CHF, or 91\xc2\xa0"
		"473",
		NULL},
	{"91473.02", "You would have $91,374.02.", "91,374.02"},
	{"1234567", "1,234,567 rows", NULL},
	{"12.5", "12.5kg", NULL},
	{"12.5", "12.6kg", "12.6"},
	{"3.25e-5", "3.25e-05 s, that is 3.3e-5", NULL},
	{"0.0000325", "3.25e-05 s", NULL},
	{"0.0000325", "3.26e-05 s", "3.26e-05"},
	{"6.02214076e23", "6.022E+23", NULL},
	/* percent */
	{"0.12345", "12.3 %, or 12%, or 12.35 percent", NULL},
	{"12.345", "12.3%", NULL},
	{"0.12345", "12.4%", "12.4"},
	{"0.12345", "12.3 of them", "12.3"},
	/* words for size */
	{"1234567", "1.2 million, or 1.23M, or 1235k", NULL},
	{"1234567", "1.3 million", "1.3 million"},
	{"4512345678", "$4.5bn", NULL},
	{"1234", "about 1,200, or ~1,200", NULL},
	{"1234", "1,200", "1,200"},
	{"1234", "about 1,300", "1,300"},
	{"500", "5 m long", "5"},
	/* not looked at */
	{"7", "On 2024-05-13 at 12:30 it was 7.", NULL},
	{"7", "On May 13, 2024 it was 7, on 3 June as well.", NULL},
	{"7", "Python 3.11.2 says 7 (utf-8, H2O, x86).", NULL},
	{"7", "1. First it was 7.\n2) Then too.\nStep 3: 7", NULL},
	{"7", "It was 7 of 9.", "9"},
	{"2024-05-13 7", "In 2024 it was 7.", NULL},
	{"7", "In 2024, since 1999, by (2023): 7.", NULL},
	{"7", "It cost 2024.", "2024"},
	{"7", "On 13 May, the 1st and 22nd: 7 (0x1f, Python 3.11)", NULL},
	{"7", "marching 13 times", "13"},
	{"7", "It is 7:\n```python\nx = 99\n```\nand 8", "8"},
	{"[100,200,300]", "100 and 300", NULL},
	{"[1,100,200]", "1, 100 and 200", NULL},
	{"1234567", "1.23 \xc3\x97 10^6, 1.235 x 10**6, 1.2*10^6", NULL},
	{"1234567", "1.24 \xc3\x97 10^6", "1.24 \xc3\x97 10^6"},
	{"91473.02", "91.473,02 or 91473,0", NULL},
	{"383.33", "383,33", NULL},
	{"383.33", "383,34", "34"},
	{"1048576", "1 MiB, or 1.05 MB", NULL},
	{"1048576", "2 MiB", "2"},
	{"12345678901234567890", "12345678901234567890", NULL},
	{"12345678901234567890", "12345678901234567891", "12345678901234567891"},
	/* rounding is that of the last digit */
	{"2.5", "3, or 2", NULL},
	{"0.045", "0.05", NULL},
	{"0.1 + 0.2 = 0.30000000000000004", "0.3", NULL},
	{"99.96", "100.0", NULL},
	{"99.94", "100.0", "100.0"},
	{"123456789012345678", "123456789012345678", NULL},
	{".5", "0.5 and .5", NULL},
};

TEST(numbers_of_an_answer)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct grounding *g = grounding_new();
		struct grounding_miss miss = {0};
		const struct row *row = &rows[i];
		CHECK_INT(grounding_add(g, row->shown, strlen(row->shown)), 0);
		size_t n = grounding_check(g, row->said, strlen(row->said), &miss, 1);
		char got[64] = "";
		if (n > 0)
			snprintf(got, sizeof got, "%.*s", (int)miss.bytes, row->said + miss.at);
		if (!CHECK_STR(got, row->miss ? row->miss : ""))
			printf("# shown %s, said %s\n", row->shown, row->said);
		grounding_free(g);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* However a value is written, it is found; with another last digit, it is not. */
TEST(a_value_in_all_formats)
{
	static const char *const formats[] = {
		"%.0f", "%.1f", "%.2f", "%.3f", "%.4e", "%.6g", "$%.2f", "%.2f kg"};
	uint64_t state = 1;
	for (int round = 0; round < 20000; round++) {
		double value =
			(double)next_random(&state) / (double)(1 + next_random(&state) % 100000);
		char shown[64], said[64], wrong[64];
		snprintf(shown, sizeof shown, "%.17g", value);
		const char *format = formats[next_random(&state) % ARRAY_LEN(formats)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(said, sizeof said, format, value);
#pragma GCC diagnostic pop
		struct grounding *g = grounding_new();
		struct grounding_miss miss;
		(void)grounding_add(g, shown, strlen(shown));
		if (!CHECK_INT(grounding_check(g, said, strlen(said), &miss, 1), 0))
			printf("# %s is not in %s\n", said, shown);
		snprintf(wrong, sizeof wrong, "%.2f", value + 0.02);
		if (!CHECK_INT(grounding_check(g, wrong, strlen(wrong), &miss, 1), 1))
			printf("# %s is in %s\n", wrong, shown);
		grounding_free(g);
	}
}

TEST(more_misses_than_asked_for_are_counted)
{
	static const char text[] = "11 22 33 44";
	struct grounding *g = grounding_new();
	struct grounding_miss miss[2];
	CHECK_INT(grounding_check(g, text, strlen(text), miss, 2), 4);
	CHECK_INT(miss[1].at, 3);
	grounding_free(g);
}

/* ---- properties: a value in every way of writing it ---- */

/* Digits in groups of three, from the right: "1,234,567". */
static void group_digits(char *out, size_t bytes, uint64_t n, const char *separator)
{
	char digits[32];
	size_t n_digits = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;
	for (size_t i = 0; i < n_digits; i++) {
		if (i > 0 && (n_digits - i) % 3 == 0)
			at += (size_t)snprintf(out + at, bytes - at, "%s", separator);
		at += (size_t)snprintf(out + at, bytes - at, "%c", digits[i]);
	}
}

/* How many numbers of @said are not in @shown. */
static size_t n_missed(const char *shown, const char *said)
{
	struct grounding *g = grounding_new();
	struct grounding_miss miss[4];
	(void)grounding_add(g, shown, strlen(shown));
	size_t n = grounding_check(g, said, strlen(said), miss, 4);
	grounding_free(g);
	return n;
}

static void check_found(const char *shown, const char *said)
{
	if (!CHECK_INT(n_missed(shown, said), 0))
		printf("# \"%s\" is not in %s\n", said, shown);
}

static void check_missed(const char *shown, const char *said)
{
	if (!CHECK_INT(n_missed(shown, said), 1))
		printf("# \"%s\" is in %s\n", said, shown);
}

TEST(thousands_and_currencies)
{
	static const char *const separators[] = {
		",", "'", "_", " ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
	static const char *const shapes[] = {"%s", "$%s", "%s \xe2\x82\xac", "\xe2\x82\xac%s",
		"\xc2\xa3%s", "%s USD", "CHF %s", "-%s", "(%s)", "**%s**", "%s.", "%s, all told",
		"%s kg", "%s%%"};
	uint64_t state = 7;
	for (int round = 0; round < 4000; round++) {
		uint64_t n = 1000 + next_random(&state) % 999000000;
		const char *separator = separators[next_random(&state) % ARRAY_LEN(separators)];
		const char *shape = shapes[next_random(&state) % ARRAY_LEN(shapes)];
		char shown[64], grouped[64], wrong[64], said[160];
		snprintf(shown, sizeof shown, "%" PRIu64, n);
		group_digits(grouped, sizeof grouped, n, separator);
		group_digits(wrong, sizeof wrong, n + 1, separator);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(said, sizeof said, shape, grouped);
		check_found(shown, said);
		snprintf(said, sizeof said, shape, wrong);
#pragma GCC diagnostic pop
		check_missed(shown, said);
	}
}

TEST(thousands_with_cents)
{
	uint64_t state = 8;
	for (int round = 0; round < 4000; round++) {
		uint64_t whole = 1000 + next_random(&state) % 9999000;
		unsigned cents = 10 + (unsigned)(next_random(&state) % 89);
		char shown[64], grouped[64], said[160];
		snprintf(shown, sizeof shown, "%" PRIu64 ".%02u", whole, cents);
		group_digits(grouped, sizeof grouped, whole, ",");
		snprintf(said, sizeof said, "$%s.%02u", grouped, cents);
		check_found(shown, said);
		snprintf(said, sizeof said, "$%s.%02u", grouped, cents + 1);
		check_missed(shown, said);
		/* as most of Europe writes it */
		group_digits(grouped, sizeof grouped, whole, ".");
		snprintf(said, sizeof said, "%s,%02u \xe2\x82\xac", grouped, cents);
		check_found(shown, said);
	}
}

TEST(percents)
{
	static const char *const shapes[] = {"%.1f%%", "%.1f %%", "%.1f percent", "%.1f per cent",
		"up %.1f\xc2\xa0%%", "%.2f%%", "%.3f %%"};
	uint64_t state = 9;
	for (int round = 0; round < 4000; round++) {
		double part = (double)(1 + next_random(&state) % 99999) / 100000;
		const char *shape = shapes[next_random(&state) % ARRAY_LEN(shapes)];
		char shown[64], said[96];
		snprintf(shown, sizeof shown, "%.17g", part);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(said, sizeof said, shape, part * 100);
		check_found(shown, said);
		snprintf(said, sizeof said, shape, part * 100 + 1.2);
#pragma GCC diagnostic pop
		check_missed(shown, said);
	}
}

TEST(powers_and_words_for_size)
{
	static const struct {
		const char *shape;
		double factor;
	} forms[] = {{"%.2f million", 1e6}, {"%.2fM", 1e6}, {"$%.2f billion", 1e9}, {"%.2fbn", 1e9},
		{"%.2fk", 1e3}, {"%.2f thousand", 1e3}, {"%.2f trillion", 1e12},
		{"%.2f \xc3\x97 10^6", 1e6}, {"%.2f x 10**9", 1e9}, {"%.2f*10^3", 1e3},
		{"%.2f\xc2\xb7"
		 "10^-4",
			1e-4},
		{"%.2fe6", 1e6}, {"%.2fE-3", 1e-3}, {"%.2f GB", 1e9}, {"%.2f MiB", 1048576},
		{"%.2f kB", 1e3}, {"%.2f TB", 1e12}};
	uint64_t state = 10;
	for (int round = 0; round < 6000; round++) {
		double mantissa = (double)(100 + next_random(&state) % 900) / 100;
		size_t i = next_random(&state) % ARRAY_LEN(forms);
		char shown[64], said[96];
		snprintf(shown, sizeof shown, "%.17g",
			(mantissa + 0.004 * ((double)(next_random(&state) % 3) - 1)) *
				forms[i].factor);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(said, sizeof said, forms[i].shape, mantissa);
		check_found(shown, said);
		snprintf(said, sizeof said, forms[i].shape, mantissa + 0.56);
#pragma GCC diagnostic pop
		check_missed(shown, said);
	}
}

TEST(dates_times_and_versions_are_not_looked_at)
{
	static const char *const months[] = {"January", "February", "March", "April", "May", "June",
		"July", "August", "September", "October", "November", "December"};
	uint64_t state = 11;
	for (int round = 0; round < 4000; round++) {
		int year = 1900 + (int)(next_random(&state) % 200), hour = round % 24;
		int month = (int)(next_random(&state) % 12),
		    day = 1 + (int)(next_random(&state) % 28);
		const char *name = months[month];
		char said[8][96];
		snprintf(said[0], 96, "On %04d-%02d-%02d it was.", year, month + 1, day);
		snprintf(said[1], 96, "At %02d:%02d:%02d, on %d/%d/%d.", hour, day, month,
			month + 1, day, year);
		snprintf(said[2], 96, "On %s %d, %d.", name, day, year);
		snprintf(said[3], 96, "On %d %s %d.", day, name, year);
		snprintf(said[4], 96, "On %d.%d.%d, in %.3s.", day, month + 1, year, name);
		snprintf(said[5], 96, "In %d, since %d (%d).", year, year, year);
		snprintf(said[6], 96, "%04d-%02d-%02dT%02d:%02d:00Z", year, month + 1, day, hour,
			day);
		snprintf(said[7], 96, "Python 3.%d.%d, version %d.%d", day, month, day, month);
		for (int i = 0; i < 8; i++)
			check_found("", said[i]);
	}
}
