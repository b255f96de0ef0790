/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/event.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

json_t *event_started(const char *session)
{
	return json_pack("{s:s, s:s}", "event", "step.started", "session", session);
}

json_t *event_text(struct event_rest *rest, int stream, const char *data, size_t bytes, bool is_end)
{
	cleanup_buf struct buf raw = BUF_INIT(bytes + UTF8_MAX_BYTES);
	cleanup_buf struct buf text = BUF_INIT((bytes + UTF8_MAX_BYTES) * 3);
	if (buf_append(&raw, rest->data, rest->bytes) < 0 || buf_append(&raw, data, bytes) < 0)
		return NULL;
	size_t n_rest = is_end ? 0 : utf8_unfinished(buf_str(&raw), raw.bytes);
	size_t n = raw.bytes - n_rest;
	memcpy(rest->data, buf_str(&raw) + n, n_rest);
	rest->bytes = n_rest;
	if (n == 0 || utf8_repair(&text, buf_str(&raw), n, NULL) < 0)
		return NULL;
	return json_pack("{s:s, s:o}", "event", stream ? "stderr" : "stdout", "text",
		json_stringn(buf_str(&text), text.bytes));
}

json_t *event_display(const json_t *display, const json_t *about)
{
	if (!display)
		return json_pack(
			"{s:s, s:b}", "event", "clear", "wait", json_get_bool(about, "wait"));
	json_t *event = json_pack("{s:s, s:O}", "event", "display", "data", json_unconst(display));
	if (about)
		(void)json_object_update(event, json_unconst(about));
	return event;
}

json_t *event_tool(const json_t *about)
{
	json_t *event = json_pack("{s:s}", "event", "tool");
	(void)json_object_update(event, json_unconst(about));
	return event;
}

json_t *event_network(const json_t *row)
{
	json_t *event = json_pack("{s:s}", "event", "network");
	(void)json_object_update(event, json_unconst(row));
	return event;
}

json_t *event_rebuilding(size_t at, size_t n)
{
	return json_pack("{s:s, s:I, s:I}", "event", "rebuilding", "step", (json_int_t)at, "of",
		(json_int_t)n);
}

json_t *event_queued(const char *run, const char *behind, bool is_reading)
{
	return json_pack("{s:s, s:s, s:s, s:s*}", "event", "queued", "run", run, "behind", behind,
		"waiting", is_reading ? "stdin" : NULL);
}

json_t *event_stdin(const char *run)
{
	return json_pack("{s:s, s:s}", "event", "stdin", "run", run);
}

json_t *event_finished(const json_t *record)
{
	return json_pack("{s:s, s:O}", "event", "step.finished", "result", json_unconst(record));
}
