/* Callers that wait for a run. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>
#include <uv.h>

struct run;

/*
 * A caller that waits for a run. `done` is called once, in one of these cases:
 * - The run is done: @record is the record of the step. If the step could not be run, @record is
 *   NULL, and @err says why.
 * - The time limit of the wait has passed, or waiter_leave() was called: @record has the status
 *   "running".
 * - The wait has a time limit, and the run cannot continue until a client acts, for example sends
 *   input: @record has the status "running".
 * @record is borrowed. `event` may be NULL. The waiter must stay at its address until `done` is
 * called.
 */
struct waiter {
	void *arg;
	void (*event)(void *arg, const json_t *event);
	void (*done)(void *arg, const json_t *record, const struct err *err);

	/* This member and the members below belong to waiter.c. `run` is NULL while the waiter
	 * does not wait. */
	struct run *run;
	struct waiter *next;
	uv_timer_t *timer;
};

/* Wait for @run, for at most @wait_ms. `done` is called before this function returns if @wait_ms is
 * 0, if the run is done, or if the run cannot continue until a client acts. Errors: ERR_NO_MEMORY;
 * `done` is then never called. */
int waiter_await(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err);
/* Stop waiting: `done` is called at once, with the record so far. If @waiter does not wait, do
 * nothing. */
void waiter_leave(struct waiter *waiter);
