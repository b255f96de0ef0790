/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define BAD "\xef\xbf\xbd"

struct row {
	const char *in;
	size_t bytes;
	const char *out;
	size_t n_replaced;
};

#define ROW(in, out, n)                                                                            \
	{                                                                                          \
		in, sizeof(in) - 1, out, n                                                         \
	}

static const struct row repairs[] = {
	ROW("", "", 0),
	ROW("plain", "plain", 0),
	ROW("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", 0),
	ROW("\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80", 0),
	ROW("a\x80z", "a" BAD "z", 1),
	ROW("\xff\xfe", BAD BAD, 2),
	ROW("\xc0\xaf", BAD BAD, 2), /* overlong, two bytes */
	ROW("\xc1\xbf", BAD BAD, 2),
	ROW("\xe0\x80\xaf", BAD BAD BAD, 3),				/* overlong, three bytes */
	ROW("\xf0\x80\x80\xaf", BAD BAD BAD BAD, 4),			/* overlong, four bytes */
	ROW("\xed\xa0\x80", BAD BAD BAD, 3),				/* a surrogate */
	ROW("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", 0), /* its neighbours */
	ROW("\xf4\x90\x80\x80", BAD BAD BAD BAD, 4),			/* past U+10FFFF */
	ROW("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", 0),			/* U+10FFFF */
	ROW("\xf5\x80", BAD BAD, 2),
	ROW("\xe2\x82", BAD, 1), /* cut at the end */
	ROW("\xf0\x9f\x98", BAD, 1),
	ROW("\xf0\x9f\x98z", BAD "z", 1),
	/* The example of the standard, table 3-8 and after. */
	ROW("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64",
		"a" BAD BAD BAD "b" BAD "c" BAD BAD "d", 6),
	ROW("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", BAD BAD BAD BAD "A", 4),
};

TEST(utf8_repairs_maximal_subparts)
{
	for (size_t i = 0; i < ARRAY_LEN(repairs); i++) {
		const struct row *r = &repairs[i];
		struct buf b cleanup_buf = BUF_INIT(100);
		size_t n_replaced = 10;
		CHECK_INT(utf8_repair(&b, r->in, r->bytes, &n_replaced), 0);
		CHECK_STR(buf_str(&b), r->out);
		CHECK_INT(n_replaced, r->n_replaced + 10);
		CHECK_INT(utf8_is_valid(r->in, r->bytes), r->n_replaced == 0);
		CHECK(utf8_is_valid(buf_str(&b), b.bytes));
	}
}

TEST(utf8_keeps_nul)
{
	struct buf b cleanup_buf = BUF_INIT(8);
	CHECK_INT(utf8_repair(&b, "a\0b", 3, NULL), 0);
	CHECK_INT(b.bytes, 3);
	CHECK_INT(memcmp(b.data, "a\0b", 4), 0);
}

TEST(utf8_stops_at_the_maximum)
{
	struct buf b cleanup_buf = BUF_INIT(6);
	CHECK_INT(buf_add(&b, "xy"), 0);
	size_t n = 0;
	CHECK_INT(utf8_repair(&b, "a\xff\xff", 3, &n), -E2BIG);
	CHECK_STR(buf_str(&b), "xy");
	CHECK_INT(n, 0);
	CHECK_INT(buf_error(&b), -E2BIG);
	buf_cut(&b, b.bytes);
	CHECK_INT(utf8_escape_terminal(&b, "ab\x1b", 3, UTF8_ONE_LINE), -E2BIG);
	CHECK_STR(buf_str(&b), "xy");
	buf_cut(&b, b.bytes);
	CHECK_INT(utf8_repair(&b, "a\xff", 2, &n), 0);
	CHECK_STR(buf_str(&b), "xya" BAD);
}

TEST(utf8_round_trips_every_character)
{
	for (int32_t c = 0; c <= 0x10ffff; c++) {
		unsigned char s[UTF8_MAX_BYTES];
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
		for (size_t i = n; i-- > 0;)
			s[i] = (unsigned char)((c >> (6 * (n - 1 - i)) & (i ? 0x3f : 0xff)) |
				(i ? 0x80 : marks[n]));
		int32_t got = 0;
		bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
		size_t took = utf8_decode(s, n, &got);
		if (got != (is_surrogate ? -1 : c) || took != (is_surrogate ? 1 : n)) {
			CHECK_INT(got, c);
			break;
		}
	}
	int32_t c = 0;
	CHECK_INT(utf8_decode("", 0, &c), 0);
	CHECK_INT(c, -1);
}

TEST(utf8_cuts_between_characters)
{
	static const struct {
		const char *text;
		size_t max, cut;
	} rows[] = {
		{"abc", 5, 3},
		{"abc", 3, 3},
		{"abc", 2, 2},
		{"abc", 0, 0},
		{"a\xe2\x82\xac", 4, 4},
		{"a\xe2\x82\xacz", 4, 4},
		{"a\xe2\x82\xac", 3, 1},
		{"a\xe2\x82\xac", 2, 1},
		{"a\xe2\x82\xac", 1, 1},
		{"\xf0\x9f\x98\x80", 3, 0},
		{"\xf0\x9f\x98\x80", 1, 0},
		{"\xf0\x9f\x98\x80", 0, 0},
		{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, 4},
		{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 5, 4},
		{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 4, 4},
		{"\x80\x80\x80\x80\x80\x80", 5, 5}, /* no character to split */
		{"\x80\x80\x80", 2, 2},
		{"\xe2\x82z", 2, 2},
		{"\xe2\x82z", 1, 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(utf8_cut(rows[i].text, strlen(rows[i].text), rows[i].max), rows[i].cut);
}

TEST(utf8_counts_characters)
{
	CHECK_INT(utf8_count("", 0), 0);
	CHECK_INT(utf8_count("a\xe2\x82\xac\xff", 5), 3);
}

TEST(utf8_makes_hostile_text_safe)
{
	static const struct {
		const char *in, *kept, *one_line;
	} rows[] = {
		{"plain \xc3\xbc", "plain \xc3\xbc", "plain \xc3\xbc"},
		{"a\nb\tc", "a\nb\tc", "a\\x0ab\\x09c"},
		{"\x1b[31mred", "\\x1b[31mred", "\\x1b[31mred"},
		{"\r\b\a\x7f", "\\x0d\\x08\\x07\\x7f", "\\x0d\\x08\\x07\\x7f"},
		{"\xc2\x9b"
		 "31m",
			"\\x9b31m", "\\x9b31m"}, /* U+009B, CSI of C1 */
		{"\x9b"
		 "31m",
			"\\x9b31m", "\\x9b31m"}, /* the same, not UTF-8 */
		{"\xc2\x80\xc2\x9f\xc2\xa0", "\\x80\\x9f\xc2\xa0", "\\x80\\x9f\xc2\xa0"},
		{"\xe2\x80\xae"
		 "txt.exe",
			"\\u202etxt.exe", "\\u202etxt.exe"},
		{"\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad", "\\u202a\\u202b\\u202c\\u202d",
			"\\u202a\\u202b\\u202c\\u202d"},
		{"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u2066\\u2067\\u2068\\u2069",
			"\\u2066\\u2067\\u2068\\u2069"},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029", "\\u2028\\u2029"},
		{"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0",
			"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0"},
		/* What has no look: zero width space, joiner, word joiner, byte order mark, tag. */
		{"a\xe2\x80\x8b\xe2\x80\x8d\xe2\x81\xa0\xef\xbb\xbf\xf3\xa0\x80\xa1",
			"a\\u200b\\u200d\\u2060\\ufeff\\U000e0021",
			"a\\u200b\\u200d\\u2060\\ufeff\\U000e0021"},
		/* A heart with its selector, a word with a non-joiner; two of them are no spelling.
		 */
		{"\xe2\x9d\xa4\xef\xb8\x8f \xd9\x85\xe2\x80\x8c\xd8\xae",
			"\xe2\x9d\xa4\xef\xb8\x8f \xd9\x85\xe2\x80\x8c\xd8\xae",
			"\xe2\x9d\xa4\\ufe0f \xd9\x85\\u200c\xd8\xae"},
		{"\xd9\x85\xe2\x80\x8c\xe2\x80\x8c", "\xd9\x85\xe2\x80\x8c\\u200c",
			"\xd9\x85\\u200c\\u200c"},
		{"\xf0\x9f\x98"
		 "A",
			"\\xf0\\x9f\\x98A", "\\xf0\\x9f\\x98A"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b cleanup_buf = BUF_INIT(200);
		CHECK_INT(utf8_escape_terminal(&b, rows[i].in, strlen(rows[i].in), UTF8_KEEP_LINES),
			0);
		CHECK_STR(buf_str(&b), rows[i].kept);
		buf_clear(&b);
		CHECK_INT(
			utf8_escape_terminal(&b, rows[i].in, strlen(rows[i].in), UTF8_ONE_LINE), 0);
		CHECK_STR(buf_str(&b), rows[i].one_line);
	}
	struct buf b cleanup_buf = BUF_INIT(20);
	CHECK_INT(utf8_escape_terminal(&b, "a\0b", 3, UTF8_KEEP_LINES), 0);
	CHECK_STR(buf_str(&b), "a\\x00b");
}

TEST(json_for_terminals)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"{\"a\": \"b\\n\"}\n", "{\"a\": \"b\\n\"}\n"},
		{"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
		{"\x7f\xc2\x9b\xe2\x80\xae", "\\u007f\\u009b\\u202e"},
		{"\xf3\xa0\x80\xa1", "\\udb40\\udc21"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b cleanup_buf = BUF_INIT(200);
		CHECK_INT(utf8_escape_json(&b, rows[i].in, strlen(rows[i].in)), 0);
		CHECK_STR(buf_str(&b), rows[i].out);
	}
	struct buf small cleanup_buf = BUF_INIT(5);
	CHECK_INT(utf8_escape_json(&small, "a\x7f", 2), -E2BIG);
	CHECK_INT(small.bytes, 0);
}

TEST(utf8_quotes_for_json)
{
	static const struct {
		const char *in;
		size_t bytes;
		const char *out;
	} rows[] = {
		{"", 0, "\"\""},
		{"plain é \xf0\x9f\x98\x80", 13, "\"plain é \xf0\x9f\x98\x80\""},
		{"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
		{"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
		{"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\""},
		{"x\xff\xe2\x82y", 5, "\"x" BAD BAD "y\""},
		{"\xc3", 1, "\"" BAD "\""},
		{"a\"\\\n\x01\xff\xc3\xa9z", 9, "\"a\\\"\\\\\\n\\u0001" BAD "\xc3\xa9z\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_buf struct buf out = BUF_INIT(100);
		CHECK_INT(utf8_quote(&out, rows[i].in, rows[i].bytes), 0);
		CHECK_STR(buf_str(&out), rows[i].out);
	}
	cleanup_buf struct buf less = BUF_INIT(4);
	CHECK_INT(utf8_quote(&less, "abc", 3), -E2BIG);
}
