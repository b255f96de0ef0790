/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/reduction.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_PARTS_MAX = 200000, BYTES_PER_TOKEN = 4, ASKED_BYTES_MIN = 8192 };

static int fail(struct reduction *r, enum failure_class class, const char *what)
{
	(void)failure_set(&r->failure, class, "%s", what);
	return -1;
}

/* Return the UTF-16 code unit of the escape at @text, such as "\u00e9"; -1 for another text. */
static long read_unit(const char *text, size_t bytes)
{
	if (bytes < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	long unit = 0;
	for (int i = 2; i < 6; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *found = text[i] ? strchr(digits, text[i]) : NULL;
		if (!found)
			return -1;
		unit = unit * 16 + (found - digits) % 16;
	}
	return unit;
}

/* Replace the escape of each lone surrogate, such as "\ud83d", by "\ufffd", which has the same
 * length. Some servers split a text between the two surrogates of a pair, and strict JSON
 * parsers reject a lone surrogate. */
static void mend_halves(char *text, size_t bytes)
{
	for (size_t i = 0; i + 1 < bytes;) {
		long unit = read_unit(text + i, bytes - i);
		bool is_high = unit >= 0xd800 && unit <= 0xdbff;
		long next = is_high ? read_unit(text + i + 6, bytes - i - 6) : -1;
		bool is_pair = next >= 0xdc00 && next <= 0xdfff;
		if (is_pair || text[i] != '\\') {
			i += is_pair ? 12 : 1;
			continue;
		}
		if (unit >= 0xd800 && unit <= 0xdfff)
			/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): within a text */
			memcpy(text + i, "\\ufffd", 6);
		i += unit >= 0 ? 6 : 2;
	}
}

static json_t *load(const char *data, size_t bytes)
{
	json_t *event = json_loadb(data, bytes, JSON_ALLOW_NUL, NULL);
	char *copy = event ? NULL : malloc(bytes + 1);
	if (!copy)
		return event;
	memcpy(copy, data, bytes);
	copy[bytes] = '\0';
	mend_halves(copy, bytes);
	event = json_loadb(copy, bytes, JSON_ALLOW_NUL, NULL);
	free(copy);
	return event;
}

static int take_json(struct reduction *r, const char *name, const char *data, size_t bytes)
{
	if (r->format->last && strcmp(data, r->format->last) == 0) {
		r->is_over = true;
		return 1;
	}
	if (json_parts(data, bytes) > EVENT_PARTS_MAX)
		return fail(r, FAILURE_STREAM, "an event with too many parts");
	cleanup_json json_t *event = load(data, bytes);
	return json_is_object(event)
		? r->format->event(r, name, event)
		: fail(r, FAILURE_STREAM, "an event that is not a JSON object");
}

static int on_event(void *arg, const struct sse_event *event)
{
	return take_json(arg, event->name, event->data, event->data_bytes);
}

static int on_line(void *arg, const char *line, size_t bytes)
{
	while (bytes > 0 && strchr(" \t\r", *line))
		line++, bytes--;
	return bytes > 0 ? take_json(arg, "", line, bytes) : 0;
}

void reduction_init(struct reduction *r, const struct wire_format *format, const char *secret,
	delta_fn *on_delta, void *arg)
{
	*r = (struct reduction){.format = format,
		.secret = secret,
		.on_delta = on_delta,
		.arg = arg,
		.lines = LINES_INIT(LINES_LF, REPLY_TEXT_BYTES)};
	sse_init(&r->sse, REPLY_TEXT_BYTES, on_event, r);
}

void reduction_done(struct reduction *r)
{
	reply_done(&r->reply);
	sse_done(&r->sse);
	buf_done(&r->lines.part);
}

int reduction_feed(struct reduction *r, const char *data, size_t bytes)
{
	struct err err = {0};
	if (r->is_over || r->is_stopped)
		return 1;
	int n = r->format->is_lines ? lines_feed(&r->lines, data, bytes, on_line, r, &err)
				    : sse_feed(&r->sse, data, bytes, &err);
	if (n < 0 && err.code != ERR_NONE)
		return fail(r, FAILURE_OURS, err.msg);
	return n;
}

static void estimate(struct reduction *r, size_t asked_bytes)
{
	struct wire_usage *u = &r->reply.usage;
	uint64_t asked = asked_bytes / BYTES_PER_TOKEN;
	uint64_t said = (r->reply.text_bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
	if (u->input == 0) {
		u->input = asked;
		u->is_estimated = true;
	}
	/* A correct count may be lower than the estimate, but not below half of it. If the
	 * server's count is below half, the server has dropped a part of the request. */
	if (!u->is_estimated && asked_bytes >= ASKED_BYTES_MIN && u->input < asked / 2)
		r->reply.is_truncated = true;
	if (!r->reply.has_usage || (u->output == 0 && said > 0)) {
		u->output = MAX(u->output, said);
		u->is_estimated = true;
	}
}

int reduction_finish(struct reduction *r, size_t asked_bytes)
{
	if (!r->is_stopped && !r->is_over && r->format && r->format->is_lines &&
		lines_finish(&r->lines, on_line, r) < 0)
		return -1;
	/* If the server sent a reason for the end, the reply is complete even without the last
	 * event. */
	if (!r->is_stopped && !r->is_over && !r->has_stop)
		return fail(r, FAILURE_STREAM, "the connection ended in the middle");
	if (r->is_stopped)
		r->reply.stop = REPLY_STOPPED;
	for (size_t i = 0; i < r->reply.n_parts; i++)
		if (r->reply.stop == REPLY_END && r->reply.parts[i].kind == PART_TOOL_CALL)
			r->reply.stop = REPLY_TOOL;
	estimate(r, asked_bytes);
	return 0;
}

static int keep_failed(struct reduction *r, int n)
{
	return n == -E2BIG
		? fail(r, FAILURE_OURS, "the answer is over 16 MiB or has more than 512 parts")
		: fail(r, FAILURE_OURS, "no memory for the answer");
}

int reduction_part(struct reduction *r, enum part_kind kind, int64_t key)
{
	for (size_t i = r->reply.n_parts; i-- > 0;)
		if (r->keys[i] == key && r->reply.parts[i].kind == kind)
			return (int)i;
	int n = reply_add(&r->reply, kind, NULL, NULL);
	if (n < 0)
		return keep_failed(r, n);
	r->keys[n] = key;
	return n;
}

static enum delta_kind kind_of(const struct part *p)
{
	return p->kind == PART_TEXT	    ? DELTA_TEXT
		: p->kind == PART_REASONING ? DELTA_REASONING
					    : DELTA_TOOL;
}

static int append(struct reduction *r, int part, const char *text, size_t bytes)
{
	struct delta d = {.kind = kind_of(&r->reply.parts[part]),
		.text = text,
		.bytes = bytes,
		.keep_bytes = bytes};
	if (bytes == 0)
		return 0;
	if (r->on_delta) {
		r->has_delta = true;
		r->is_stopped = r->on_delta(r->arg, &d) != 0;
	}
	int n = reply_append(&r->reply, (size_t)part, text, MIN(d.keep_bytes, bytes));
	return n < 0 ? keep_failed(r, n) : r->is_stopped;
}

/* Append a text that may contain NUL. The parts of a reply are C strings, which cannot contain
 * NUL, so each NUL is replaced by U+FFFD. */
static int append_any(struct reduction *r, int part, const char *text, size_t bytes)
{
	int n = 0;
	while (n == 0 && bytes > 0) {
		size_t k = strnlen(text, bytes);
		n = append(r, part, text, k);
		if (n == 0 && k < bytes) {
			n = append(r, part, "\xef\xbf\xbd", 3);
			k++;
		}
		text += k;
		bytes -= k;
	}
	return n;
}

int reduction_append(struct reduction *r, int part, const json_t *text)
{
	return append_any(r, part, json_string_value(text), json_string_length(text));
}

int reduction_rename(struct reduction *r, int part, const json_t *id, const json_t *name)
{
	int n = reply_rename(
		&r->reply, (size_t)part, json_string_value(id), json_string_value(name));
	return n < 0 ? keep_failed(r, n) : 0;
}

int reduction_say(struct reduction *r, enum part_kind kind, const char *text, size_t bytes)
{
	size_t n = r->reply.n_parts;
	if (bytes == 0)
		return 0;
	int part = n > 0 && r->reply.parts[n - 1].kind == kind
		? (int)n - 1
		: reply_add(&r->reply, kind, NULL, NULL);
	return part < 0 ? keep_failed(r, part) : append_any(r, part, text, bytes);
}

int reduction_text(struct reduction *r, enum part_kind kind, const json_t *text)
{
	return reduction_say(r, kind, json_string_value(text), json_string_length(text));
}

int reduction_complete(struct reduction *r, int part, const json_t *json)
{
	const char *text = json_string_value(json);
	size_t had = r->reply.texts[part].bytes, bytes = json_string_length(json);
	if (!text || bytes <= had || memcmp(text, buf_str(&r->reply.texts[part]), had) != 0)
		return 0;
	cleanup_json json_t *rest = json_stringn(text + had, bytes - had);
	return reduction_append(r, part, rest);
}

int reduction_refuse(struct reduction *r, const json_t *error)
{
	failure_read_json(&r->failure, error, r->secret);
	return -1;
}

void reduction_stop(
	struct reduction *r, const json_t *word, const struct stop_word *table, size_t n)
{
	if (!json_is_string(word))
		return;
	r->has_stop = true;
	/* A refusal in the text has priority over the reason for the end that the server sent. */
	if (r->reply.stop == REPLY_REFUSAL)
		return;
	r->reply.stop = REPLY_END;
	for (size_t i = 0; i < n; i++)
		if (strcmp(json_string_value(word), table[i].word) == 0)
			r->reply.stop = table[i].stop;
}

uint64_t reduction_count(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));
	return n > 0 ? (uint64_t)n : 0;
}
