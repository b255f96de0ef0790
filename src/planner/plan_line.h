/* Plans in line, for threads that each wait for one. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <uv.h>

/*
 * A caller has PLANS_EACH plans at a time, all callers PLANS_MAX; others wait. Who has the fewest
 * is next, and of his the one that came first: however many one has in line, another's runs.
 */
enum { PLANS_EACH = 4, PLANS_MAX = 16, PLANS_IN_LINE = 256 /* of a caller */ };

struct plan_line;

/* Embedded in what is to be done. */
struct plan_turn {
	/* On a thread of its own. */
	void (*work)(struct plan_turn *turn);
	/* On the loop, once; the turn may be freed. @why: it was not begun, or NULL. */
	void (*done)(struct plan_turn *turn, const struct err *why);

	struct plan_turn *next;
	struct plan_line *line;
	const void *caller;
	uv_thread_t thread;
	uv_async_t ended;
	bool is_running;
};

/* Owns: the caller closes it, when no turn is left. */
int plan_line_open(struct plan_line **out, uv_loop_t *loop, struct err *err);
void plan_line_close(struct plan_line *line);

/* @caller: whose; compared only. Errors: ERR_QUOTA, and `done` is not called then. */
int plan_line_take(
	struct plan_line *line, struct plan_turn *turn, const void *caller, struct err *err);

/* Its turn has not come yet? Then it does not come any more: `done` is called. */
void plan_line_leave(struct plan_turn *turn);
