/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/recording.h"

#include "base/json.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_PARTS_MAX = 100000 };

void recorded_done(struct recording *r)
{
	json_decref(r->lines);
	free(r->numbers);
	*r = (struct recording){0};
}

static bool is_texts(const json_t *v)
{
	if (!json_is_array(v))
		return false;
	for (size_t i = 0; i < json_array_size(v); i++)
		if (!json_is_string(json_array_get(v, i)))
			return false;
	return true;
}

static bool is_count(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool is_flag(const json_t *v)
{
	return json_is_boolean(v);
}

static bool is_text(const json_t *v)
{
	return json_is_string(v);
}

static bool is_stop(const json_t *v)
{
	return json_is_string(v) && reply_stop_find(json_string_value(v)) >= 0;
}

static bool is_class(const json_t *v)
{
	return json_is_string(v) && failure_find(json_string_value(v)) > FAILURE_NONE;
}

struct member {
	const char *name;
	bool (*is_good)(const json_t *v);
};

static const char *find_wrong(const json_t *object, const struct member *members, size_t n)
{
	const char *key;
	json_t *value;
	json_object_foreach(json_unconst(object), key, value)
	{
		size_t i = 0;
		while (i < n && strcmp(key, members[i].name) != 0)
			i++;
		if (i == n || !members[i].is_good(value))
			return key;
	}
	return NULL;
}

static bool is_usage(const json_t *v)
{
	static const struct member members[] = {{"input", is_count}, {"output", is_count},
		{"cached", is_count}, {"reasoning", is_count}, {"estimated", is_flag}};
	return json_is_object(v) && !find_wrong(v, members, ARRAY_LEN(members));
}

static bool is_calls(const json_t *v)
{
	static const struct member members[] = {
		{"id", is_text}, {"name", is_text}, {"arguments", is_text}};
	if (!json_is_array(v) || json_array_size(v) > REPLY_PARTS_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *call = json_array_get(v, i);
		if (!json_object_get(call, "name") || find_wrong(call, members, ARRAY_LEN(members)))
			return false;
	}
	return true;
}

static bool is_reply(const json_t *v)
{
	static const struct member members[] = {{"text", is_text}, {"reasoning", is_text},
		{"tool_calls", is_calls}, {"stop", is_stop}, {"usage", is_usage}};
	return json_is_object(v) && !find_wrong(v, members, ARRAY_LEN(members));
}

static bool is_failure(const json_t *v)
{
	static const struct member members[] = {
		{"class", is_class}, {"message", is_text}, {"wait_ms", is_count}};
	return json_object_get(v, "class") && !find_wrong(v, members, ARRAY_LEN(members));
}

static int check_line(const json_t *line, size_t number, struct err *err)
{
	static const struct member members[] = {{"expect", is_texts}, {"expect_last", is_texts},
		{"reject", is_texts}, {"times", is_count}, {"chunk", is_count}, {"reply", is_reply},
		{"failure", is_failure}};
	const char *wrong =
		json_is_object(line) ? find_wrong(line, members, ARRAY_LEN(members)) : "";
	bool has_reply = json_object_get(line, "reply") != NULL;
	bool has_failure = json_object_get(line, "failure") != NULL;
	int r = 0;
	if (wrong && *wrong)
		r = err_set(err, ERR_USAGE, "line %zu of the recording: '%.40s' is wrong", number,
			wrong);
	else if (wrong)
		r = err_set(
			err, ERR_USAGE, "line %zu of the recording is not a JSON object", number);
	else if (has_reply == has_failure)
		r = err_set(err, ERR_USAGE,
			"line %zu of the recording has %s of 'reply' and 'failure'", number,
			has_reply ? "both" : "neither");
	return r < 0 ? err_hint(err, "a line is {\"expect\": [TEXT], \"reply\": {\"text\": TEXT}}")
		     : 0;
}

static int take_line(
	struct recording *r, const char *text, size_t bytes, size_t number, struct err *err)
{
	while (bytes > 0 && strchr(" \t\r", *text) && *text)
		text++, bytes--;
	if (bytes == 0 || *text == '#')
		return 0;
	json_t *line = json_parts(text, bytes) > LINE_PARTS_MAX
		? NULL
		: json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
	int n = check_line(line, number, err);
	if (n == 0 && json_array_size(r->lines) == RECORDING_LINES_MAX)
		n = err_set(err, ERR_LIMIT, "the recording has more than %d lines",
			RECORDING_LINES_MAX);
	if (n == 0) {
		r->numbers[json_array_size(r->lines)] = number;
		n = json_array_append(r->lines, line);
	}
	json_decref(line);
	return n;
}

int recorded_parse(struct recording *out, const char *text, size_t bytes, struct err *err)
{
	struct recording r = {
		.lines = json_array(), .numbers = calloc(RECORDING_LINES_MAX, sizeof *r.numbers)};
	int n = 0;
	if (bytes > RECORDING_BYTES_MAX)
		n = err_set(err, ERR_LIMIT, "the recording is over %s",
			num_format_bytes(RECORDING_BYTES_MAX).text);
	if (!r.lines || !r.numbers)
		n = err_set(err, ERR_NO_MEMORY, "no memory for a recording");
	for (size_t number = 1; n == 0 && bytes > 0; number++) {
		const char *end = memchr(text, '\n', bytes);
		size_t length = end ? (size_t)(end - text) : bytes;
		n = take_line(&r, text, length, number, err);
		bytes -= end ? length + 1 : length;
		text += end ? length + 1 : length;
	}
	if (n < 0)
		recorded_done(&r);
	else
		*out = r;
	return n;
}

/* Return the line for the next request; NULL when all lines are used up. */
static const json_t *next_line(struct recording *rec)
{
	const json_t *line = json_array_get(rec->lines, rec->at);
	const json_t *times = json_object_get(line, "times");
	json_int_t most = times ? json_integer_value(times) : 1;
	if (line && most > 0 && rec->n_served >= (size_t)most) {
		line = json_array_get(rec->lines, ++rec->at);
		rec->n_served = 0;
	}
	rec->n_served++;
	return line;
}

static int check_asked(
	const json_t *texts, const char *asked, bool is_wanted, size_t number, struct failure *why)
{
	char said[FAILURE_SAID_BYTES];
	for (size_t i = 0; i < json_array_size(texts); i++) {
		const char *text = json_string_value(json_array_get(texts, i));
		if ((strstr(asked, text) != NULL) == is_wanted)
			continue;
		failure_said(said, text, strlen(text), NULL);
		(void)failure_set(why, FAILURE_REPLAY, "line %zu %s '%.120s'", number,
			is_wanted ? "expects" : "does not want", said);
		return -1;
	}
	return 0;
}

static int give(struct reduction *r, enum part_kind kind, const json_t *text, size_t chunk)
{
	size_t bytes = json_string_length(text);
	int n = 0;
	for (size_t at = 0; at < bytes && n == 0; at += chunk)
		n = reduction_say(r, kind, json_string_value(text) + at, MIN(chunk, bytes - at));
	return n;
}

static int give_calls(struct reduction *r, const json_t *calls)
{
	int n = 0;
	for (size_t i = 0; i < json_array_size(calls) && n == 0; i++) {
		const json_t *call = json_array_get(calls, i);
		const json_t *id = json_object_get(call, "id");
		const json_t *text = json_object_get(call, "arguments");
		json_t *made = json_sprintf("call_%zu", i);
		int part = reduction_part(r, PART_TOOL_CALL, (int64_t)i + 1);
		n = part < 0
			? -1
			: reduction_rename(r, part, id ? id : made, json_object_get(call, "name"));
		if (n == 0)
			n = reduction_append(r, part, text);
		json_decref(made);
	}
	return n;
}

static void give_usage(struct reduction *r, const json_t *usage)
{
	r->reply.has_usage = usage != NULL;
	r->reply.usage = (struct wire_usage){.input = reduction_count(usage, "input"),
		.output = reduction_count(usage, "output"),
		.cached = reduction_count(usage, "cached"),
		.reasoning = reduction_count(usage, "reasoning")};
}

static int give_reply(struct reduction *r, const json_t *reply, size_t chunk)
{
	const json_t *stop = json_object_get(reply, "stop");
	int n = give(r, PART_REASONING, json_object_get(reply, "reasoning"), chunk);
	if (n == 0)
		n = give(r, PART_TEXT, json_object_get(reply, "text"), chunk);
	if (n == 0)
		n = give_calls(r, json_object_get(reply, "tool_calls"));
	if (n < 0)
		return -1;
	r->reply.stop =
		stop ? (enum reply_stop)reply_stop_find(json_string_value(stop)) : REPLY_END;
	r->has_stop = true;
	give_usage(r, json_object_get(reply, "usage"));
	return 0;
}

static int fail(const json_t *failure, struct failure *why)
{
	const char *word = json_string_value(json_object_get(failure, "class"));
	const char *message = json_string_value(json_object_get(failure, "message"));
	const json_t *wait = json_object_get(failure, "wait_ms");
	(void)failure_set(
		why, (enum failure_class)failure_find(word), "%s", message ? message : "");
	if (wait)
		why->wait_ms = json_integer_value(wait);
	return -1;
}

int recorded_answer(struct recording *rec, const char *asked, const char *asked_last,
	struct reduction *r, struct failure *why)
{
	const json_t *line = next_line(rec);
	if (!line) {
		(void)failure_set(why, FAILURE_REPLAY, "all %zu answers are used up",
			json_array_size(rec->lines));
		return -1;
	}
	size_t number = rec->numbers[rec->at];
	if (check_asked(json_object_get(line, "expect"), asked, true, number, why) < 0 ||
		check_asked(json_object_get(line, "expect_last"), asked_last, true, number, why) <
			0 ||
		check_asked(json_object_get(line, "reject"), asked, false, number, why) < 0)
		return -1;
	const json_t *failure = json_object_get(line, "failure");
	if (failure)
		return fail(failure, why);
	json_int_t chunk = json_integer_value(json_object_get(line, "chunk"));
	size_t step = chunk > 0 ? (size_t)chunk : SIZE_MAX;
	if (give_reply(r, json_object_get(line, "reply"), step) == 0)
		return 0;
	*why = r->failure;
	return -1;
}
