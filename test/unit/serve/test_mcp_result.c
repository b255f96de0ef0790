/* Records as models read them: the verdict first, never too long, nothing a terminal obeys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/observation.h"
#include "api/text/printable.h"
#include "serve/mcp/result.h"

#include "base/utf8.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mcp_result_options usual = {.version = "2025-11-25"};

static json_t *make(const char *record, const struct mcp_result_options *options)
{
	json_error_t error;
	json_t *json = json_loads(record, JSON_ALLOW_NUL, &error);
	if (!json)
		fprintf(stderr, "%s\n", error.text);
	CHECK(json != NULL);
	json_t *result = mcp_result_make(json, options);
	json_decref(json);
	return result;
}

static const json_t *part(const json_t *result, size_t i)
{
	return json_array_get(json_object_get(result, "content"), i);
}

static const char *text_of(const json_t *result)
{
	const char *text = json_string_value(json_object_get(part(result, 0), "text"));
	return text ? text : "";
}

static const json_t *kept(const json_t *result)
{
	return json_object_get(json_object_get(result, "_meta"), "retort/result");
}

/* @text with "%s" become @n times @c. */
static char *filled(const char *text, char c, size_t n)
{
	const char *at = strstr(text, "%s");
	size_t before = (size_t)(at - text);
	char *out = malloc(strlen(text) + n);
	memcpy(out, text, before);
	memset(out + before, c, n);
	strcpy(out + before + n, at + 2);
	return out;
}

TEST(a_good_step)
{
	json_t *r = make(
		"{\"status\":\"ok\",\"runtime\":\"python\",\"usage\":{\"wall_ms\":12.4},"
		"\"value\":{\"text/plain\":\"42\"},\"stdout\":\"a\\nb\\n\",\"stderr\":\"w\\n\","
		"\"state\":{\"outcome\":\"committed\"}}",
		&usual);
	CHECK_STR(text_of(r), "ok: python, 12 ms\nvalue: 42\nstdout:\na\nb\nstderr: w");
	CHECK(json_is_false(json_object_get(r, "isError")));
	CHECK(!json_object_get(r, "structuredContent"));
	CHECK_STR(json_string_value(json_object_get(kept(r), "stdout")), "a\nb\n");
	json_decref(r);
}

TEST(nothing_to_see_says_how_to_see_something)
{
	json_t *r = make("{\"status\":\"ok\",\"runtime\":\"python\"}", &usual);
	CHECK_HAS(text_of(r), "no output: print something");
	json_decref(r);
}

TEST(what_has_no_text_is_shown_or_named)
{
	json_t *r = make("{\"status\":\"ok\",\"runtime\":\"javascript\",\"displays\":["
			 "{\"text/html\":\"<b>x</b>\"},{\"text/latex\":\"$y$\"},"
			 "{\"image/svg+xml\":\"<svg/>\"},{\"application/pdf\":\"QUJD\"},"
			 "{\"application/vnd.retort.data+json\":{}}]}",
		&usual);
	CHECK_STR(text_of(r),
		"ok: javascript, 0 ms\ndisplay:\n<b>x</b>\n$y$\n<svg/>\n[application/pdf: no text]");
	json_decref(r);
}

TEST(failures_say_what_became_of_the_state)
{
	static const struct {
		const char *record, *first;
	} rows[] = {
		{"{\"status\":\"error\",\"runtime\":\"python\",\"error\":{\"name\":\"KeyError\","
		 "\"message\":\"'price'\\nmore\",\"line\":3},\"exit_code\":1,\"state\":{\"outcome\":"
		 "\"committed\"}}",
			"error: python, 0 ms, KeyError: 'price' (line 3), exit 1, its changes are "
			"kept\n"},
		{"{\"status\":\"timeout\",\"runtime\":\"python\",\"usage\":{\"wall_ms\":30012},\"state\":"
		 "{\"outcome\":\"rolled_back\"}}",
			"timeout: python, 30.0 s, rolled back: variables and files are as before this step"},
		{"{\"status\":\"killed\",\"runtime\":\"shell\",\"signal\":\"SIGSEGV\",\"exit_code\":139,"
		 "\"state\":{\"outcome\":\"lost\",\"reason\":\"why\"}}",
			"killed: shell, 0 ms, signal SIGSEGV, state lost: the steps before this one are "
			"run again before the next (why)"},
		{"{\"status\":\"killed\",\"runtime\":\"python\",\"parent\":null,\"state\":{"
		 "\"outcome\":\"lost\"}}",
			"killed: python, 0 ms, state lost: the session starts afresh"},
		{"{\"status\":\"error\",\"runtime\":\"python\",\"state\":{\"outcome\":"
		 "\"rolled_back\"},\"runs_again\":[\"javascript\"],\"files_lost\":[\"a\",\"b\"]}",
			"error: python, 0 ms, rolled back: javascript variables will be rebuilt, "
			"by running their steps again; files and other variables are as before "
			"this step, but for a, b"},
		{"{\"status\":\"oom\",\"runtime\":\"python\"}", "oom: python, 0 ms"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *r = make(rows[i].record, &usual);
		CHECK(strncmp(text_of(r), rows[i].first, strlen(rows[i].first)) == 0);
		CHECK_HAS(text_of(r), rows[i].first);
		CHECK(json_is_true(json_object_get(r, "isError")));
		json_decref(r);
	}
}

TEST(what_still_runs_says_how_to_go_on)
{
	json_t *r =
		make("{\"status\":\"running\",\"runtime\":\"python\",\"run\":\"r-1\",\"usage\":{"
		     "\"wall_ms\":45000},\"stdout\":\"x\\n\"}",
			&usual);
	CHECK_STR(text_of(r),
		"running: python, 45.0 s so far. Call run_wait with run_id \"r-1\".\nstdout: x");
	CHECK(json_is_false(json_object_get(r, "isError")));
	json_decref(r);
}

TEST(what_still_runs_is_shown_in_short)
{
	char *record = filled("{\"status\":\"running\",\"runtime\":\"python\",\"run\":\"r-1\","
			      "\"stdout\":\"%s\"}",
		'x', 50000);
	json_t *r = make(record, &usual);
	CHECK(utf8_count(text_of(r), strlen(text_of(r))) < OBSERVATION_CHARACTERS / 2);
	CHECK_HAS(text_of(r), "characters cut: read_output");
	free(record);
	json_decref(r);
}

TEST(a_traceback_is_told_once)
{
	json_t *r = make(
		"{\"status\":\"error\",\"runtime\":\"python\",\"stderr\":\"warned\\nTrace\\nE: "
		"x\\n\",\"error\":{\"name\":\"E\",\"message\":\"x\",\"traceback\":[\"Trace\","
		"\"E: x\"]}}",
		&usual);
	CHECK_HAS(text_of(r), "error:\nTrace\nE: x\nstderr: warned");
	CHECK(strstr(strstr(text_of(r), "Trace") + 1, "Trace") == NULL);
	json_decref(r);
	/* One within another has an empty line between. */
	r = make(
		"{\"status\":\"error\",\"runtime\":\"python\",\"stderr\":\"A: x\\n\\nDuring\\nB: y\\n\","
		"\"error\":{\"name\":\"B\",\"message\":\"y\",\"traceback\":[\"A: x\",\"\",\"During\","
		"\"B: y\"]}}",
		&usual);
	CHECK_HAS(text_of(r), "error:\nA: x\n\nDuring\nB: y");
	CHECK(!strstr(text_of(r), "stderr"));
	json_decref(r);
}

TEST(a_result_is_never_longer_than_hosts_show)
{
	static const char *const records[] = {
		"{\"status\":\"ok\",\"runtime\":\"python\",\"run\":\"r-1\",\"stdout\":\"%s\"}",
		"{\"status\":\"error\",\"runtime\":\"python\",\"run\":\"r-1\",\"stderr\":\"%s\"}",
		"{\"status\":\"ok\",\"runtime\":\"python\",\"run\":\"r-1\",\"value\":{\"text/plain\":\"%s\"}}",
		"{\"status\":\"error\",\"runtime\":\"python\",\"error\":{\"name\":\"E\",\"message\":\"%s\"}}",
		"{\"status\":\"error\",\"runtime\":\"python\",\"error\":{\"traceback\":[\"%s\"]}}",
		"{\"status\":\"ok\",\"runtime\":\"python\",\"displays\":[{\"text/plain\":\"%s\"}]}",
		"{\"status\":\"ok\",\"runtime\":\"python\",\"files\":[{\"path\":\"%s\",\"change\":\"created\"}]}",
		"{\"status\":\"ok\",\"runtime\":\"python\",\"state\":{\"outcome\":\"lost\",\"reason\":\"%s\"}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		char *record = filled(records[i], 'x', 100000);
		json_t *r = make(record, &usual);
		CHECK(utf8_count(text_of(r), strlen(text_of(r))) <= OBSERVATION_CHARACTERS);
		char *whole = json_dumps(kept(r), 0);
		CHECK(i == 3 || i == 4 || i >= 6 || strlen(whole) < 40000);
		free(whole);
		free(record);
		json_decref(r);
	}
}

TEST(long_output_keeps_head_and_tail_and_says_how_to_get_the_rest)
{
	char *record =
		filled("{\"status\":\"ok\",\"runtime\":\"python\",\"run\":\"r-1\",\"stdout\":"
		       "\"begin%send\",\"stderr\":\"short\"}",
			'x', 50000);
	json_t *r = make(record, &usual);
	const char *text = text_of(r);
	CHECK_HAS(text, "stdout:\nbeginx");
	CHECK_HAS(text, "xend\n");
	CHECK_HAS(text, "stderr: short");
	CHECK_HAS(
		text, "characters cut: read_output {\"run_id\": \"r-1\", \"stream\": \"stdout\"}]");
	CHECK(utf8_count(text, strlen(text)) > OBSERVATION_CHARACTERS * 3 / 4);
	free(record);
	json_decref(r);
}

TEST(all_at_once_is_shared)
{
	char *a = filled("%s", 'a', 50000), *b = filled("%s", 'b', 50000), *record = NULL;
	CHECK(asprintf(&record,
		      "{\"status\":\"error\",\"runtime\":\"python\",\"run\":\"r\",\"stdout\":\"%s\",\"stderr\":"
		      "\"%s\",\"value\":{\"text/plain\":\"%s\"},\"error\":{\"traceback\":[\"%s\"]},"
		      "\"displays\":[{\"text/plain\":\"%s\"}]}",
		      a, a, a, b, a) > 0);
	json_t *r = make(record, &usual);
	const char *text = text_of(r);
	CHECK(utf8_count(text, strlen(text)) <= OBSERVATION_CHARACTERS);
	CHECK(strstr(text, "error:\nbbb") && strstr(text, "value:\naaa") &&
		strstr(text, "stdout:\naaa") && strstr(text, "stderr:\naaa") &&
		strstr(text, "display:\naaa"));
	free(a);
	free(b);
	free(record);
	json_decref(r);
}

TEST(images_are_images)
{
	json_t *r = make(
		"{\"status\":\"ok\",\"runtime\":\"python\",\"value\":{\"image/png\":\"QUJD\","
		"\"text/plain\":\"<Image>\"},\"displays\":[{\"image/jpeg\":\"QUJE\"},{\"text/html\":"
		"\"<b>\",\"text/plain\":\"table\"}]}",
		&usual);
	CHECK_STR(text_of(r), "ok: python, 0 ms\ndisplay: table");
	CHECK_STR(json_string_value(json_object_get(part(r, 1), "data")), "QUJD");
	CHECK_STR(json_string_value(json_object_get(part(r, 2), "mimeType")), "image/jpeg");
	char *whole = json_dumps(kept(r), 0);
	CHECK(!strstr(whole, "QUJD") && strstr(whole, "table"));
	free(whole);
	json_decref(r);
}

TEST(images_have_limits)
{
	json_t *record =
		json_pack("{s:s, s:s, s:[]}", "status", "ok", "runtime", "python", "displays");
	char *big = filled("%s", 'A', OBSERVATION_IMAGE_BYTES + 1);
	for (int i = 0; i < OBSERVATION_IMAGES_MAX + 3; i++)
		(void)json_array_append_new(json_object_get(record, "displays"),
			json_pack("{s:s}", "image/png", i == 1 ? big : "QUJD"));
	json_t *r = mcp_result_make(record, &usual);
	CHECK_INT(json_array_size(json_object_get(r, "content")), OBSERVATION_IMAGES_MAX + 1);
	CHECK_HAS(text_of(r),
		"[image 2, an image/png of 3840 KiB, is not shown: too large, draw it smaller]");
	CHECK_HAS(text_of(r),
		"[of 11 images the last 2 are not shown: a step shows 8; draw the others in steps of "
		"their own]");
	free(big);
	json_decref(record);
	json_decref(r);
}

TEST(files_are_linked_where_clients_know_links)
{
	static const char record[] =
		"{\"status\":\"error\",\"runtime\":\"python\",\"session\":\"s-1\",\"files\":[{\"path\":"
		"\"a b/\\u00e9.png\",\"change\":\"created\",\"size\":5,\"mime\":\"image/png\"},{\"path\":"
		"\"gone\",\"change\":\"deleted\"}]}";
	const struct mcp_result_options old = {.version = "2025-03-26"};
	json_t *r = make(record, &usual);
	CHECK_HAS(text_of(r), "files:\n  a b/\xc3\xa9.png (created, 5 bytes)\n  gone (deleted)");
	CHECK_INT(json_array_size(json_object_get(r, "content")), 2);
	CHECK_STR(json_string_value(json_object_get(part(r, 1), "uri")),
		"retort://session/s-1/files/a%20b/%C3%A9.png");
	CHECK_STR(json_string_value(json_object_get(part(r, 1), "type")), "resource_link");
	json_decref(r);
	r = make(record, &old);
	CHECK_INT(json_array_size(json_object_get(r, "content")), 1);
	json_decref(r);
}

TEST(structured_content_comes_only_when_wanted)
{
	const struct mcp_result_options options = {.version = "2025-11-25", .is_structured = true};
	json_t *r = make("{\"status\":\"ok\",\"runtime\":\"sql\",\"stdout\":\"x\"}", &options);
	CHECK_STR(json_string_value(
			  json_object_get(json_object_get(r, "structuredContent"), "stdout")),
		"x");
	json_decref(r);
}

TEST(nothing_a_terminal_obeys)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\a", "link"},
		{"\x1bPq#0~\x1b\\after", "after"},
		{"a\x1b", "a"},
		{"a\x1b[", "a"},
		{"a\x1b[1;", "a"},
		{"\x1b]0;title\nnext", "\nnext"},
		{"10%\r20%\r100%\nnext", "100%\nnext"},
		{"one\r\ntwo\r\n", "one\ntwo\n"},
		{"end\r", "end"},
		{"a\bb\x7f\x01", "ab\u2421\u2401"},
		{"t\tab", "t\tab"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = BUF_INIT(1000);
		CHECK_INT(printable_add(&out, rows[i].in, strlen(rows[i].in)), 0);
		CHECK_STR(buf_str(&out), rows[i].out);
		buf_done(&out);
	}
}

TEST(a_cut_does_not_split_characters)
{
	for (size_t max = 10; max < 60; max++) {
		struct buf in = BUF_INIT(10000), out = BUF_INIT(10000);
		for (int i = 0; i < 100; i++)
			(void)buf_add(&in, i % 3 ? "\xe2\x82\xac" : "\xf0\x9f\x98\x80\n");
		CHECK_INT(printable_cut(&out, in.data, in.bytes, max, "rest"), 0);
		CHECK(utf8_is_valid(out.data, out.bytes));
		CHECK_HAS(out.data, "characters cut: rest]");
		CHECK(utf8_count(out.data, out.bytes) <= max + 50);
		buf_done(&in);
		buf_done(&out);
	}
}
