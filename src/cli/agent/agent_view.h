/* Shows to a person at a terminal what an agent does. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/screen/picture.h"
#include "cli/screen/sink.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct agent_view {
	/* `out` gets answers and plots, `err` gets progress messages. */
	struct sink out, err;
	struct picture picture;
	FILE *record;	  /* file that gets every event as a line of JSON; NULL: none */
	bool is_live;	  /* progress is shown on stderr */
	bool tells_waits; /* waits for the model are reported even if progress is not shown */
	bool is_events;	  /* --jsonl: events are written to stdout */
	bool has_color;
	bool is_inside; /* the cursor is not at the start of a line */
	/* The last line says which model is asked. The next output replaces this line. */
	bool is_asking;
	struct buf said; /* what the model has said in its current reply */
	/* Several candidates are running. Their texts are not shown until one is chosen. */
	bool is_round;
};

void agent_view_init(struct agent_view *view, int images);
void agent_view_done(struct agent_view *view);

/* Show an event. A callback for operation_listener; @view is a struct agent_view. */
void agent_view_event(void *view, const json_t *event);

/* Show the result. The answer goes to stdout, its cost and warnings go to stderr. @is_quiet: do
 * not show warnings. Returns: 0, or negative errno of a failed write. */
int agent_view_result(struct agent_view *view, const json_t *result, bool is_quiet);
