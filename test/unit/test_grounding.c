/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/grounding.h"
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
			(void)snprintf(
				got, sizeof got, "%.*s", (int)miss.bytes, row->said + miss.at);
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
		(void)snprintf(shown, sizeof shown, "%.17g", value);
		const char *format = formats[next_random(&state) % ARRAY_LEN(formats)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(said, sizeof said, format, value);
#pragma GCC diagnostic pop
		struct grounding *g = grounding_new();
		struct grounding_miss miss;
		(void)grounding_add(g, shown, strlen(shown));
		if (!CHECK_INT(grounding_check(g, said, strlen(said), &miss, 1), 0))
			printf("# %s is not in %s\n", said, shown);
		(void)snprintf(wrong, sizeof wrong, "%.2f", value + 0.02);
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
