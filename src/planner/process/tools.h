/* What the planner knows of the engine: one channel. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/planner_frame.h"

enum { PLANNER_FD = 3 };

/* Who answers calls and questions; else the file of tools does by itself. */
struct planner_engine {
	bool has_calls; /* the engine has the tools */
	bool has_model; /* and a model that answers ask() */
};
void planner_engine_set(const struct planner_engine *engine);

/* Receive the next frame, which has to be of @kind. Returns: its body, which the caller owns; NULL:
 * the engine is gone. */
json_t *planner_receive(enum planner_kind kind);
