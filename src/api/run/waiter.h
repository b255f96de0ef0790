/* Waiters: callers that wait for a run. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>
#include <uv.h>

struct run;

/*
 * `done` is called once: with the record, borrowed, when the run is over; with a record of status
 * "running" when the time is up; or with NULL and why the step was not run. `event` may be NULL.
 * The waiter must stay at its address until then.
 */
struct waiter {
	void *arg;
	void (*event)(void *arg, const json_t *event);
	void (*done)(void *arg, const json_t *record, const struct err *err);

	struct run *run; /* this and all below: for waiter.c; NULL: not waiting */
	struct waiter *next;
	uv_timer_t *timer;
};

/* Wait for @run, at most @wait_ms (0: not at all). `done` may be called before this returns.
 * Errors: ERR_NO_MEMORY; then `done` is never called. */
int waiter_await(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err);
/* Stop waiting: `done` is called now, with the record so far. Does nothing if @waiter does not
 * wait. */
void waiter_leave(struct waiter *waiter);
