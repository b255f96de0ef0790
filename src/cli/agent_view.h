/* The view of an agent at work, for a person at a terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/picture.h"
#include "cli/sink.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct agent_view {
	struct sink out, err; /* out: answers and plots; err: the progress */
	struct picture picture;
	FILE *record;	  /* all events, one in each line; or NULL */
	bool is_live;	  /* show the progress on stderr */
	bool tells_waits; /* show waits, although it is not live */
	bool is_events;	  /* --jsonl: on stdout */
	bool has_color;
	bool is_inside;	 /* within a line of text */
	bool is_asking;	 /* the last line says which model is asked, and will be replaced */
	struct buf said; /* the text of the model's current reply */
	bool is_round;	 /* there are several candidates: their texts are not shown until one is
			    chosen */
};

void agent_view_init(struct agent_view *view, int images);
void agent_view_done(struct agent_view *view);

/* For operation_listener; @view is a struct agent_view. */
void agent_view_event(void *view, const json_t *event);

/* Show the result: the answer on stdout; its cost and doubts about it on stderr. @is_quiet: only
 * the answer. Returns: 0, or negative errno of writing. */
int agent_view_result(struct agent_view *view, const json_t *result, bool is_quiet);
