/* A queue of plans, fair between callers; each running plan has a thread.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <uv.h>

/*
 * At most PLANS_EACH plans of one caller and PLANS_MAX in total run at a time; others wait. The
 * next plan is the oldest of the caller with the fewest running plans, so a caller with a long
 * queue does not hold up others.
 */
enum { PLANS_EACH = 4, PLANS_MAX = 16, PLANS_IN_LINE = 256 /* per caller */ };

struct plan_line;

/* A plan in the queue, embedded in a struct of the caller. */
struct plan_turn {
	/* Run the plan, on a thread of its own. */
	void (*work)(struct plan_turn *turn);
	/* Called once, on the loop; may free the turn. @why: reason why the plan was not started,
	 * or NULL. */
	void (*done)(struct plan_turn *turn, const struct err *why);

	struct plan_turn *next;
	struct plan_line *line;
	const void *caller;
	uv_thread_t thread;
	uv_async_t ended;
	bool is_running;
};

/* Open a queue. Owns: the caller closes it when it is empty. */
int plan_line_open(struct plan_line **out, uv_loop_t *loop, struct err *err);
void plan_line_close(struct plan_line *line);

/* Queue a plan. @caller: any pointer that identifies the caller. Errors: ERR_QUOTA; then `done` is
 * not called. */
int plan_line_take(
	struct plan_line *line, struct plan_turn *turn, const void *caller, struct err *err);

/* Remove a waiting plan from the queue and call its `done`. A running plan is not affected. */
void plan_line_leave(struct plan_turn *turn);
