/* Placeholders in texts and headers; needles in streams that come in all ways of pieces.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "gateway/process/swap.h"

#include "base/base64.h"

#include "unit/gateway/wiped.h"
#include "t.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 20, NEEDLES = 4 };

/* ---- placeholders ---- */

/* "{A" begins "{A}", "}{" overlaps others, and the value of "{B}" has placeholders in it. */
static const struct swap swaps[] = {{"{A", "a"}, {"{A}", "Alpha"}, {"{B}", "{A}{B}"},
	{"{C}", "c \"d\\e\"/+&=%~-._\x7f"}, {"}{", "<>"}, {"{D}", ""}, {"", "nothing"}};

static void check_text(enum swap_form form, const char *text, const char *want, bool is_any)
{
	struct buf out = BUF_INIT(ROOM);
	size_t bytes = strlen(text);
	char *exact = malloc(bytes + (bytes == 0));
	memcpy(exact, text, bytes);
	CHECK_INT(swap_is_in(swaps, ARRAY_LEN(swaps), exact, bytes), is_any);
	CHECK_INT(swap_text(swaps, ARRAY_LEN(swaps), form, exact, bytes, &out), is_any);
	CHECK_STR(buf_str(&out), want);
	CHECK_INT(buf_error(&out), 0);
	free(exact);
	buf_done(&out);
}

TEST(texts)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"{A}", "Alpha"},
		{"{A", "a"},
		{"{A}{A}", "AlphaAlpha"},
		{"x{A}y", "xAlphay"},
		{"{A{A}", "aAlpha"},
		{"{A.}", "a.}"},
		{"{{A}}", "{Alpha}"},
		{"{B}", "{A}{B}"},
		{"{B}{A}", "{A}{B}Alpha"},
		{"{B}}{", "{A}{B}<>"},
		{"{B}{", "{A}{B}{"},
		{"x}{A}", "x<>A}"},
		{"}{A}{A}", "<>A<>A}"},
		{"{D}", ""},
		{"x{D}{D}y", "xy"},
		{"{{D}A}", "{A}"},
		{"x{C}", "xc \"d\\e\"/+&=%~-._\x7f"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_text(SWAP_RAW, rows[i].text, rows[i].want, true);
	check_text(SWAP_RAW, "", "", false);
	check_text(SWAP_RAW, "{", "{", false);
	check_text(SWAP_RAW, "{a} {E} }", "{a} {E} }", false);
	check_text(SWAP_RAW, "B}{", "B<>", true);
}

TEST(forms_of_values)
{
	check_text(SWAP_URL, "q={C}&r={A}&s=%7BA%7D",
		"q=c%20%22d%5Ce%22%2F%2B%26%3D%25~-._%7F&r=Alpha&s=%7BA%7D", true);
	check_text(SWAP_URL, "{B}", "%7BA%7D%7BB%7D", true);
	check_text(SWAP_URL, "a b\"", "a b\"", false);
	check_text(SWAP_JSON, "{\"k\": \"{C}\", \"l\": \"{A}\"}",
		"{\"k\": \"c \\\"d\\\\e\\\"/+&=%~-._\x7f\", \"l\": \"Alpha\"}", true);
	struct swap control = {"P", "\x01\n\x1f"};
	struct buf out = BUF_INIT(ROOM);
	CHECK(swap_text(&control, 1, SWAP_JSON, "P", 1, &out));
	CHECK_STR(buf_str(&out), "\\u0001\\u000A\\u001F");
	buf_done(&out);
}

TEST(texts_that_hold_nul)
{
	static const char text[] = "\0{A}\0{A}";
	struct buf out = BUF_INIT(ROOM);
	CHECK(swap_is_in(swaps, 2, text, sizeof text - 1));
	CHECK(swap_text(swaps, 2, SWAP_RAW, text, sizeof text - 1, &out));
	CHECK_INT(out.bytes, 12);
	CHECK(memcmp(out.data, "\0Alpha\0Alpha", 12) == 0);
	buf_clear(&out);
	CHECK(!swap_text(NULL, 0, SWAP_RAW, text, sizeof text - 1, &out));
	CHECK_INT(out.bytes, sizeof text - 1);
	CHECK(!swap_text(swaps, 2, SWAP_RAW, NULL, 0, &out) && !swap_is_in(swaps, 2, NULL, 0));
	buf_done(&out);
}

TEST(texts_without_room)
{
	for (size_t max = 0; max < 10; max++) {
		struct buf out = BUF_INIT(max);
		CHECK(swap_text(swaps, ARRAY_LEN(swaps), SWAP_RAW, "{A}{A}", 6, &out));
		CHECK_INT(buf_error(&out), -E2BIG);
		buf_done(&out);
		out = BUF_INIT(max);
		CHECK(swap_header(swaps, ARRAY_LEN(swaps), "Basic e0F9", &out)); /* {A} */
		CHECK_INT(buf_error(&out), -E2BIG);
		buf_done(&out);
	}
}

/* Texts made to be slow are not. */
TEST(many_placeholders)
{
	enum { N = 100000 };
	struct swap two[] = {{"not there", "x"}, {"{P}", "0123456"}};
	struct buf text = BUF_INIT(ROOM), out = BUF_INIT(ROOM);
	for (int i = 0; i < N; i++)
		(void)buf_add(&text, "{P}");
	CHECK(swap_text(two, 2, SWAP_RAW, text.data, text.bytes, &out));
	CHECK_INT(out.bytes, N * 7);
	buf_done(&text);
	buf_done(&out);
}

static void check_header(const char *value, const char *want, bool is_any)
{
	struct buf out = BUF_INIT(ROOM);
	(void)buf_add(&out, "is kept ");
	if (!CHECK_INT(swap_header(swaps, ARRAY_LEN(swaps), value, &out), is_any))
		printf("# %s\n", value);
	CHECK_STR(buf_str(&out) + 8, want);
	CHECK_INT(buf_error(&out), 0);
	buf_done(&out);
}

TEST(headers)
{
	static const char *const same[] = {"", " ", "Basic", "Basic ", "Basic  ", "Basic QUJD",
		"basic eDp5", "text", "Basic !", "Bearer e0F9", "Basice0F9", "Basic: e0F9",
		"xBasic e0F9", "Digest Basic e0F9",
		/* malformed, or not the standard alphabet */
		"Basic e0F", "Basic e0F9e", "Basic e0F9=", "Basic e0F9====", "Basic e0F9 e0F9",
		"Basic e0F9,", "Basic =e0F9", "Basic e0=9", "Basic e0F9OnB_", "Basic e0F9OnB-",
		"Basic e0F9eA=", "Basic e0F9eB==", "Basic \"e0F9\"", "Basic ====", "Basic ="};
	check_header("{A}", "Alpha", true);
	check_header("Bearer {A}", "Bearer Alpha", true);
	check_header("token={A}; other={B}", "token=Alpha; other={A}{B}", true);
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		check_header(same[i], same[i], false);
}

/* Basic with @inside, written in each way; @n_padding of its base64 is left out. */
static void check_basic(const char *inside, const char *want)
{
	static const char *const before[] = {"Basic ", "basic ", "BASIC\t", " \tbAsIc  \t "},
				 *const behind[] = {"", " ", " \t "};
	struct buf base64 = BUF_INIT(ROOM), wanted = BUF_INIT(ROOM);
	char value[512], is[512];
	(void)base64_write(&base64, inside, strlen(inside));
	(void)base64_write(&wanted, want, strlen(want));
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		for (size_t j = 0; j < ARRAY_LEN(behind); j++) {
			int n = (int)strcspn(base64.data, "=");
			(void)snprintf(is, sizeof is, "%s%s%s", before[i], wanted.data, behind[j]);
			(void)snprintf(
				value, sizeof value, "%s%s%s", before[i], base64.data, behind[j]);
			check_header(value, is, true);
			(void)snprintf(value, sizeof value, "%s%.*s%s", before[i], n, base64.data,
				behind[j]);
			check_header(value, is, true);
		}
	}
	buf_done(&base64);
	buf_done(&wanted);
}

TEST(headers_with_base64)
{
	check_basic("{A}:x", "Alpha:x");
	check_basic("x:{A}", "x:Alpha");
	check_basic("xy:{A}", "xy:Alpha");
	check_basic("xyz:{A}", "xyz:Alpha");
	check_basic("{A}:{A}", "Alpha:Alpha");
	check_basic("{A}:{B}", "Alpha:{A}{B}");
	check_basic("{A}", "Alpha");
	check_basic("{C}:", "c \"d\\e\"/+&=%~-._\x7f:");
	check_basic("\xc3\xa4\xff:{A}", "\xc3\xa4\xff:Alpha");
	check_basic("{D}", "");
}

/* Base64 that is a placeholder itself: a credential that is a secret as a whole. */
TEST(headers_with_raw_placeholders)
{
	static const struct swap raw[] = {{"abcdefgh", "dTpw"}, {"ijkl", "secret"}};
	struct buf out = BUF_INIT(ROOM);
	CHECK(swap_header(raw, 2, "Basic abcdefgh", &out));
	CHECK_STR(buf_str(&out), "Basic dTpw");
	buf_clear(&out);
	CHECK(swap_header(raw, 2, "Basic abcdefgh, x", &out));
	CHECK_STR(buf_str(&out), "Basic dTpw, x");
	buf_clear(&out);
	/* "abcdefgh" is base64 that stays as it is when what follows it is changed. */
	CHECK(swap_header(raw, 2, "Basic abcdefghaWprbA==", &out));
	CHECK_STR(buf_str(&out), "Basic abcdefghc2VjcmV0");
	buf_done(&out);
}

TEST(forms_of_bodies)
{
	static const struct {
		const char *type;
		enum swap_form form;
	} rows[] = {
		{NULL, SWAP_RAW},
		{"", SWAP_RAW},
		{"text/plain", SWAP_RAW},
		{"application/x-www-form-urlencoded", SWAP_URL},
		{" Application/X-WWW-Form-Urlencoded\t; charset=utf-8", SWAP_URL},
		{"application/x-www-form-urlencoded2", SWAP_RAW},
		{"application/x-www-form-urlencode", SWAP_RAW},
		{"application/json", SWAP_JSON},
		{"APPLICATION/JSON;charset=utf-8", SWAP_JSON},
		{"application/json ", SWAP_JSON},
		{"application/json; x", SWAP_JSON},
		{"application/json, text/plain", SWAP_RAW},
		{"application/json text/plain", SWAP_RAW},
		{"application/jsonl", SWAP_RAW},
		{"application/vnd.api+json", SWAP_JSON},
		{"application/problem+JSON; charset=utf-8", SWAP_JSON},
		{"+json", SWAP_RAW},
		{"application/json+xml", SWAP_RAW},
		{"text/plain; x=a+json", SWAP_RAW},
		{"text/plain;application/json", SWAP_RAW},
		{"multipart/form-data; boundary=x", SWAP_RAW},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_INT(swap_form_of(rows[i].type), rows[i].form))
			printf("# %s\n", rows[i].type ? rows[i].type : "NULL");
}

/* ---- blotting out ---- */

struct haystack {
	const char *needles[NEEDLES];
	const char *text, *want; /* @want: NULL for what is_covered() says */
};

/* "shorter!" is the beginning of another, "cdefghij" is within one, "aaaaaaaa" overlaps itself. */
static const struct haystack haystacks[] = {
	{{"password"}, "the password is password", "the ******** is ********"},
	{{"password"}, "password", "********"},
	{{"password"}, "xpassword", "x********"},
	{{"password"}, "passwordx", "********x"},
	{{"password"}, "passworpassword", "passwor********"},
	{{"password"}, "passwor", "passwor"},
	{{"password"}, "Password passwor d", "Password passwor d"},
	{{"password"}, "passwordpassword", "****************"},
	{{"password"}, "", ""},
	{{"shorter!", "shorter!longer"}, "shorter!longer shorter!longe shorter!",
		"************** ********longe ********"},
	{{"shorter!longer", "shorter!"}, "shorter!shorter!longershorter!lon",
		"******************************lon"},
	{{"abcdefgh", "efghijkl", "ijklmnop"}, "abcdefghijklmnop.abcdefghijk.abcdefgijkl",
		"****************.********ijk.abcdefgijkl"},
	{{"abcdefghijkl", "cdefghij"}, "abcdefghij abcdefghijkl abcdefghijk",
		"ab******** ************ ab********k"},
	{{"abcdefghijkl", "efghijklmnop"}, "abcdefghijklmnop abcdefghijk efghijklmno",
		"**************** abcdefghijk efghijklmno"},
	{{"aaaaaaaa"}, "aaaaaaaaaaaa aaaaaaa baaaaaaaab", "************ aaaaaaa b********b"},
	{{"abababab"}, "abababababa babababab ababab", "**********a b******** ababab"},
	{{"abcabcabca"}, "abcabcabcabcabca abcabcabcbcabca", "**************** abcabcabcbcabca"},
	{{"aabaabaa"}, "aabaabaaabaabaa aabaabaabaabaa", "*************** **************"},
	{{"aabaabaa", "abaabaab"}, "aabaabaabaabaabb aabaab", NULL},
	{{"aaaaaaab", "aaaaaaaaac"}, "aaaaaaaaaaaaab aaaaaaaaac aaaaaaaa", NULL},
	{{"********"}, "password ******** *******", "password ******** *******"},
	{{"********", "password"}, "***password*****",
		"***********"
		"*****"},
	{{"\x01\x02\x03\x04\xff\xfe\x80\x81"}, "\x01\x01\x02\x03\x04\xff\xfe\x80\x81\x81", NULL},
	{{"mississippi", "ssissipp", "issippi mi"}, "mississippi mississipp mississippi", NULL},
	{{"data: x\n\ndata"}, "data: x\n\ndata: x\n\ndata", NULL},
};

/* What each byte of a stream is, told in the simplest way. */
static bool is_covered(const struct haystack *h, const char *text, size_t bytes, size_t at)
{
	for (size_t i = 0; i < NEEDLES && h->needles[i]; i++) {
		size_t n = strlen(h->needles[i]);
		for (size_t from = at < n ? 0 : at - n + 1; from <= at && from + n <= bytes; from++)
			if (memcmp(text + from, h->needles[i], n) == 0)
				return true;
	}
	return false;
}

/* How many of the last bytes may be held back: the longest beginning of a needle. */
static size_t may_be_held(const struct haystack *h, const char *text, size_t bytes)
{
	size_t most = 0;
	for (size_t i = 0; i < NEEDLES && h->needles[i]; i++)
		for (size_t n = 1; n <= bytes && n < strlen(h->needles[i]); n++)
			if (n > most && memcmp(text + bytes - n, h->needles[i], n) == 0)
				most = n;
	return most;
}

static struct blot *blot_of(const struct haystack *h)
{
	struct blot *b = blot_new();
	for (size_t i = 0; i < NEEDLES && h->needles[i]; i++)
		blot_add(b, h->needles[i], strlen(h->needles[i]));
	return b;
}

/* Feed in storage of its very size, and see that no more is held back than may be. */
static void feed(struct blot *b, const struct haystack *h, size_t from, size_t to, struct buf *out)
{
	size_t bytes = to - from, all = strlen(h->text);
	char *exact = malloc(bytes + (bytes == 0));
	memcpy(exact, h->text + from, bytes);
	blot_feed(b, exact, bytes, to == all, out);
	free(exact);
	CHECK_INT(out->bytes, to == all ? all : to - may_be_held(h, h->text, to));
}

static void want_of(const struct haystack *h, struct buf *want)
{
	size_t bytes = strlen(h->text);
	buf_clear(want);
	for (size_t i = 0; i < bytes; i++)
		(void)buf_append(want, is_covered(h, h->text, bytes, i) ? "*" : &h->text[i], 1);
	if (h->want)
		CHECK_STR(buf_str(want), h->want);
}

static void check_out(struct buf *out, const struct buf *want, const struct haystack *h)
{
	CHECK_INT(buf_error(out), 0);
	if (!CHECK_STR(buf_str(out), buf_str(want)))
		printf("# %s\n", h->text);
	buf_clear(out);
}

/* Call @try with each haystack, its needles in @b, and what is to come out. */
typedef void try_fn(
	const struct haystack *h, struct blot *b, const struct buf *want, struct buf *out);
static void try_all(try_fn *try)
{
	struct buf out = BUF_INIT(ROOM), want = BUF_INIT(ROOM);
	for (size_t i = 0; i < ARRAY_LEN(haystacks); i++) {
		struct blot *b = blot_of(&haystacks[i]);
		want_of(&haystacks[i], &want);
		try(&haystacks[i], b, &want, &out);
		blot_free(b);
	}
	buf_done(&out);
	buf_done(&want);
}

static void try_whole(
	const struct haystack *h, struct blot *b, const struct buf *want, struct buf *out)
{
	CHECK(!blot_is_empty(b));
	blot_text(b, h->text, strlen(h->text), out);
	check_out(out, want, h);
	for (int i = 0; i < 2; i++) { /* a stream, and the next one */
		feed(b, h, 0, strlen(h->text), out);
		check_out(out, want, h);
	}
}

TEST(whole_texts)
{
	try_all(try_whole);
}

static void try_splits(
	const struct haystack *h, struct blot *b, const struct buf *want, struct buf *out)
{
	size_t bytes = strlen(h->text);
	for (size_t i = 0; i < bytes; i++) {
		feed(b, h, 0, i, out);
		feed(b, h, i, bytes, out);
		check_out(out, want, h);
		for (size_t j = i; j < bytes; j++) {
			feed(b, h, 0, i, out);
			feed(b, h, i, j, out);
			feed(b, h, j, bytes, out);
			check_out(out, want, h);
		}
	}
}

TEST(every_split_in_two_and_three)
{
	try_all(try_splits);
}

static void try_pieces(
	const struct haystack *h, struct blot *b, const struct buf *want, struct buf *out)
{
	size_t bytes = strlen(h->text);
	for (size_t each = 1; each <= bytes; each++) {
		for (size_t at = 0; at < bytes; at += each)
			feed(b, h, at, MIN(at + each, bytes), out);
		check_out(out, want, h);
	}
}

TEST(pieces_of_equal_size)
{
	try_all(try_pieces);
}

TEST(nothing_is_held_back_without_reason)
{
	static const char *const pieces[] = {"data: hello\n\n", "data: password\n\n",
		"data: passwor\n\n", ": \n", "x", "data: p."};
	struct buf out = BUF_INIT(ROOM);
	struct blot *b = blot_new();
	blot_add_value(b, "password");
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		size_t n = strlen(pieces[i]);
		blot_feed(b, pieces[i], n, false, &out);
		CHECK_INT(out.bytes, n);
		buf_clear(&out);
	}
	blot_feed(b, "data: passwor", 13, false, &out);
	CHECK_STR(buf_str(&out), "data: ");
	blot_feed(b, NULL, 0, false, &out);
	CHECK_STR(buf_str(&out), "data: ");
	blot_feed(b, "k", 1, false, &out);
	CHECK_STR(buf_str(&out), "data: passwork");
	blot_feed(b, " pass", 5, false, &out);
	blot_feed(b, NULL, 0, true, &out);
	CHECK_STR(buf_str(&out), "data: passwork pass");
	blot_feed(b, "word", 4, true, &out); /* another stream */
	CHECK_STR(buf_str(&out), "data: passwork password");
	blot_free(b);
	buf_done(&out);
}

TEST(without_needles)
{
	struct buf out = BUF_INIT(ROOM);
	struct blot *b = blot_new();
	CHECK(blot_is_empty(b));
	blot_feed(b, "abcdefgh", 8, false, &out);
	CHECK_STR(buf_str(&out), "abcdefgh");
	blot_feed(b, NULL, 0, true, &out);
	blot_text(b, "ijk", 3, &out);
	blot_text(b, NULL, 0, &out);
	CHECK_STR(buf_str(&out), "abcdefghijk");
	blot_free(b);
	buf_clear(&out);
	blot_feed(NULL, "abc", 3, false, &out);
	blot_feed(NULL, NULL, 0, true, &out);
	blot_text(NULL, "def", 3, &out);
	CHECK_STR(buf_str(&out), "abcdef");
	CHECK(blot_is_empty(NULL) && !blot_is_holding(NULL));
	blot_free(NULL);
	buf_done(&out);
}

static void check_blotted(const struct blot *b, const char *text, const char *want)
{
	struct buf out = BUF_INIT(ROOM);
	blot_text(b, text, strlen(text), &out);
	CHECK_STR(buf_str(&out), want);
	buf_done(&out);
}

TEST(needles_that_are_not_added)
{
	static char longest[BLOT_NEEDLE_MAX + 1];
	struct blot *b = blot_new();
	char needle[16];
	memset(longest, 'x', sizeof longest);
	blot_add(b, "1234567", 7);
	blot_add(b, "", 0);
	blot_add(b, longest, sizeof longest);
	blot_add_value(b, "");
	CHECK(blot_is_empty(b));
	blot_add_value(b, "a\nb\nc"); /* only what is long enough */
	check_blotted(
		b, "a\nb\nc a%0Ab%0Ac a\\u000Ab\\u000Ac", "a\nb\nc ********* ***************");
	blot_free(b);
	b = blot_new();
	for (int i = 0; i < 2 * BLOT_NEEDLES_MAX; i++) {
		(void)snprintf(needle, sizeof needle, "needle%03d", i / 2);
		blot_add(b, needle, 9);
		blot_add(b, needle, 9);
	}
	blot_add(b, "one more", 8);
	check_blotted(b, "needle000 needle191 one more", "********* ********* one more");
	blot_free(b);
}

TEST(forms_of_a_value)
{
	static const struct {
		const char *value, *text, *want;
	} rows[] = {
		{"hunter-22", "hunter-22", "*********"},
		{"hunter/22", "hunter/22 hunter%2F22", "********* ***********"},
		{"a+b c\"d\\e&", "a%2Bb%20c%22d%5Ce%26", "********************"},
		{"a+b c\"d\\e&", "\"a+b c\\\"d\\\\e&\"", "\"************\""},
		{"a~b.c-d_e", "a~b.c-d_e", "*********"},
		/* in base64: alone, and before other bytes */
		{"password", "cGFzc3dvcmQ=", "**********Q="},
		{"password", "cGFzc3dvcmQ", "**********Q"},
		{"password", "cGFzc3dvcmQh", "**********Qh"},
		{"password", "cGFzc3dvcmQtMQ==", "**********QtMQ=="},
		{"passwords", "cGFzc3dvcmRz", "************"},
		{"passwords", "cGFzc3dvcmRzIQ==", "************IQ=="},
		{"passwords1", "cGFzc3dvcmRzMQ==", "*************Q=="},
		{"passwords1", "cGFzc3dvcmRzMTI=", "*************TI="},
		{"password", "cGFzc3dvcm", "**********"},
		{"password", "cGFzc3dvc", "cGFzc3dvc"},
		/* behind "a:", "ab:" and "abc:", in both alphabets */
		{"password", "YTpwYXNzd29yZA==", "YTp**********A=="},
		{"password", "YWI6cGFzc3dvcmQ=", "YWI6**********Q="},
		{"password", "YWJjOnBhc3N3b3Jk", "YWJjOn**********"},
		{"pass?>?>", "cGFzcz8-Pz4", "**********4"},
		{"pass?>?>", "cGFzcz8+Pz4=", "**********4="},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct blot *b = blot_new();
		blot_add_value(b, rows[i].value);
		check_blotted(b, rows[i].text, rows[i].want);
		blot_free(b);
	}
}

/* The longest, which are texts of one letter: of a period of 1, or none but their own length. */
TEST(long_needles)
{
	enum { N = BLOT_NEEDLE_MAX, TEXT = 5 * N };
	struct buf out = BUF_INIT(TEXT + N);
	char *needle = malloc(N), *text = malloc(TEXT);
	for (int last = 'a'; last <= 'b'; last++) {
		struct blot *b = blot_new();
		memset(needle, 'a', N);
		needle[N - 1] = (char)last;
		memset(text, 'a', TEXT);
		text[3 * N + 7] = 'b';
		text[3 * N + 8] = 'c';
		blot_add(b, needle, N);
		for (size_t at = 0, n = 1; at < TEXT; at += n, n = n * 7 % 40009) {
			n = MIN(n, TEXT - at);
			blot_feed(b, text + at, n, at + n == TEXT, &out);
		}
		CHECK_INT(out.bytes, TEXT);
		size_t from = last == 'a' ? 0 : 2 * N + 8, to = 3 * N + (last == 'a' ? 7 : 8);
		memset(text + from, '*', to - from);
		if (last == 'a')
			memset(text + 3 * N + 9, '*', TEXT - 3 * N - 9);
		CHECK(memcmp(out.data, text, TEXT) == 0);
		buf_clear(&out);
		blot_free(b);
	}
	free(needle);
	free(text);
	buf_done(&out);
}

/* Two that differ in their last byte, in a text with their beginnings of 120 bytes and more. */
TEST(needles_that_begin_alike)
{
	enum { N = 200, FROM = 120 };
	char one[N + 1] = "", other[N + 1], text[(N - FROM + 2) * (N + 1) + 1] = "";
	struct buf out = BUF_INIT(ROOM), want = BUF_INIT(ROOM);
	unsigned seed = 1;
	for (size_t i = 0; i < N; i++)
		one[i] = (char)('a' + (seed = seed * 1103515245 + 12345) / 65536 % 26);
	(void)snprintf(other, sizeof other, "%.*s!", N - 1, one);
	for (int n = FROM; n <= N; n++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s", n, one);
	(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", other);
	const struct haystack h = {{one, other}, text, NULL};
	struct blot *b = blot_of(&h);
	want_of(&h, &want);
	CHECK_INT(strchr(want.data, '*') - want.data, strlen(text) - 2 * N);
	for (size_t each = 1; each <= strlen(text); each = each * 5 / 4 + 1) {
		for (size_t at = 0; at < strlen(text); at += each)
			feed(b, &h, at, MIN(at + each, strlen(text)), &out);
		check_out(&out, &want, &h);
	}
	blot_free(b);
	buf_done(&out);
	buf_done(&want);
}

TEST(a_needle_in_the_middle_of_a_stream)
{
	struct buf out = BUF_INIT(ROOM);
	struct blot *b = blot_new();
	blot_add(b, "password", 8);
	blot_feed(b, "abc pass", 8, false, &out);
	blot_add(b, "password of another", 19);
	blot_feed(b, "word of an", 10, false, &out);
	CHECK_STR(buf_str(&out), "abc ");
	blot_feed(b, "other", 5, true, &out);
	CHECK_STR(buf_str(&out), "abc *******************");
	blot_free(b);
	buf_done(&out);
}

TEST(streams_without_room)
{
	struct buf out = BUF_INIT(16);
	struct blot *b = blot_new();
	blot_add(b, "password", 8);
	blot_feed(b, "0123456789passw", 15, false, &out);
	CHECK_INT(out.bytes, 10);
	CHECK_INT(buf_error(&out), 0);
	blot_feed(b, "ord", 3, true, &out);
	CHECK_INT(buf_error(&out), -E2BIG);
	CHECK_STR(buf_str(&out), "0123456789");
	buf_clear(&out);
	blot_feed(b, "ord", 3, true, &out); /* nothing is lost */
	CHECK_STR(buf_str(&out), "********");
	blot_text(b, "012345678", 9, &out);
	CHECK_INT(buf_error(&out), -E2BIG);
	blot_feed(b, NULL, 0, true, &out);
	CHECK_STR(buf_str(&out), "********");
	blot_free(b);
	buf_done(&out);
}

/* ---- what is left in memory ---- */

TEST(values_are_wiped)
{
	static const char *const forms[] = {
		"hunter/\"22", "hunter%2F%22", "hunter/\\\"2", "aHVudGVyL", "hunter/"};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct buf out = BUF_INIT(ROOM);
		struct swap one = {"P", "hunter/\"22"};
		struct blot *b = blot_new();
		size_t n_freed;
		wiped_begin(forms[i]);
		blot_add_value(b, one.value);
		blot_feed(b, "hunter/", 7, false, &out);
		blot_add(b, "a longer needle: hunter%2F%22", 29);
		blot_feed(b, "\"22 hunter/", 11, false, &out);
		blot_free(b);
		CHECK(swap_header(&one, 1, "Basic UDpQ", &out));
		CHECK_INT(wiped_end(&n_freed), 0);
		CHECK(n_freed > 0);
		buf_done(&out);
	}
}
