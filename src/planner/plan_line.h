/* A queue of plans that is fair between callers. Each running plan has a thread.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/fair_line.h"

#include <stdbool.h>
#include <uv.h>

/* At most PLANS_EACH plans of one caller and PLANS_MAX plans in total run at a time. The others
 * wait in a fair queue. */
enum { PLANS_EACH = 4, PLANS_MAX = 16, PLANS_IN_LINE = 256 /* per caller */ };

struct plan_line;

/* A plan in the queue. The struct is embedded in a larger struct of its caller. */
struct plan_turn {
	/* Run the plan. Called on a thread of its own. */
	void (*work)(struct plan_turn *turn);
	/* Called once, on the thread of the loop; may free the turn. @why is the reason why the
	 * plan was not started, or NULL if it ran. */
	void (*done)(struct plan_turn *turn, const struct err *why);

	struct fair_turn turn;
	struct plan_line *line;
	uv_thread_t thread;
	uv_async_t ended;
};

/* Open a queue. Owns: the caller closes it with plan_line_close(), but only when it is empty. */
int plan_line_open(struct plan_line **out, uv_loop_t *loop, struct err *err);
void plan_line_close(struct plan_line *line);

/* Add a plan to the queue. @caller is any pointer that identifies the caller. Errors: ERR_QUOTA; in
 * this case `done` is not called. */
int plan_line_take(
	struct plan_line *line, struct plan_turn *turn, const void *caller, struct err *err);

/* Remove a plan that still waits from the queue, and call its `done`. If the plan is running, do
 * nothing. */
void plan_line_leave(struct plan_turn *turn);
