/* The planner process's channel to the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/planner_frame.h"

enum { PLANNER_FD = 3 };

/* What the engine can do for this process. Without `has_calls`, the results of tool calls and of
 * ask() are read from the file of tools. */
struct planner_engine {
	bool has_calls; /* the engine makes calls */
	bool has_model; /* the engine has a model for ask() */
};
void planner_engine_set(const struct planner_engine *engine);

/* Receive the next frame, which must be of @kind. Returns: its body, which the caller owns; NULL:
 * the engine has ended, or the frame is invalid. */
json_t *planner_receive(enum planner_kind kind);
