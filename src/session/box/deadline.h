/*
 * How long somebody else may take: a box, its init, a driver.
 *
 * A stall is no answer. While the engine stood still (the machine was paused, the disk was slow),
 * what it waits for stood still too, or has answered and was not read. So a deadline is counted in
 * parts, of which a stall takes one however long it is, and before anything is called missed, what
 * lies there is read.
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
	unsigned n_left; /* parts, and the look */
};

/* @missed is called with the timer, whose data is the owner's. Instead of what was waited for. */
void deadline_start(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* The same for what may not take longer, stall or not: a limit. */
void deadline_start_limit(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* What was waited for has come. */
void deadline_stop(struct deadline *d);
