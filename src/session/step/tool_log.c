/*
 * Logs the tool calls of a step.
 *
 * Two lists grow with each call. The first becomes part of the step's name: it has the calls in
 * their order, with digests of arguments and responses. The second is for people: it counts calls,
 * errors and bytes per tool. It has a row for each of the first TOOL_ROWS_MAX tools. Calls of other
 * tools are only counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/step/tool_log.h"

#include "base/digest.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static const char own[] = "retort.", model[] = "retort.llm_query";

void tool_log_done(struct tool_log *log)
{
	json_decref(log->calls);
	json_decref(log->tools);
	*log = (struct tool_log){0};
}

void tool_log_digest(char out[TOOL_DIGEST_BYTES], const char *text, size_t bytes)
{
	digest_text(out, text, bytes);
}

size_t tool_log_arguments(char out[TOOL_DIGEST_BYTES], const json_t *arguments)
{
	char *text = json_dumps(arguments, JSON_COMPACT | JSON_SORT_KEYS);
	size_t bytes = text ? strlen(text) : 0;
	if (text)
		tool_log_digest(out, text, bytes);
	free(text);
	return bytes;
}

bool tool_log_tells(const char *name)
{
	return strncmp(name, own, sizeof own - 1) != 0 || strcmp(name, model) == 0;
}

static json_t *find_row(const struct tool_log *log, const char *name)
{
	for (size_t i = 0; i < json_array_size(log->tools); i++) {
		json_t *row = json_array_get(log->tools, i);
		if (strcmp(json_get_text(row, "tool"), name) == 0)
			return row;
	}
	return NULL;
}

static void count(json_t *row, const char *member, size_t n)
{
	json_put_int(row, member, json_get_int(row, member) + (int64_t)n);
}

static void add_row(struct tool_log *log, const char *name, size_t bytes)
{
	json_t *row = find_row(log, name);
	if (!row && json_array_size(log->tools) == TOOL_ROWS_MAX) {
		log->n_cut++;
		return;
	}
	if (!row) {
		row = json_pack("{s:s, s:i, s:i, s:i}", "tool", name, "calls", 0, "bytes_in", 0,
			"bytes_out", 0);
		if (!log->tools)
			log->tools = json_array();
		if (json_array_append_new(log->tools, row) < 0)
			return;
	}
	count(row, "calls", 1);
	count(row, "bytes_in", bytes);
}

int64_t tool_log_add(struct tool_log *log, const char *name, const json_t *arguments, size_t *bytes)
{
	char digest[TOOL_DIGEST_BYTES];
	*bytes = tool_log_arguments(digest, arguments);
	if (!log->calls)
		log->calls = json_array();
	json_t *call = *bytes ? json_pack("{s:s, s:s}", "name", name, "arguments", digest) : NULL;
	if (!call || json_array_append_new(log->calls, call) < 0)
		return -1;
	if (tool_log_tells(name))
		add_row(log, name, *bytes);
	return (int64_t)json_array_size(log->calls) - 1;
}

void tool_log_answer(
	struct tool_log *log, int64_t place, const char *text, size_t bytes, bool is_error)
{
	char digest[TOOL_DIGEST_BYTES];
	json_t *call = json_array_get(log->calls, (size_t)place);
	json_t *row = find_row(log, json_get_text(call, "name"));
	if (text) {
		tool_log_digest(digest, text, strlen(text));
		json_put_text(call, "answer", digest);
	}
	if (row && (is_error || !text))
		count(row, "errors", 1);
	if (row && text)
		count(row, "bytes_out", bytes);
}
