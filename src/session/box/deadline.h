/*
 * How long a box, its init or a driver may take.
 *
 * A stall of the engine is not a missing answer. While the machine was paused or the disk was slow,
 * the other side stood still too, or it has answered and the answer was not read yet. So a deadline
 * is counted in parts. A stall uses up one part, however long it lasts, and before the deadline
 * counts as missed, whatever has arrived is read.
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
	unsigned n_left; /* parts that are left, and a last look */
};

/* @missed is called with the timer, whose data is the owner's, unless deadline_stop() comes first.
 */
void deadline_start(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* A limit: it is not extended by stalls. */
void deadline_start_limit(struct deadline *d, uv_timer_cb missed, uint64_t ms);

/* The answer has come. */
void deadline_stop(struct deadline *d);
