/* What outsiders write in requests to the front "open-terminal". SPDX-License-Identifier:
 * Apache-2.0
 */
#include "serve/openterminal/request.h"

#include "t.h"

#include <string.h>

static bool query_is(const char *target, const char *want)
{
	json_t *found = NULL;
	struct err err;
	if (ot_read_query(target, &found, &err) < 0)
		return want == NULL;
	cleanup_json json_t *expected = want ? json_loads(want, 0, NULL) : NULL;
	bool is_same = expected && json_equal(found, expected);
	json_decref(found);
	return is_same;
}

TEST(queries)
{
	CHECK(query_is("/p", "{}"));
	CHECK(query_is("/p?", "{}"));
	CHECK(query_is(
		"/p?a=1&b=x+y%2Bz&a=%C3%A9", "{\"a\":[\"1\",\"\\u00e9\"],\"b\":[\"x y+z\"]}"));
	CHECK(query_is(
		"/p?a&b=&&c=d=e", "{\"a\":[\"\"],\"b\":[\"\"],\"\":[\"\"],\"c\":[\"d=e\"]}"));
	CHECK(query_is("/p?a=null&b=NULL&c=nulls", "{\"c\":[\"nulls\"]}"));
	CHECK(query_is("/p?a=%4&b=%zz&c=%", "{\"a\":[\"%4\"],\"b\":[\"%zz\"],\"c\":[\"%\"]}"));
	CHECK(query_is("/p?a=%00", NULL));
	CHECK(query_is("/p?a=%ff", NULL));
	CHECK(query_is("/p?%00=a", NULL));
}

static bool path_is(const char *path, const char *cwd, const char *want)
{
	char out[OT_PATH_BYTES];
	bool is_good = ot_clean_path(path, strlen(path), cwd, out);
	return is_good ? want && strcmp(out, want) == 0 : !want;
}

TEST(paths)
{
	char is_long[OT_PATH_BYTES + 2], out[OT_PATH_BYTES];
	CHECK(path_is("a", "/home/user", "/home/user/a"));
	CHECK(path_is(".", "/home/user", "/home/user"));
	CHECK(path_is("..", "/home/user", "/home"));
	CHECK(path_is("../../../..", "/home/user", "/"));
	CHECK(path_is("/", "/home/user", "/"));
	CHECK(path_is("//a//./b/../c/", "/x", "/a/c"));
	CHECK(path_is("/../etc/passwd", "/x", "/etc/passwd"));
	CHECK(path_is("...", "/x", "/x/..."));
	CHECK(path_is("", "/x", NULL));
	CHECK(path_is("\xff", "/x", NULL));
	CHECK(!ot_clean_path("a\0b", 3, "/x", out));
	memset(is_long, 'a', sizeof is_long);
	is_long[0] = '/';
	CHECK(!ot_clean_path(is_long, OT_PATH_BYTES, "/", out));
	CHECK(ot_clean_path(is_long, OT_PATH_BYTES - 1, "/", out) &&
		strlen(out) == OT_PATH_BYTES - 1);
	CHECK(ot_read_rest("/execute/p-1%2f/status?x=/execute/", "/execute/", out));
	CHECK(strcmp(out, "p-1//status") == 0);
	CHECK(!ot_read_rest("/x?/execute/a", "/execute/", out));
	CHECK(!ot_read_rest("/execute/%00", "/execute/", out));
}

TEST(ids)
{
	char is_long[OT_ID_BYTES + 2];
	memset(is_long, 'a', sizeof is_long);
	is_long[OT_ID_BYTES] = '\0';
	CHECK(ot_is_id("8f1c-\xc3\xa9 ../") && ot_is_id(is_long));
	is_long[OT_ID_BYTES] = 'a';
	is_long[OT_ID_BYTES + 1] = '\0';
	CHECK(!ot_is_id("") && !ot_is_id("a\n") && !ot_is_id("\x7f") && !ot_is_id("\xff"));
	CHECK(!ot_is_id(is_long));
}

static bool text_is(const char *text, const char *want)
{
	cleanup_buf struct buf out = BUF_INIT(1000);
	ot_unescape(&out, text, strlen(text));
	return buf_error(&out) == 0 && strcmp(buf_str(&out), want) == 0;
}

TEST(escapes)
{
	CHECK(text_is("a\\nb\\t\\\\n", "a\nb\t\\n"));
	CHECK(text_is("\\x03\\x4", "\x03\\x4"));
	CHECK(text_is("\\u00e9\\U0001f600\\ud800\\U00110000",
		"\xc3\xa9\xf0\x9f\x98\x80\\ud800\\U00110000"));
	CHECK(text_is("\\033[A\\e\\q\\", "\033[A\033\\q\\"));
	CHECK(text_is("\\1012\\8", "A2\\8"));
	CHECK(text_is("\xc3\xa9\n", "\xc3\xa9\n"));
}

static int change(const char *text, struct ot_change c, const char *want)
{
	struct err err;
	cleanup_buf struct buf out = BUF_INIT(20);
	(void)buf_add(&out, text);
	c.target_bytes = strlen(c.target);
	c.replacement = c.replacement ? c.replacement : "";
	c.replacement_bytes = strlen(c.replacement);
	int r = ot_change(&out, &c, &err);
	return r < 0 ? (int)err.code : strcmp(buf_str(&out), want) == 0 ? 0 : -1;
}

TEST(changes)
{
	CHECK(change("a b", (struct ot_change){.target = "b", .replacement = "c"}, "a c") == 0);
	CHECK(change("a a", (struct ot_change){.target = "a"}, "") == ERR_USAGE);
	CHECK(change("a a", (struct ot_change){.target = "a", .is_any_number = true}, " ") == 0);
	CHECK(change("a\na\na", (struct ot_change){.target = "a", .first = 2, .last = 2},
		      "a\n\na") == 0);
	CHECK(change("a", (struct ot_change){.target = "a", .first = 5}, "") == ERR_USAGE);
	CHECK(change("a", (struct ot_change){.target = "", .is_any_number = true}, "") ==
		ERR_USAGE);
	CHECK(change("aaaa",
		      (struct ot_change){.target = "aa", .replacement = "b", .is_any_number = true},
		      "bb") == 0);
	CHECK(change("a", (struct ot_change){.target = "a", .replacement = "123456789012345678901"},
		      "") == ERR_LIMIT);
}

static bool lines_are(const char *text, size_t first, size_t last, const char *want, size_t n)
{
	struct ot_lines found = ot_find_lines(text, strlen(text), first, last);
	return found.n == n && strlen(want) == found.end - found.begin &&
		memcmp(text + found.begin, want, strlen(want)) == 0;
}

TEST(lines)
{
	CHECK(lines_are("", 0, 0, "", 0));
	CHECK(lines_are("a\nb\nc", 0, 0, "a\nb\nc", 3));
	CHECK(lines_are("a\nb\n", 2, 2, "b\n", 2));
	CHECK(lines_are("a\nb\nc", 3, 9, "c", 3));
	CHECK(lines_are("a\nb\nc", 3, 1, "", 3));
	CHECK(lines_are("a\nb", 4, 0, "", 2));
}

TEST(entries)
{
	char text[20000];
	bool is_cut;
	cleanup_json json_t *two = ot_entries("a\nb\nc", 5, true, 2, &is_cut);
	CHECK(json_array_size(two) == 2 && is_cut);
	CHECK(strcmp(json_get_text(json_array_get(two, 0), "data"), "b\n") == 0);
	CHECK(strcmp(json_get_text(json_array_get(two, 1), "data"), "c") == 0);
	cleanup_json json_t *one = ot_entries("a\nb\nc", 5, false, 0, &is_cut);
	CHECK(json_array_size(one) == 1 && !is_cut);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 100 == 99 ? '\n' : 'x';
	cleanup_json json_t *many = ot_entries(text, sizeof text, false, 0, &is_cut);
	size_t bytes = 0;
	for (size_t i = 0; i < json_array_size(many); i++) {
		const json_t *data = json_object_get(json_array_get(many, i), "data");
		bytes += json_string_length(data);
		CHECK(json_string_length(data) % 100 == 0 && json_string_length(data) <= 4096);
	}
	CHECK(bytes == sizeof text && !is_cut);
}
