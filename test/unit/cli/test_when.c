/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "cli/when.h"

#include <stdio.h>
#include <time.h>

static const int64_t untouched = 4242;

TEST(when_good)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"0", 0},
		{"1970-01-01", 0},
		{"0.000000001", 1},
		{"0.0000000019", 1},
		{"946684800", 946684800000000000},
		{"2000-01-01T00:00:00Z", 946684800000000000},
		{"2000-01-01 00:00", 946684800000000000},
		{"2000-02-29", 951782400000000000},
		{"2026-11-22T09:30:00.25+01:00", 1795336200250000000},
		{"2026-11-22T09:30:00.25+0100", 1795336200250000000},
		{"2026-11-22T09:30:00.25-01", 1795343400250000000},
		{"2199-12-31T23:59:59.999999999Z", 7258118399999999999},
		{"7258118399", 7258118399000000000},
		{"1969", 1969000000000},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ns = untouched;
		struct err err = {0};
		int r = when_parse(rows[i].text, &ns, &err);
		if (r != 0 || ns != rows[i].ns)
			printf("# \"%s\" is %lld: %s\n", rows[i].text, (long long)ns, err.msg);
		CHECK_INT(r, 0);
		CHECK_INT(ns, rows[i].ns);
	}
}

TEST(when_bad)
{
	static const char *const rows[] = {"", " ", "x", "-1", "+1", "1e9", "0x10", "1.", ".5",
		"1 ", " 1", "2026", "2199", "2026-11", "2026-00-01", "2026-13-01", "2026-01-00",
		"2026-01-32", "2026-02-29", "2100-02-29", "1969-12-31", "2200-01-01",
		"1970-01-01T00:00+01:00", "2199-12-31T23:59:59-01:00", "2026-01-01T", "2026-01-01Z",
		"2026-01-01T24:00", "2026-01-01T10:60", "2026-01-01T10:00:60", "2026-01-01T10",
		"2026-01-01T10:00:00.", "2026-01-01T10:00+24", "2026-01-01T10:00+1",
		"2026-01-01T10:00+01:60", "2026-01-01T10:00ZZ", "7258118400", "999999999999",
		"9999999999999999999999", "2026-01-01t10:00"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ns = untouched;
		struct err err = {0};
		int r = when_parse(rows[i], &ns, &err);
		if (r == 0 && rows[i][0])
			printf("# \"%s\" is %lld\n", rows[i], (long long)ns);
		CHECK(r < 0);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK(err.hint[0]);
		CHECK_INT(ns, untouched);
	}
}

/* Against libc, through all lengths of months and years. */
TEST(when_days)
{
	for (int64_t day = 0; day < 84006; day += 1) {
		char text[32];
		int64_t ns = untouched;
		struct err err = {0};
		time_t s = (time_t)(day * 86400 + 45296);
		struct tm tm;
		CHECK(gmtime_r(&s, &tm) != NULL);
		CHECK(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
		CHECK_INT(when_parse(text, &ns, &err), 0);
		CHECK_INT(ns, (int64_t)s * 1000000000);
	}
}
