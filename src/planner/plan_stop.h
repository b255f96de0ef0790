/* How a plan is given up from another thread than the one it runs on. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <uv.h>

/* Owns: whoever gives it to a plan, until that has ended. */
struct plan_stop {
	uv_mutex_t lock;
	uv_async_t *waiting; /* of the plan's loop; NULL: it waits for nothing */
	int channel;	     /* to its process; -1: there is none */
	bool is_stopped;
};

void plan_stop_init(struct plan_stop *s);
void plan_stop_done(struct plan_stop *s);

/* Give it up: whatever it waits for, now or later, does not come. Any thread. */
void plan_stop_now(struct plan_stop *s);

/* The plan's side: @waiting is sent when it is given up, at once if it is already; NULL: no more.
 */
void plan_stop_watch(struct plan_stop *s, uv_async_t *waiting);

/* The same of a channel, which is shut then; -1: no more. */
void plan_stop_channel(struct plan_stop *s, int channel);
bool plan_stop_is_set(struct plan_stop *s);
