/* Cancels a plan from another thread. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <uv.h>

/* The cancellation of one plan. Owns: the caller, until the plan has ended. */
struct plan_stop {
	uv_mutex_t lock;
	uv_async_t *waiting; /* wakes the plan's loop; NULL: the loop does not wait */
	int channel;	     /* socket to the planner process, or -1 */
	bool is_stopped;
};

void plan_stop_init(struct plan_stop *s);
void plan_stop_done(struct plan_stop *s);

/* Cancel the plan: its present and later waits fail. May be called from any thread. */
void plan_stop_now(struct plan_stop *s);

/* For the plan's thread: set the handle to send on cancellation, at once if the plan is cancelled
 * already; NULL: none. */
void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting);

/* For the plan's thread: set the socket to shut down on cancellation; -1: none. */
void plan_stop_channel(struct plan_stop *s, int channel);
bool plan_stop_is_set(struct plan_stop *s);
