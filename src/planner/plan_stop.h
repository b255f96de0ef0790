/* Cancelling a plan from another thread. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <uv.h>

/* Owns: the caller, who keeps it until the plan has ended. */
struct plan_stop {
	uv_mutex_t lock;
	uv_async_t *waiting; /* wakes the plan's loop; NULL: the plan does not wait */
	int channel;	     /* to the plan's process; -1: none */
	bool is_stopped;
};

void plan_stop_init(struct plan_stop *s);
void plan_stop_done(struct plan_stop *s);

/* Cancel: whatever the plan waits for, now or later, fails. From any thread. */
void plan_stop_now(struct plan_stop *s);

/* The plan's side: send @waiting on cancellation, at once if that has happened; NULL: stop that. */
void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting);

/* The same for a channel, which is shut down on cancellation; -1: stop that. */
void plan_stop_channel(struct plan_stop *s, int channel);
bool plan_stop_is_set(struct plan_stop *s);
