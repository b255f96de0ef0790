/* The planner process's channel to the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/helper/helper.h"
#include "planner/planner_frame.h"

enum { PLANNER_FD = HELPER_FD };

/* What the engine can do for this process. If `has_calls` is false, the results of tools and of
 * ask() come from the file of tools. */
struct planner_engine {
	/* If set, the engine makes each call of a tool or of ask(), and sends the outcome to
	 * this process. */
	bool has_calls;
	bool has_model; /* the engine has a model for ask() */
};
void planner_engine_set(const struct planner_engine *engine);

/* Receive the next frame, which must be of @kind. Returns: the body, which the caller owns; NULL if
 * the engine has ended or the frame is invalid. */
json_t *planner_receive(enum planner_kind kind);
