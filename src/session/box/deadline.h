/*
 * Deadlines for a box, its init or a driver.
 *
 * A stall of the engine is not a missing response. While the machine was suspended or the disk was
 * slow, the other side did not run either, or its response has arrived but was not read yet. So a
 * deadline consists of parts. A stall uses up one part, however long it takes, and before the
 * deadline expires, the loop reads all input that has arrived.
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
	unsigned n_left; /* remaining parts, then one pass of the loop */
};

/* Start a deadline that a stall of the engine extends. @missed is called with the timer, whose data
 * belongs to the owner, unless deadline_stop() is called first. */
void deadline_start(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* Start a time limit, which a stall does not extend. */
void deadline_start_limit(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* Stop the deadline, because the response has arrived. */
void deadline_stop(struct deadline *d);
