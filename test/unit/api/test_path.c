/* Paths of a box, and what a box may say about its files. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/path_message.h"

#include "base/attr.h"
#include "base/json.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

TEST(paths)
{
	static const struct {
		const char *given, *clean;
	} rows[] = {
		{"a", "/home/user/a"},
		{".", "/home/user"},
		{"~", "/home/user"},
		{"~/", "/home/user"},
		{"~/a/", "/home/user/a"},
		{"~a", "/home/user/~a"},
		{"a/~", "/home/user/a/~"},
		{"..", "/home"},
		{"../..", "/"},
		{"../../../..", "/"},
		{"/", "/"},
		{"//", "/"},
		{"/..", "/"},
		{"/a//b/./c/../d/", "/a/b/d"},
		{"/a/...", "/a/..."},
		{"/a/.b", "/a/.b"},
		{"/a/..b", "/a/..b"},
		{" ", "/home/user/ "},
	};
	char out[PATH_BYTES + 1], longest[PATH_BYTES + 1];
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(path_clean(rows[i].given, out, &err) == 0) ||
			!CHECK_STR(out, rows[i].clean))
			printf("# %s\n", rows[i].given);
	memset(longest, 'x', PATH_BYTES);
	longest[0] = '/';
	longest[PATH_BYTES] = '\0';
	CHECK(path_clean(longest, out, &err) == 0);
	longest[0] = 'x';
	CHECK(path_clean(longest, out, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
}

#define REST                                                                                       \
	"\"size\":6,\"mode\":420,\"owner\":\"u\",\"group\":\"g\",\"uid\":1,\"gid\":1,"             \
	"\"modified_ms\":0,\"modified_ns\":0}"

static bool is_entry(const char *line)
{
	json_t *said = path_line(line, strlen(line)), *entry = path_entry(said);
	bool is = entry != NULL;
	json_decref(said);
	json_decref(entry);
	return is;
}

TEST(entries)
{
	CHECK(is_entry("{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\"," REST));
	static const char *const wrong[] = {
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"FILE\"," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file|link\"," REST,
		"{\"name\":\"a\",\"path\":\"a\",\"type\":\"file\"," REST,
		"{\"name\":\"\",\"path\":\"/a\",\"type\":\"file\"," REST,
		"{\"path\":\"/a\",\"type\":\"file\"," REST,
		"{\"name\":1,\"path\":\"/a\",\"type\":\"file\"," REST,
		"{\"name\":\"a\",\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\"," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\",\"link\":1," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\",\"link_mode\":4096," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\",\"link_mode\":-1," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\",\"attributes\":[]," REST,
		"{\"name\":\"a\",\"path\":\"/a\",\"type\":\"file\",\"attributes\":{\"a\":1}," REST,
		"{\"name\":\"a\\u0000\",\"path\":\"/a\",\"type\":\"file\"," REST,
		"[]",
		"",
		"{",
	};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (!CHECK(!is_entry(wrong[i])))
			printf("# %s\n", wrong[i]);
}

static bool is_event(const char *line)
{
	json_t *said = path_line(line, strlen(line)), *event = path_event(said);
	bool is = event != NULL;
	json_decref(said);
	json_decref(event);
	return is;
}

TEST(events)
{
	CHECK(is_event("{\"event\":\"watching\"}"));
	CHECK(is_event("{\"event\":\"missed\"}"));
	CHECK(is_event("{\"event\":\"change\",\"type\":\"chmod\",\"name\":\"a\"}"));
	CHECK(!is_event("{\"event\":\"change\",\"type\":\"other\",\"name\":\"a\"}"));
	CHECK(!is_event("{\"event\":\"change\",\"type\":\"chmod\",\"name\":\"\"}"));
	CHECK(!is_event("{\"event\":\"change\",\"type\":\"chmod\"}"));
	CHECK(!is_event("{\"event\":\"change\",\"type\":\"chmod\",\"name\":\"a\",\"entry\":{}}"));
	CHECK(!is_event("{\"event\":\"file\"}"));
}

TEST(errors)
{
	struct err err;
	static const char good[] = "{\"code\":\"access\",\"message\":\"a\\u001bb\",\"hint\":\"h\"}";
	static const char own[] = "{\"code\":\"internal\",\"message\":\"x\",\"hint\":\"\"}";
	static const char memory[] = "{\"code\":\"no_memory\",\"message\":\"x\",\"hint\":\"\"}";
	CHECK(path_error(good, sizeof good - 1, &err));
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK_STR(err.msg, "a\\x1bb");
	CHECK_STR(err.hint, "h");
	CHECK(!path_error(own, sizeof own - 1, &err));
	CHECK(path_error(memory, sizeof memory - 1, &err));
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK(!path_error("", 0, &err));
	CHECK(!path_error("{}", 2, &err));
}
