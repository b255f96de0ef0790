/* Calls as drivers write them, honest and hostile; and what is kept of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "session/step/tool_log.h"
#include "session/tool_frame.h"

#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "{\"id\":\"7\",\"call\":3,"
#define TAIL "\"name\":\"a.b\",\"arguments\":{}}"

static int take(struct tool_frame *f, const char *text)
{
	struct err err = {0};
	int r = tool_frame_read(f, text, strlen(text), &err);
	CHECK(r == 0 || (r == -EPROTO && err.code == ERR_PROTOCOL));
	return r;
}

TEST(a_call)
{
	struct tool_frame f;
	CHECK_INT(take(&f,
			  " { \"id\" : \"7\" ,\n\"call\": 3, \"arguments\": {\"x\": [1, null]}, "
			  "\"name\": \"caf\303\251.b c\"}"),
		0);
	CHECK_INT(f.step, 7);
	CHECK_INT(f.number, 3);
	CHECK_STR(f.name, "caf\303\251.b c");
	CHECK_INT(json_object_size(f.arguments), 1);
	CHECK(f.parts > 0 && f.bytes > 0 && !f.error);
	tool_frame_done(&f);
}

/* They break the protocol: nobody could be answered. */
TEST(calls_that_do_not_say_which_they_are)
{
	static const char *const bad[] = {"", "{", "{}", "[]", "7",
		"{\"call\":3,\"id\":\"7\"," TAIL, "{\"id\":7,\"call\":3," TAIL,
		"{\"id\":\"7\",\"call\":\"3\"," TAIL, "{\"id\":\"7\",\"call\":0," TAIL,
		"{\"id\":\"7\",\"call\":-1," TAIL, "{\"id\":\"7\",\"call\":03," TAIL,
		"{\"id\":\"7\",\"call\":1.5," TAIL, "{\"id\":\"7\",\"call\":1e3," TAIL,
		"{\"id\":\"07\",\"call\":3," TAIL, "{\"id\":\"7\",\"call\":1234567890123456," TAIL,
		"{\"id\":\"\",\"call\":3," TAIL, "{\"id\":\"7\",\"call\":3}",
		"{\"id\":\"7\",\"call\":3", "{\"id\":\"7", "\"id\""};
	struct tool_frame f;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (!CHECK(take(&f, bad[i]) < 0))
			printf("# %s\n", bad[i]);
		CHECK(!f.json && !f.error);
	}
}

TEST(calls_of_the_wrong_shape)
{
	static const char *const bad[] = {HEAD "\"name\":5,\"arguments\":{}}",
		HEAD "\"name\":\"a.b\",\"arguments\":[]}", HEAD "\"name\":\"a.b\"}",
		HEAD "\"arguments\":{}}", HEAD "\"more\":1," TAIL,
		HEAD "\"name\":\"a.b\",\"arguments\":null}"};
	struct tool_frame f;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!CHECK(take(&f, bad[i]) < 0))
			printf("# %s\n", bad[i]);
}

static const char *refusal(const char *text)
{
	static char name[32];
	struct tool_frame f;
	if (take(&f, text) < 0)
		return "broken";
	const json_t *error = json_object_get(f.error, "error");
	const char *is = json_string_value(json_object_get(error, "name"));
	CHECK_INT(f.number, 3);
	CHECK(!f.json != !f.error);
	snprintf(name, sizeof name, "%s", is ? is : "none");
	tool_frame_done(&f);
	return name;
}

/* They are answered: code that means no harm can write them. */
TEST(calls_that_cannot_be_taken)
{
	static const char argument[] = "ToolArgumentError", limit[] = "ToolLimit";
	char *long_name = NULL, *many = NULL, *large = NULL;
	CHECK(asprintf(&long_name, HEAD "\"name\":\"%0256d\",\"arguments\":{}}", 0) > 0);
	CHECK_STR(refusal(long_name), "none");
	free(long_name);
	CHECK(asprintf(&long_name, HEAD "\"name\":\"%0257d\",\"arguments\":{}}", 0) > 0);
	CHECK_STR(refusal(long_name), argument);
	free(long_name);
	CHECK_STR(refusal(HEAD "\"name\":\"\",\"arguments\":{}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a\\n\",\"arguments\":{}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a\\u0000\",\"arguments\":{}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a\\u009b\",\"arguments\":{}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":NaN}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":\"\\ud800\"}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":\"\377\"}}"), argument);
	CHECK_STR(refusal(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":1,\"x\":2}}"), argument);
	CHECK_STR(refusal(HEAD "\"id\":\"8\"," TAIL), argument); /* twice: it has two ids */
	CHECK_STR(refusal(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":\"\\u0000\"}}"), "none");
	CHECK(asprintf(&large, HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":\"%0*d\"}}",
		      TOOL_ARGUMENTS_MAX + 4096, 0) > 0);
	CHECK_STR(refusal(large), limit);
	many = strdup(HEAD "\"name\":\"a.b\",\"arguments\":{\"x\":[");
	size_t bytes = strlen(many);
	many = realloc(many, bytes + (size_t)TOOL_PARTS_MAX * 2 + 8);
	for (int i = 0; i < TOOL_PARTS_MAX; i++, bytes += 2)
		memcpy(many + bytes, "1,", 2);
	memcpy(many + bytes, "1]}}", 5);
	CHECK_STR(refusal(many), limit);
	free(large);
	free(many);
}

TEST(a_log)
{
	struct tool_log log = {0};
	size_t bytes = 0;
	json_t *one = json_pack("{s:i, s:i}", "b", 1, "a", 2);
	json_t *two = json_pack("{s:i, s:i}", "a", 2, "b", 1);
	CHECK_INT(tool_log_add(&log, "crm.search", one, &bytes), 0);
	CHECK_INT(bytes, strlen("{\"a\":2,\"b\":1}"));
	CHECK_INT(tool_log_add(&log, "retort.tools", two, &bytes), 1);
	CHECK_INT(tool_log_add(&log, "crm.search", two, &bytes), 2);
	CHECK_INT(tool_log_add(&log, "crm.search", two, &bytes), 3);
	tool_log_answer(&log, 2, "{\"value\":5}", 1, false);
	tool_log_answer(&log, 0, "{\"error\":{}}", 0, true);
	tool_log_answer(&log, 1, "{\"value\":5}", 1, false);
	tool_log_answer(&log, 3, NULL, 0, true);
	char *text = json_dumps(log.tools, JSON_COMPACT | JSON_SORT_KEYS);
	CHECK_STR(text,
		"[{\"bytes_in\":39,\"bytes_out\":1,\"calls\":3,\"errors\":2,"
		"\"tool\":\"crm.search\"}]");
	free(text);
	const json_t *calls = log.calls;
	const char *const same[][3] = {{"arguments", "0", "1"}, {"answer", "1", "2"}};
	CHECK_INT(json_array_size(calls), 4);
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		CHECK_STR(json_string_value(json_object_get(
				  json_array_get(calls, (size_t)atoi(same[i][1])), same[i][0])),
			json_string_value(json_object_get(
				json_array_get(calls, (size_t)atoi(same[i][2])), same[i][0])));
	/* printf '{"value":5}' | sha256sum */
	CHECK_STR(json_string_value(json_object_get(json_array_get(calls, 1), "answer")),
		"36060134d807a85bd4de45d03754fc36d6f73b2349587345f0f71b5548caeaee");
	CHECK(!json_object_get(json_array_get(calls, 3), "answer"));
	json_decref(one);
	json_decref(two);
	tool_log_done(&log);
	CHECK(!log.calls && !log.tools);
}

TEST(a_log_of_many_tools)
{
	struct tool_log log = {0};
	size_t bytes;
	json_t *none = json_object();
	for (int i = 0; i < 2 * TOOL_ROWS_MAX; i++) {
		char name[32];
		snprintf(name, sizeof name, "t.n%d", i);
		CHECK_INT(tool_log_add(&log, name, none, &bytes), i);
		tool_log_answer(&log, i, "{\"value\":1}", 1, false);
	}
	CHECK_INT(json_array_size(log.tools), TOOL_ROWS_MAX);
	CHECK_INT(json_array_size(log.calls), 2 * TOOL_ROWS_MAX);
	CHECK_INT(log.n_cut, TOOL_ROWS_MAX);
	json_decref(none);
	tool_log_done(&log);
}
