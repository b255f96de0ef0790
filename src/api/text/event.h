/* Events of a running step: one JSON object each, the same for every front.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/utf8.h"

#include <jansson.h>
#include <stdbool.h>

/* The first bytes of an incomplete character; one for each stream of a step. Starts as zeros. */
struct event_rest {
	char data[UTF8_MAX_BYTES];
	size_t bytes;
};

/* Make {"event": "step.started", "session"}. For all functions below too: Owns: the caller decrefs.
 * Returns: NULL without memory. */
json_t *event_started(const char *session);

/*
 * {"event": "stdout" | "stderr", "text"}: @stream is 0 or 1. Invalid UTF-8 becomes U+FFFD; an
 * incomplete character at the end is kept in @rest, unless @is_end. Returns: NULL also when all of
 * @data is kept in @rest.
 */
json_t *event_text(
	struct event_rest *rest, int stream, const char *data, size_t bytes, bool is_end);

/* {"event": "display", "data": {mime: value}}. */
json_t *event_display(const json_t *display);

/* {"event": "tool", and the members that step_listener gets: "tool", "call", "state", …}. */
json_t *event_tool(const json_t *about);

/* {"event": "rebuilding", "step", "of"}: the state is being rebuilt, and this step is run again for
 * it. */
json_t *event_rebuilding(size_t at, size_t n);
/* {"event": "queued", "run", "behind", "waiting": "stdin"?}: the run waits behind another run of
 * the session; "waiting": that other run waits for input. */
json_t *event_queued(const char *run, const char *behind, bool is_reading);

/* {"event": "stdin", "run"}: the program waits for input, which step.input gives it. */
json_t *event_stdin(const char *run);

/* {"event": "step.finished", "result": the record}. */
json_t *event_finished(const json_t *record);
