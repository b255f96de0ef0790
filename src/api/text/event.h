/* Events of a running step. Each is a JSON object, the same for every front.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/utf8.h"

#include <jansson.h>
#include <stdbool.h>

/* The bytes of an incomplete character at the end of what a stream has sent so far. One for each
 * stream of a step. Initialize with zeros. */
struct event_rest {
	char data[UTF8_MAX_BYTES];
	size_t bytes;
};

/*
 * Make {"event": "step.started", "session"}.
 * For all functions of this file: the caller decrefs the result, which is NULL if memory is
 * exhausted.
 */
json_t *event_started(const char *session);

/*
 * Make {"event": "stdout", "text"}, or with "stderr" if @stream is 1, from the bytes in @rest and
 * @data. Invalid UTF-8 becomes U+FFFD. Bytes of an incomplete character at the end are kept in
 * @rest for the next call, unless @is_end.
 * Returns: NULL also if there is nothing to send yet.
 */
json_t *event_text(
	struct event_rest *rest, int stream, const char *data, size_t bytes, bool is_end);

/* Make {"event": "display", "data": {mime: value}, "display_id"?, "update"?}, or {"event": "clear",
 * "wait"} if @display is NULL. @about: as the callback `display` of struct step_listener gets it.
 */
json_t *event_display(const json_t *display, const json_t *about);

/* Make {"event": "tool", "tool", "call", "state", …}. @about: the object without its member
 * "event", as the callback `tool` of struct step_listener gets it. */
json_t *event_tool(const json_t *about);

/* Make {"event": "network", "name", "port"?, "verdict", "reason"?, …}. @row: the object without its
 * member "event", as the callback `network` of struct step_listener gets it. */
json_t *event_network(const json_t *row);

/* Make {"event": "rebuilding", "step", "of"}: to rebuild a lost state, step @at of @n runs
 * again. */
json_t *event_rebuilding(size_t at, size_t n);
/* Make {"event": "queued", "run", "behind", "waiting": "stdin"?}: the run waits behind another
 * run of its session. @is_reading: that other run waits for input. */
json_t *event_queued(const char *run, const char *behind, bool is_reading);

/* Make {"event": "stdin", "run"}: the program waits for input, which clients send by step.input. */
json_t *event_stdin(const char *run);

/* Make {"event": "step.finished", "result": @record}. */
json_t *event_finished(const json_t *record);
