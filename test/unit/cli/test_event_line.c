/* Output that is taken out of the line of an event: the same as a parser of JSON finds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/process/event_line.h"

#include "base/json.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 1 << 20, N_RANDOM = 20000 };

#define HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"id\":7,\"event\":\"output\","

/* Cut @line. Returns: the data, or NULL; @rest has the other members. */
static char *cut(const char *line, json_t **rest)
{
	cleanup_buf struct buf data = BUF_INIT(MAX), other = BUF_INIT(MAX);
	*rest = NULL;
	if (!event_line_cut(line, strlen(line), &data, &other))
		return NULL;
	*rest = json_loadb(other.data, other.bytes, 0, NULL);
	CHECK(*rest != NULL);
	return strdup(buf_str(&data));
}

static void check(const char *line, const char *want)
{
	json_t *rest;
	char *got = cut(line, &rest);
	const json_t *params = json_object_get(rest, "params");
	CHECK_STR(got ? got : "(left to the parser)", want);
	CHECK_STR(json_get_text(params, "data"), "");
	CHECK_INT(json_get_int(params, "id"), 7);
	json_decref(rest);
	free(got);
}

TEST(data_of_events)
{
	check(HEAD "\"data\":\"\"}}", "");
	check(HEAD "\"offset\":12,\"data\":\"hello\",\"encoding\":\"utf-8\"}}", "hello");
	check(HEAD "\"data\":\"\\\"data\\\":\\\"x\",\"encoding\":\"utf-8\"}}", "\"data\":\"x");
	check(HEAD "\"data\":\"a\\\\\\/\\b\\f\\n\\r\\t\\u001b\\u007F\\u00e9\\u20AC\"}}",
		"a\\/\b\f\n\r\t\033\177é€");
}

static bool read_raw(const char *line, struct event_raw *out)
{
	return event_line_raw(line, strlen(line), out);
}

TEST(raw_output_is_announced)
{
	struct event_raw raw;
	CHECK(read_raw(HEAD
		"\"stream\":\"stdout\",\"offset\":0,\"encoding\":\"raw\",\"bytes\":12}}",
		&raw));
	CHECK(!raw.is_stderr && raw.cut_bytes == 0 && raw.bytes == 12);
	CHECK(read_raw(HEAD "\"stream\":\"stderr\",\"offset\":99,\"cut_bytes\":77,\"encoding\":"
			    "\"raw\",\"bytes\":65536}}",
		&raw));
	CHECK(raw.is_stderr && raw.cut_bytes == 77 && raw.bytes == 65536);
	/* An id that looks like members. */
	static const char tricky[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"id\":\"\\\"stream\\\":"
		"\\\"stderr\\\",\\\"cut_bytes\\\":5\",\"event\":\"output\",\"stream\":\"stdout\","
		"\"offset\":0,\"encoding\":\"raw\",\"bytes\":1}}";
	CHECK(read_raw(tricky, &raw));
	CHECK(!raw.is_stderr && raw.cut_bytes == 0 && raw.bytes == 1);
}

TEST(raw_output_for_the_parser)
{
	static const char *const lines[] = {"", "{}", HEAD "\"data\":\"\"}}",
		HEAD "\"encoding\":\"raw\"}}", HEAD "\"encoding\":\"raw\",\"bytes\":}}",
		HEAD "\"encoding\":\"raw\",\"bytes\":-1}}",
		HEAD "\"encoding\":\"raw\",\"bytes\":1.5}}",
		HEAD "\"encoding\":\"raw\",\"bytes\":1,\"more\":2}}",
		HEAD "\"encoding\":\"raw\",\"bytes\":12345678901234567890}}",
		"{\"id\":7,\"result\":{\"encoding\":\"raw\",\"bytes\":1}}"};
	struct event_raw raw;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (!CHECK(!read_raw(lines[i], &raw)))
			printf("# %s\n", lines[i]);
}

TEST(lines_for_the_parser)
{
	static const char *const lines[] = {"", "{}", HEAD "\"state\":\"x\"}}",
		HEAD "\"data\":\"abc", HEAD "\"data\":\"abc\\", HEAD "\"data\":\"\\u12\"}}",
		HEAD "\"data\":\"\\u12", HEAD "\"data\":7}}", HEAD "\"data\":\"\\ud83d\\ude00\"}}",
		HEAD "\"data\":\"\\x\"}}", HEAD "\"data\": \"x\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"data\":\"x\"}}"};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		json_t *rest;
		char *got = cut(lines[i], &rest);
		if (!CHECK(got == NULL))
			printf("# %s\n", lines[i]);
		free(got);
		json_decref(rest);
	}
}

/* Any string that jansson writes is read as jansson reads it. */
TEST(random_data)
{
	unsigned seed = 1;
	char bytes[64];
	for (int i = 0; i < N_RANDOM; i++) {
		size_t n = (size_t)rand_r(&seed) % sizeof bytes;
		for (size_t j = 0; j < n; j++)
			bytes[j] = (char)(rand_r(&seed) % (i % 2 ? 128 : 256));
		cleanup_json json_t *text = json_new_text(bytes, n);
		cleanup_json json_t *line =
			json_pack("{s:s, s:s, s:{s:i, s:O, s:s}}", "jsonrpc", "2.0", "method",
				"event", "params", "id", 7, "data", text, "encoding", "utf-8");
		char *dumped = json_dumps(line, JSON_COMPACT);
		cleanup_buf struct buf data = BUF_INIT(MAX), rest = BUF_INIT(MAX);
		bool is_cut = event_line_cut(dumped, strlen(dumped), &data, &rest);
		bool is_same = data.bytes == json_string_length(text) &&
			memcmp(buf_str(&data), json_string_value(text), data.bytes) == 0;
		if (!CHECK(is_cut && is_same)) {
			printf("# %s\n", dumped);
			i = N_RANDOM;
		}
		free(dumped);
	}
}
