/* The display of a running agent for a person at a terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/screen/picture.h"
#include "cli/screen/sink.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct agent_view {
	struct sink out, err; /* out: answers and plots; err: progress messages */
	struct picture picture;
	FILE *record;	  /* file for all events, one per line; or NULL */
	bool is_live;	  /* show progress on stderr */
	bool tells_waits; /* report waits even if is_live is false */
	bool is_events;	  /* --jsonl: write events to stdout */
	bool has_color;
	bool is_inside; /* the cursor is within a line of text */
	bool is_asking; /* the last line names the model that is asked; the next output replaces the
			   line */
	struct buf said; /* text of the model's current reply */
	bool is_round; /* several candidates are running: their texts are hidden until one is chosen
			*/
};

void agent_view_init(struct agent_view *view, int images);
void agent_view_done(struct agent_view *view);

/* Show an event, as a callback of operation_listener; @view is a struct agent_view. */
void agent_view_event(void *view, const json_t *event);

/* Show the result: the answer on stdout; its cost and doubts about it on stderr. @is_quiet: only
 * the answer. Returns: 0, or negative errno of a write. */
int agent_view_result(struct agent_view *view, const json_t *result, bool is_quiet);
