/*
 * Deadlines for a response of a box, its init or a driver.
 *
 * A response can be late because the engine itself has stalled, for example because the machine was
 * suspended or the disk was slow. Such a response must not be taken for a missing one: the other
 * side has stalled as well, or its response has arrived and is not read yet.
 *
 * So a deadline consists of several shorter timers, its parts. A stall uses up only one part,
 * however long it takes. Before the deadline expires, the loop reads all input that has arrived.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/attr.h"
#include <stdint.h>
#include <uv.h>

struct deadline {
	uv_timer_t timer;
	uv_timer_cb missed;
	uint64_t part_ms;
	/*
	 * A deadline runs as several timers, one after the other, called its parts. @n_left is the
	 * number of parts that have not ended yet, including the part that is running.
	 * 0: all parts have ended, and only a short additional timer is running. Before that timer
	 * expires, the event loop reads the input that has arrived, which may contain the response.
	 */
	unsigned n_left;
};

/* Start a deadline. A stall of the engine extends it. Unless deadline_stop() is called first,
 * @missed is called with the timer. The timer's `data` belongs to the owner of the deadline. */
void deadline_start(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* Start a time limit. Unlike a deadline, it is not extended by a stall. */
void deadline_start_limit(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* Stop the deadline or the time limit. */
void deadline_stop(struct deadline *d);
