/* Events of the code interpreter of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/code_result.h"

#include "t.h"

#include <stdlib.h>

#define DATE "2026-01-02T03:04:05.000006Z"

/* Check which event comes of an output; both are JSON. @want NULL: no event. */
static void check(const char *output, const char *want)
{
	json_t *given = json_loads(output, 0, NULL);
	json_t *event = code_event(given, DATE);
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;
	if (want)
		CHECK_STR(text, want);
	else
		CHECK(!event);
	free(text);
	json_decref(event);
	json_decref(given);
}

static void check_text(const char *text, const char *want)
{
	json_t *output = json_pack(
		"{s:s, s:{s:s}}", "output_type", "execute_result", "data", "text/plain", text);
	json_t *event = code_event(output, DATE);
	CHECK_STR(json_string_value(json_object_get(event, "text")), want);
	json_decref(event);
	json_decref(output);
}

TEST(streams_and_errors)
{
	check("{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"a\\n\"}",
		"{\"type\":\"stderr\",\"text\":\"a\\n\",\"timestamp\":\"" DATE "\"}");
	check("{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}",
		"{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\",\"traceback\":\"a\\nb\"}");
	check("{\"output_type\":\"clear_output\",\"wait\":true}", NULL);
}

TEST(texts_lose_one_pair_of_quotes)
{
	check_text("'it'", "it");
	check_text("\"it's\"", "it's");
	check_text("''it''", "'it'");
	check_text("'it\"", "'it\"");
	check_text("''", "");
	check_text("'", "'");
	check_text("", "");
}

TEST(formats_of_a_result)
{
	check("{\"output_type\":\"execute_result\",\"data\":{\"text/plain\":\"t\",\"text/html\":\"h\","
	      "\"application/vnd.retort.data+json\":{\"a\":[1]},"
	      "\"application/vnd.retort.other+json\":1,\"application/json\":[1],\"a/b\":\"c\"}}",
		"{\"type\":\"result\",\"text\":\"t\",\"html\":\"h\",\"data\":{\"a\":[1]},\"json\":[1],"
		"\"extra\":{\"a/b\":\"c\"},\"is_main_result\":true}");
	check("{\"output_type\":\"display_data\",\"data\":{\"image/png\":\"p\",\"text/plain\":\"Figure\","
	      "\"application/vnd.retort.chart+json\":{\"type\":\"pie\"},\"application/json\":5}}",
		"{\"type\":\"result\",\"png\":\"p\",\"text\":\"Figure\",\"chart\":{\"type\":\"pie\"},"
		"\"extra\":{},\"is_main_result\":false}");
}

TEST(a_display_whose_text_only_repeats_it)
{
	check("{\"output_type\":\"display_data\",\"data\":{\"text/plain\":\"x\",\"text/latex\":\"x\"}}",
		"{\"type\":\"result\",\"latex\":\"x\",\"extra\":{},\"is_main_result\":false}");
	check("{\"output_type\":\"execute_result\",\"data\":{\"text/plain\":\"x\",\"text/latex\":\"x\"}}",
		"{\"type\":\"result\",\"text\":\"x\",\"latex\":\"x\",\"extra\":{},\"is_main_result\":true}");
}
