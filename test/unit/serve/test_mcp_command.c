/* What models are told of processes: the end first, then output within bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/command_result.h"

#include "api/text/observation.h"
#include "base/utf8.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

static struct mcp_command_output out[2];

static void begin(void)
{
	for (size_t i = 0; i < ARRAY_LEN(out); i++)
		out[i] = (struct mcp_command_output){.raw = BUF_INIT(4 << 20)};
}

static void end(void)
{
	for (size_t i = 0; i < ARRAY_LEN(out); i++)
		buf_done(&out[i].raw);
}

static json_t *make(const char *about, struct mcp_command_report report)
{
	json_t *json = json_loads(about, 0, NULL);
	CHECK(json != NULL);
	report.about = json;
	report.out = out;
	json_t *result = mcp_command_result(&report);
	json_decref(json);
	return result;
}

static const char *text_of(const json_t *result)
{
	const json_t *block = json_array_get(json_object_get(result, "content"), 0);
	const char *text = json_string_value(json_object_get(block, "text"));
	return text ? text : "";
}

static const json_t *record_of(const json_t *result)
{
	return json_object_get(json_object_get(result, "_meta"), "retort/result");
}

static const char *member(const json_t *record, const char *name)
{
	const char *text = json_string_value(json_object_get(record, name));
	return text ? text : "";
}

TEST(every_end_has_its_words)
{
	static const struct {
		const char *about, *status, *line;
	} rows[] = {
		{"\"exit_code\":0", "ok", "ok: exit 0, 12 ms"},
		{"\"exit_code\":7", "error", "error: exit 7, 12 ms"},
		{"\"signal\":11", "killed", "killed: signal SEGV, 12 ms"},
		{"\"signal\":64", "killed", "killed: signal 64, 12 ms"},
		{"\"signal\":9,\"oom\":true", "oom", "oom: out of memory, signal KILL, 12 ms"},
		{"\"signal\":15,\"timed_out\":true", "timeout",
			"timeout: over its time limit, signal TERM, 12 ms"},
		{"\"exit_code\":0,\"timed_out\":true", "timeout",
			"timeout: over its time limit, exit 0, 12 ms"},
		{"\"ended\":\"box\"", "killed", "killed: its box has ended, 12 ms"},
		{"\"ended\":\"state\"", "killed",
			"killed: the session returned to an earlier state, 12 ms"},
		{"\"ended\":\"close\"", "killed", "killed: the session was closed, 12 ms"},
	};
	char about[200], text[200];
	begin();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(about, sizeof about, "{\"state\":\"exited\",\"wall_ms\":12,%s}",
			rows[i].about);
		snprintf(text, sizeof text, "%s\nno output", rows[i].line);
		json_t *r = make(about, (struct mcp_command_report){0});
		CHECK_STR(text_of(r), text);
		CHECK_STR(member(record_of(r), "status"), rows[i].status);
		CHECK_INT(json_is_true(json_object_get(r, "isError")), i != 0);
		json_decref(r);
	}
	end();
}

TEST(what_runs_says_how_to_ask_for_more)
{
	static const char about[] = "{\"state\":\"running\",\"wall_ms\":2500,\"process\":\"p-1\","
				    "\"session\":\"s-2\"}";
	begin();
	json_t *r = make(about, (struct mcp_command_report){.is_default_session = true});
	CHECK_STR(text_of(r),
		"running: 2.5 s so far. Call process_output {\"process\": \"p-1\"}\nno output");
	CHECK(json_is_false(json_object_get(r, "isError")));
	CHECK(!json_object_get(r, "structuredContent"));
	json_decref(r);
	r = make(about,
		(struct mcp_command_report){
			.has_input = true, .is_new = true, .is_structured = true});
	CHECK_STR(text_of(r),
		"running: 2.5 s so far. Call process_output {\"process\": \"p-1\", \"session\": "
		"\"s-2\"}, with stdin: a line with its \\n; in a new session\nno output");
	CHECK_STR(member(json_object_get(r, "structuredContent"), "status"), "running");
	json_decref(r);
	end();
}

static void put(size_t i, char c, size_t n)
{
	for (size_t k = 0; k < n; k++)
		buf_append(&out[i].raw, k % 80 == 79 ? "\n" : &c, 1);
}

/* A short stream leaves its room to a long one; neither is forgotten, and the whole is bounded. */
TEST(room_is_divided)
{
	static const struct {
		size_t n[2], least[2];
		const char *state;
		size_t max;
	} rows[] = {
		{{100000, 100}, {8000, 100}, "exited", OBSERVATION_CHARACTERS},
		{{100, 100000}, {100, 8000}, "exited", OBSERVATION_CHARACTERS},
		{{100000, 100000}, {4000, 4000}, "exited", OBSERVATION_CHARACTERS},
		{{100000, 100000}, {1000, 1000}, "running", 4000},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char about[200];
		size_t n[2] = {0};
		begin();
		put(0, 'a', rows[i].n[0]);
		put(1, 'b', rows[i].n[1]);
		snprintf(about, sizeof about,
			"{\"state\":\"%s\",\"exit_code\":0,\"process\":\"p-1\",\"session\":\"s-1\"}",
			rows[i].state);
		json_t *r = make(about, (struct mcp_command_report){0});
		const char *text = text_of(r);
		/* "aaaaaaaa" and the like occur in no heading. */
		for (const char *at = text; *at; at++)
			for (size_t k = 0; k < 2; k++)
				n[k] += *at == "ab"[k];
		CHECK(utf8_count(text, strlen(text)) <= rows[i].max);
		CHECK(n[0] + 200 >= rows[i].least[0] && n[1] + 200 >= rows[i].least[1]);
		CHECK(strlen(member(record_of(r), "stdout")) <= 10000);
		CHECK(strlen(member(record_of(r), "stderr")) <= 10000);
		json_decref(r);
		end();
	}
}

TEST(nothing_that_a_terminal_obeys)
{
	static const char list[] =
		"[{\"process\":\"p-1\",\"state\":\"running\",\"wall_ms\":1,\"argv\":[\"/bin/sh\","
		"\"-c\",\"a\\u001b[31mb\\nc\"]},{\"pid\":7,\"step\":\"ab\",\"command\":\"x\\u0007\"},"
		"{\"pid\":8,\"of\":\"p-1\",\"command\":\"y\"},{\"pid\":9,\"argv\":[\"ls\",\"-l\"]}]";
	begin();
	buf_add(&out[0].raw, "\x1b[31mred\x1b[0m \xff\n");
	json_t *r = make("{\"state\":\"exited\",\"exit_code\":0,\"wall_ms\":1}",
		(struct mcp_command_report){0});
	CHECK_STR(text_of(r), "ok: exit 0, 1 ms\nstdout: red \xef\xbf\xbd");
	json_decref(r);
	end();
	json_t *processes = json_loads(list, 0, NULL);
	r = mcp_command_list(processes, false);
	CHECK_STR(text_of(r),
		"p-1 (running: 1 ms): ab…\npid 7, of step ab: x\npid 8, of p-1: y\npid 9: ls -l");
	json_decref(r);
	json_decref(processes);
	r = mcp_command_list(NULL, true);
	CHECK_STR(text_of(r), "no processes");
	json_decref(r);
}

TEST(a_long_list_ends)
{
	json_t *processes = json_array();
	for (int i = 0; i < 1000; i++)
		json_array_append_new(
			processes, json_pack("{s:i, s:s}", "pid", i, "command", "sleep 1000000"));
	json_t *r = mcp_command_list(processes, false);
	CHECK(strlen(text_of(r)) <= OBSERVATION_CHARACTERS);
	CHECK(strstr(text_of(r), "\n… and ") != NULL);
	json_decref(r);
	json_decref(processes);
}
