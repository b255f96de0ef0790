/* A model at work, as a person at a terminal sees it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/picture.h"
#include "cli/sink.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct agent_view {
	struct sink out, err; /* stdout: answers and plots; stderr: all that passes by */
	struct picture picture;
	FILE *record;	  /* every event, a line each; or NULL */
	bool is_live;	  /* what happens is shown on stderr */
	bool tells_waits; /* where it is not live */
	bool is_events;	  /* --jsonl: on stdout */
	bool has_color;
	bool is_inside;	 /* of a line of text */
	bool is_asking;	 /* the last line says who is asked, and goes when something comes */
	struct buf said; /* by the model, since it was asked last */
	bool is_round; /* there are candidates: of none is shown what it says, until one is taken */
};

void agent_view_init(struct agent_view *view, int images);
void agent_view_done(struct agent_view *view);

/* Of operation_listener; @view is a struct agent_view. */
void agent_view_event(void *view, const json_t *event);

/* The end: the answer on stdout, what it cost and what is wrong with it on stderr. @is_quiet: no
 * more than the answer. Returns: 0, or negative errno of writing. */
int agent_view_result(struct agent_view *view, const json_t *result, bool is_quiet);
