/* Rows, dialects and columns of delimited text; what a value looks like as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "column.h"
#include "scan.h"
#include "text.h"

#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct memory {
	const char *data;
	size_t bytes, step; /* at most so much at once */
};

static ssize_t read_memory(void *arg, char *out, size_t bytes, uint64_t offset)
{
	const struct memory *m = arg;
	size_t n = offset < m->bytes ? MIN(MIN(bytes, m->step), m->bytes - (size_t)offset) : 0;
	if (n > 0)
		memcpy(out, m->data + offset, n);
	return (ssize_t)n;
}

/* All rows as text: [field][field]; a quoted one as {field}. */
static void check_rows(const char *text, char delimiter, const char *want)
{
	for (size_t step = 1; step < 9; step++) {
		struct memory m = {text, strlen(text), step};
		cleanup_buf struct buf got = BUF_INIT(4096);
		struct csv c;
		csv_init(&c, read_memory, &m, delimiter);
		while (csv_next(&c) == 1) {
			for (size_t i = 0; i < c.n_fields; i++) {
				struct csv_field f = csv_field(&c, i);
				(void)buf_addf(&got, f.is_quoted ? "{%.*s}" : "[%.*s]",
					(int)f.bytes, f.text);
			}
			(void)buf_add(&got, ";");
		}
		CHECK_STR(buf_str(&got), want);
		csv_done(&c);
	}
}

TEST(rows)
{
	check_rows("", ',', "");
	check_rows("\n\r\n\r", ',', "");
	check_rows("a,b\nc,d", ',', "[a][b];[c][d];");
	check_rows("a,b\r\nc,d\r", ',', "[a][b];[c][d];");
	check_rows(",\n\"\"\n,", ',', "[][];{};[][];");
	check_rows("\"a,\n\"\"b\"\"\",c", ',', "{a,\n\"b\"}[c];");
	check_rows("a\"b\",\"c\"d\"e,f", ',', "[a\"b\"]{cd\"e}[f];");
	check_rows("\"open\na,b", ',', "{open\na,b};");
	check_rows("\xef\xbb\xbfx\ty,z\n", '\t', "[x][y,z];");
}

TEST(offsets_lead_back)
{
	const char *text = "a,1\n\n\"b\nb\",2\r\nc,3\n";
	struct memory m = {text, strlen(text), 3};
	uint64_t offsets[3];
	struct csv c;
	csv_init(&c, read_memory, &m, ',');
	for (int i = 0; i < 3; i++) {
		CHECK_INT(csv_next(&c), 1);
		offsets[i] = c.row_offset;
	}
	for (int i = 2; i >= 0; i--) {
		csv_seek(&c, offsets[i]);
		CHECK_INT(csv_next(&c), 1);
		CHECK_INT(csv_field(&c, 1).text[0], '1' + i);
	}
	csv_done(&c);
}

TEST(a_row_has_a_limit)
{
	static char text[CSV_ROW_MAX_BYTES + 16];
	memset(text, 'x', sizeof text);
	struct memory m = {text, sizeof text, sizeof text};
	struct csv c;
	csv_init(&c, read_memory, &m, ',');
	CHECK_INT(csv_next(&c), -E2BIG);
	csv_done(&c);
}

TEST(sniffing)
{
	static const struct {
		const char *text;
		char want;
	} rows[] = {{"", ','}, {"a\nb\n", ','}, {"a,b\nc,d\n", ','}, {"a;b\n1,5;2\n3,7;4\n", ';'},
		{"a\tb c\n1\t2, 3\n", '\t'}, {"a|b\n1|2\n", '|'},
		{"x,\"a;b;c\"\ny,\"d;e;f\"\n", ','}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(csv_sniff(rows[i].text, strlen(rows[i].text), true), rows[i].want);
}

TEST(numbers)
{
	static const struct {
		const char *text;
		enum column_type want;
	} rows[] = {{"", COLUMN_TEXT}, {"0", COLUMN_INTEGER}, {"-1", COLUMN_INTEGER},
		{" 7 ", COLUMN_INTEGER}, {"007", COLUMN_TEXT}, {"-07", COLUMN_TEXT},
		{"+7", COLUMN_TEXT}, {"7.", COLUMN_REAL}, {".5", COLUMN_REAL}, {".", COLUMN_TEXT},
		{"0.5", COLUMN_REAL}, {"1e5", COLUMN_REAL}, {"1e", COLUMN_TEXT},
		{"1e999", COLUMN_TEXT}, {"e5", COLUMN_TEXT}, {"0x10", COLUMN_TEXT},
		{"nan", COLUMN_TEXT}, {"inf", COLUMN_TEXT}, {"1 2", COLUMN_TEXT},
		{"9223372036854775807", COLUMN_INTEGER}, {"9223372036854775808", COLUMN_TEXT},
		{"-", COLUMN_TEXT}, {"1-2", COLUMN_TEXT}, {"1.2.3", COLUMN_TEXT}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t integer;
		double real;
		CHECK_INT(column_parse(rows[i].text, strlen(rows[i].text), &integer, &real),
			rows[i].want);
	}
}

static void check_columns(const char *text, bool has_header, const char *want)
{
	struct memory m = {text, strlen(text), 4096};
	const struct dialect guess = {0};
	struct columns c;
	cleanup_buf struct buf got = BUF_INIT(4096);
	CHECK_INT(columns_find(&c, read_memory, &m, &guess), 0);
	for (size_t i = 0; i < c.n; i++)
		(void)buf_addf(&got, "%s %s;", c.names[i], column_type_name(c.types[i]));
	CHECK_STR(buf_str(&got), want);
	CHECK_INT(c.has_header, has_header);
	columns_done(&c);
}

TEST(columns)
{
	check_columns("a,b,c\n1,x,1.5\n2,,2\n", true, "a INTEGER;b TEXT;c REAL;");
	check_columns("1,2\n3,x\n", false, "column1 INTEGER;column2 TEXT;");
	check_columns("a,b\nc,d\n", true, "a TEXT;b TEXT;");
	check_columns("land,2019\nx,1\n", false, "column1 TEXT;column2 INTEGER;");
	check_columns("n,2019\n5,1\n", true, "n INTEGER;2019 INTEGER;");
	check_columns("a, A ,,a\n", true, "a TEXT;A_2 TEXT;column3 TEXT;a_3 TEXT;");
	struct memory none = {"\n\n", 2, 9},
		      wide = {"\xff\xfe"
			      "a",
			      3, 9};
	const struct dialect guess = {0};
	struct columns c;
	CHECK_INT(columns_find(&c, read_memory, &none, &guess), -ENODATA);
	CHECK_INT(columns_find(&c, read_memory, &wide, &guess), -EILSEQ);
}

TEST(tokens)
{
	const char *text = " -- no\n/* no */ Select'it''s'\"a\"\"b\"[x]`y` 12;";
	static const char *const want[] = {"Select", "it's", "a\"b", "x", "y", "12", ";"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char plain[32];
		struct token t = scan_token(&text);
		CHECK(scan_plain(&t, plain, sizeof plain));
		CHECK_STR(plain, want[i]);
	}
	struct token end = scan_token(&text);
	CHECK_INT(end.kind, SCAN_END);
	static const char *const open[] = {"'", "'x", "\"", "[", "/*", "/", "--", "''", "'''"};
	for (size_t i = 0; i < ARRAY_LEN(open); i++) {
		char plain[2];
		const char *at = open[i];
		struct token t = scan_token(&at);
		(void)scan_plain(&t, plain, sizeof plain);
		CHECK(at <= open[i] + strlen(open[i]));
	}
}

TEST(reals)
{
	static const struct {
		double real;
		const char *want;
	} rows[] = {{0.1, "0.1"}, {3, "3.0"}, {1e300, "1e+300"}, {1.0 / 3, "0.3333333333333333"},
		{-2.5, "-2.5"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf out = BUF_INIT(64);
		text_real(&out, rows[i].real);
		CHECK_STR(buf_str(&out), rows[i].want);
	}
}
