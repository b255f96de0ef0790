/* Cancel a plan from another thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <uv.h>

/* The cancellation of one plan. Owns: the caller keeps it until the plan has ended. */
struct plan_stop {
	uv_mutex_t lock;
	uv_async_t *waiting; /* handle that wakes the loop of the plan's tools, or NULL */
	int channel;	     /* socket to the planner process, or -1 */
	bool is_stopped;
};

void plan_stop_init(struct plan_stop *s);
void plan_stop_done(struct plan_stop *s);

/* Cancel the plan: its current wait and all later waits fail. May be called from any thread. */
void plan_stop_now(struct plan_stop *s);

/* For the plan's thread: set the handle that a cancellation wakes, or NULL. If the plan is
 * cancelled already, the handle is woken at once. */
void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting);

/* For the plan's thread: set the socket that a cancellation shuts down, or -1. */
void plan_stop_channel(struct plan_stop *s, int channel);
bool plan_stop_is_set(struct plan_stop *s);
