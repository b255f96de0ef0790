/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/num.h"

#include <errno.h>
#include <stdio.h>

typedef int parse_fn(const char *text, struct num_range range, uint64_t *out, struct err *err);

enum { UNTOUCHED = 4242 };

struct good {
	const char *text;
	uint64_t value;
};

static void check_good(parse_fn *parse, const struct good *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		struct err err = {0};
		int rc = parse(rows[i].text, NUM_ANY, &value, &err);
		if (rc != 0 || value != rows[i].value)
			printf("# \"%s\" %s\n", rows[i].text, err.msg);
		CHECK_INT(rc, 0);
		CHECK_INT(value, rows[i].value);
	}
}

struct bad {
	const char *text;
	const char *msg;
	const char *hint;
};

static void check_bad(parse_fn *parse, struct num_range range, const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		struct err err = {0};
		CHECK_INT(parse(rows[i].text, range, &value, &err), -EINVAL);
		CHECK_INT(err.code, ERR_USAGE);
		CHECK_STR(err.msg, rows[i].msg);
		CHECK_STR(err.hint, rows[i].hint);
		CHECK_INT(value, UNTOUCHED);
	}
}

#define SIZE_HINT  "write a number with k, m or g: 512m"
#define TIME_HINT  "write a number with ms, s, m or h: 30s"
#define COUNT_HINT "write digits only, e.g. 3"
#define CPU_HINT   "write a number: 1 or 0.5"

TEST(num_reads_sizes)
{
	static const struct good rows[] = {
		{"0", 0},
		{"1", 1},
		{"17b", 17},
		{"1k", 1024},
		{"1K", 1024},
		{"1kb", 1024},
		{"1KiB", 1024},
		{"512m", UINT64_C(512) << 20},
		{"512MB", UINT64_C(512) << 20},
		{"1g", UINT64_C(1) << 30},
		{"1.5g", UINT64_C(3) << 29},
		{".5g", UINT64_C(1) << 29},
		{"1 GiB", UINT64_C(1) << 30},
		{"2t", UINT64_C(2) << 40},
		{"0.1k", 102},
		{"0.0000019t", 1099511},
		{"1.50000000000000000000000000k", 1536},
		{"007k", 7168},
		{"18446744073709551615", UINT64_MAX},
		{"16777215.999999t", (UINT64_C(16777215) << 40) + UINT64_C(1099510528264)},
	};
	check_good(num_parse_bytes, rows, ARRAY_LEN(rows));
}

TEST(num_refuses_what_is_no_size)
{
	static const struct bad rows[] = {
		{"12q", "\"12q\" is not a size", SIZE_HINT},
		{"", "\"\" is not a size", SIZE_HINT},
		{" 1", "\" 1\" is not a size", SIZE_HINT},
		{"1 ", "\"1 \" is not a size", SIZE_HINT},
		{"1  k", "\"1  k\" is not a size", SIZE_HINT},
		{"k", "\"k\" is not a size", SIZE_HINT},
		{"-1", "\"-1\" is not a size", SIZE_HINT},
		{"+1", "\"+1\" is not a size", SIZE_HINT},
		{"0x10", "\"0x10\" is not a size", SIZE_HINT},
		{"1e3", "\"1e3\" is not a size", SIZE_HINT},
		{"1.", "\"1.\" is not a size", SIZE_HINT},
		{".", "\".\" is not a size", SIZE_HINT},
		{"1.5", "\"1.5\" is not a size", SIZE_HINT},
		{"1.5b", "\"1.5b\" is not a size", SIZE_HINT},
		{"1.2.3k", "\"1.2.3k\" is not a size", SIZE_HINT},
		{"1,5g", "\"1,5g\" is not a size", SIZE_HINT},
		{"1kk", "\"1kk\" is not a size", SIZE_HINT},
		{"1ki", "\"1ki\" is not a size", SIZE_HINT},
		{"nan", "\"nan\" is not a size", SIZE_HINT},
	};
	check_bad(num_parse_bytes, NUM_ANY, rows, ARRAY_LEN(rows));
}

TEST(num_keeps_sizes_in_range)
{
	static const struct bad rows[] = {
		{"1023k", "\"1023k\" is too small", "write at least 1 MiB"},
		{"0", "\"0\" is too small", "write at least 1 MiB"},
		{"1025m", "\"1025m\" is too large", "write at most 1 GiB"},
		{"16777216t", "\"16777216t\" is too large", "write at most 1 GiB"},
		{"18446744073709551616", "\"18446744073709551616\" is too large",
			"write at most 1 GiB"},
		{"99999999999999999999999999999g",
			"\"99999999999999999999999999999g\" is too large", "write at most 1 GiB"},
	};
	struct num_range range = {1 << 20, 1 << 30};
	uint64_t value = 0;
	struct err err;
	check_bad(num_parse_bytes, range, rows, ARRAY_LEN(rows));
	CHECK_INT(num_parse_bytes("1m", range, &value, &err), 0);
	CHECK_INT(value, 1 << 20);
	CHECK_INT(num_parse_bytes("1g", range, &value, &err), 0);
	CHECK_INT(value, 1 << 30);
}

TEST(num_sees_every_overflow)
{
	static const char *const rows[] = {
		"18446744073709551616",
		"18014398509481984k",
		"16777216t",
		"184467440737095516150",
		"99999999999999999999",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t value = UNTOUCHED;
		struct err err;
		CHECK_INT(num_parse_bytes(rows[i], NUM_ANY, &value, &err), -EINVAL);
		CHECK_HAS(err.msg, "is too large");
		CHECK_INT(value, UNTOUCHED);
	}
	uint64_t value = UNTOUCHED;
	struct err err;
	/* The whole hours fit, with the fraction they do not. */
	CHECK_INT(num_parse_ms("5124095576030h", NUM_ANY, &value, &err), 0);
	CHECK_INT(num_parse_ms("5124095576030.9h", NUM_ANY, &value, &err), -EINVAL);
	CHECK_STR(err.hint, "write at most 18446744073709551.615 s");
}

TEST(num_reads_durations)
{
	static const struct good rows[] = {
		{"30", 30000},
		{"30s", 30000},
		{"500ms", 500},
		{"2m", 120000},
		{"2 min", 120000},
		{"1h", 3600000},
		{"0.5", 500},
		{"1.5h", 5400000},
		{"1.2345s", 1234},
		{"0", 0},
		{"0.0001", 0},
	};
	static const struct bad bad[] = {
		{"1d", "\"1d\" is not a duration", TIME_HINT},
		{"1.5ms", "\"1.5ms\" is not a duration", TIME_HINT},
		{"5S", "\"5S\" is not a duration", TIME_HINT},
		{"1m30s", "\"1m30s\" is not a duration", TIME_HINT},
		{"-1s", "\"-1s\" is not a duration", TIME_HINT},
		{"", "\"\" is not a duration", TIME_HINT},
	};
	static const struct bad range[] = {
		{"0", "\"0\" is too small", "write at least 1 ms"},
		{"25h", "\"25h\" is too large", "write at most 24 h"},
		{"5124095576031h", "\"5124095576031h\" is too large", "write at most 24 h"},
	};
	check_good(num_parse_ms, rows, ARRAY_LEN(rows));
	check_bad(num_parse_ms, NUM_ANY, bad, ARRAY_LEN(bad));
	check_bad(num_parse_ms, (struct num_range){1, 86400000}, range, ARRAY_LEN(range));
}

TEST(num_reads_counts)
{
	static const struct good rows[] = {
		{"0", 0}, {"128", 128}, {"18446744073709551615", UINT64_MAX}};
	static const struct bad bad[] = {
		{"1k", "\"1k\" is not a whole number", COUNT_HINT},
		{"1.5", "\"1.5\" is not a whole number", COUNT_HINT},
		{"-1", "\"-1\" is too small", "write at least 0"},
		{"1 ", "\"1 \" is not a whole number", COUNT_HINT},
		{"", "\"\" is not a whole number", COUNT_HINT},
	};
	static const struct bad range[] = {
		{"1", "\"1\" is too small", "write at least 2"},
		{"9", "\"9\" is too large", "write at most 8"},
	};
	check_good(num_parse_count, rows, ARRAY_LEN(rows));
	check_bad(num_parse_count, NUM_ANY, bad, ARRAY_LEN(bad));
	check_bad(num_parse_count, (struct num_range){2, 8}, range, ARRAY_LEN(range));
}

TEST(num_reads_cpus)
{
	static const struct good rows[] = {
		{"1", 1000}, {"0.5", 500}, {".5", 500}, {"1.5", 1500}, {"0.3339", 333}};
	static const struct bad bad[] = {
		{"two", "\"two\" is not a number of CPUs", CPU_HINT},
		{"50%", "\"50%\" is not a number of CPUs", CPU_HINT},
		{"1 ", "\"1 \" is not a number of CPUs", CPU_HINT},
	};
	static const struct bad range[] = {
		{"0", "\"0\" is too small", "write at least 0.01"},
		{"0.0001", "\"0.0001\" is too small", "write at least 0.01"},
		{"2.001", "\"2.001\" is too large", "write at most 2"},
	};
	check_good(num_parse_cpu_milli, rows, ARRAY_LEN(rows));
	check_bad(num_parse_cpu_milli, NUM_ANY, bad, ARRAY_LEN(bad));
	check_bad(num_parse_cpu_milli, (struct num_range){10, 2000}, range, ARRAY_LEN(range));
}

TEST(num_cuts_long_values_between_characters)
{
	uint64_t value;
	struct err err;
	/* 62 letters, then a character of three bytes: it does not fit the 64 that are shown. */
	CHECK_INT(
		num_parse_count("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx€€€",
			NUM_ANY, &value, &err),
		-EINVAL);
	CHECK_STR(err.msg,
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" "
		"is not a whole number");
}

struct shown {
	uint64_t value;
	const char *text;
};

TEST(num_formats_bytes)
{
	static const struct shown rows[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1 KiB"},
		{1536, "1.5 KiB"},
		{1025, "1 KiB"},
		{(1 << 20) - 1, "1023.99 KiB"},
		{UINT64_C(512) << 20, "512 MiB"},
		{UINT64_C(1) << 30, "1 GiB"},
		{UINT64_C(3) << 29, "1.5 GiB"},
		{UINT64_C(5) << 28, "1.25 GiB"},
		{UINT64_C(1) << 40, "1 TiB"},
		{UINT64_MAX, "16777215.99 TiB"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(num_format_bytes(rows[i].value).text, rows[i].text);
}

TEST(num_formats_durations_and_cpus)
{
	static const struct shown ms[] = {
		{0, "0 ms"},
		{999, "999 ms"},
		{1000, "1 s"},
		{1500, "1.5 s"},
		{1001, "1.001 s"},
		{30000, "30 s"},
		{90000, "90 s"},
		{120000, "2 min"},
		{3600000, "1 h"},
		{UINT64_MAX, "18446744073709551.615 s"},
	};
	static const struct shown cpus[] = {{500, "0.5"}, {1000, "1"}, {1001, "1.001"}, {0, "0"}};
	for (size_t i = 0; i < ARRAY_LEN(ms); i++)
		CHECK_STR(num_format_ms(ms[i].value).text, ms[i].text);
	for (size_t i = 0; i < ARRAY_LEN(cpus); i++)
		CHECK_STR(num_format_cpu_milli(cpus[i].value).text, cpus[i].text);
	CHECK_STR(num_format_count(128).text, "128");
}

TEST(num_reads_back_what_it_wrote)
{
	static const uint64_t rows[] = {0, 1, 1000, 1500, 90000, 120000, 3600000, 7200001, 1024,
		1536, UINT64_C(1) << 30, UINT64_C(3) << 29, UINT64_C(1) << 40};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t value = UNTOUCHED;
		struct err err;
		CHECK_INT(num_parse_ms(num_format_ms(rows[i]).text, NUM_ANY, &value, &err), 0);
		CHECK_INT(value, rows[i]);
		value = UNTOUCHED;
		CHECK_INT(num_parse_cpu_milli(
				  num_format_cpu_milli(rows[i]).text, NUM_ANY, &value, &err),
			0);
		CHECK_INT(value, rows[i]);
		value = UNTOUCHED;
		CHECK_INT(
			num_parse_bytes(num_format_bytes(rows[i]).text, NUM_ANY, &value, &err), 0);
		CHECK(value <= rows[i]);
		if (rows[i] % 512 == 0)
			CHECK_INT(value, rows[i]);
	}
}
