/* The planner's channel to the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/planner_frame.h"

enum { PLANNER_FD = 3 };

/* Who answers: the engine, or if it does not, the file of tools. */
struct planner_engine {
	bool has_calls; /* the engine makes calls */
	bool has_model; /* the engine has a model for ask() */
};
void planner_engine_set(const struct planner_engine *engine);

/* Receive the next frame, which has to be of @kind. Returns: its body, which the caller owns; NULL:
 * the engine is gone. */
json_t *planner_receive(enum planner_kind kind);
