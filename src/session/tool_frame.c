/* SPDX-License-Identifier: Apache-2.0 */
#include "session/tool_frame.h"

#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 128, NUMBER_DIGITS = 15, BESIDE_BYTES = 4096, ERROR_BYTES = 120, MEMBERS = 4 };

void tool_frame_done(struct tool_frame *f)
{
	json_decref(f->json);
	json_decref(f->error);
	*f = (struct tool_frame){0};
}

/* Skip @words, each of which may come after white space. Returns: the text after the last word;
 * NULL if @at is NULL or a word is missing. */
static const char *after(const char *at, const char *const *words)
{
	for (; at && *words; words++) {
		size_t n = strlen(*words);
		at += strspn(at, " \t\r\n");
		at = strncmp(at, *words, n) == 0 ? at + n : NULL;
	}
	return at;
}

static const char *number_at(const char *at, uint64_t *out)
{
	size_t n = at ? strspn(at, "0123456789") : 0;
	if (n == 0 || n > NUMBER_DIGITS || *at == '0')
		return NULL;
	*out = strtoull(at, NULL, 10);
	return at + n;
}

/* Read the step's id and the call's number, the first two members of the frame. An error can
 * then be sent even if the rest is invalid. */
static int read_head(struct tool_frame *out, const char *data, size_t bytes, struct err *err)
{
	static const char *const before_id[] = {"{", "\"id\"", ":", "\"", NULL};
	static const char *const before_call[] = {"\"", ",", "\"call\"", ":", "", NULL};
	static const char *const behind[] = {",", NULL};
	char head[HEAD_BYTES];
	size_t n = MIN(bytes, sizeof head - 1);
	memcpy(head, data, n);
	head[n] = '\0';
	const char *at = number_at(after(head, before_id), &out->step);
	at = number_at(after(at, before_call), &out->number);
	return after(at, behind)
		? 0
		: err_set(err, ERR_PROTOCOL, "a call that does not say first which one it is");
}

/* Set the error that the box gets as response, because the call cannot be made. */
static int refuse(struct tool_frame *out, const char *name, const char *message, const char *hint)
{
	out->error = tool_call_error(name, message, hint);
	return 0;
}

static bool is_printable(const char *name, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)name[i];
		unsigned char next = (unsigned char)(i + 1 < bytes ? name[i + 1] : 0);
		if (c < ' ' || c == 0x7f || (c == 0xc2 && next < 0xa0))
			return false;
	}
	return true;
}

/* Return whether the parsed frame has exactly the right members, with the step and number that
 * read_head() has read. */
static bool is_whole(const struct tool_frame *f, const json_t *json)
{
	char id[24];
	const json_t *number = json_object_get(json, "call");
	const char *said = json_get_text(json, "id");
	snprintf(id, sizeof id, "%llu", (unsigned long long)f->step);
	return json_object_size(json) == MEMBERS && strcmp(said, id) == 0 &&
		json_is_integer(number) && json_integer_value(number) == (json_int_t)f->number &&
		json_is_string(json_object_get(json, "name")) &&
		json_is_object(json_object_get(json, "arguments"));
}

/* Check the parsed frame @whole (reference taken over), and take name and arguments from it. */
static int take(struct tool_frame *out, json_t *whole, struct err *err)
{
	cleanup_json json_t *json = whole;
	const json_t *name = json_object_get(json, "name");
	size_t bytes = json_string_length(name);
	if (!is_whole(out, json))
		return err_set(err, ERR_PROTOCOL, "a call of the wrong shape");
	if (bytes == 0 || bytes > TOOL_NAME_MAX || !is_printable(json_string_value(name), bytes))
		return refuse(out, "ToolArgumentError",
			"a tool's name is 1 to 256 bytes without control characters",
			"retort.tools lists the names there are");
	out->name = json_string_value(name);
	out->arguments = json_object_get(json, "arguments");
	out->json = take_ptr(json);
	return 0;
}

int tool_frame_read(struct tool_frame *out, const char *data, size_t bytes, struct err *err)
{
	json_error_t error;
	char message[ERR_MSG_BYTES];
	*out = (struct tool_frame){0};
	int r = read_head(out, data, bytes, err);
	if (r < 0)
		return r;
	if (bytes > TOOL_ARGUMENTS_MAX + BESIDE_BYTES)
		return refuse(out, "ToolLimit", "the arguments are over 4 MiB",
			"send them in parts, or send the data they are made from");
	out->bytes = bytes;
	out->parts = json_parts(data, bytes);
	if (out->parts > TOOL_PARTS_MAX)
		return refuse(out, "ToolLimit", "the arguments have more than 100000 values",
			"send them in parts");
	json_t *json = json_loadb(data, bytes, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
	if (json)
		return take(out, json, err);
	snprintf(message, sizeof message, "the arguments are not valid JSON: %.*s",
		(int)utf8_cut(error.text, strlen(error.text), ERROR_BYTES), error.text);
	return refuse(out, "ToolArgumentError", message, NULL);
}
