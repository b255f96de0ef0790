/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/deadline.h"

#include "base/timer.h"

/*
 * A deadline is divided into PARTS timers of equal length, which run one after the other. So a
 * stall of the engine uses up only one of them.
 * After the last part, one more timer of LOOK_MS runs. When a stall ends, a response may have
 * arrived that is not read yet. The event loop may call an expired timer before it reads such
 * input. But it reads the response while the additional timer runs, so that the deadline is not
 * missed.
 */
enum { PARTS = 8, LOOK_MS = 1 };

static void on_part(uv_timer_t *timer)
{
	struct deadline *d = container_of(timer, struct deadline, timer);
	if (d->n_left == 0) {
		d->missed(timer);
		return;
	}
	d->n_left--;
	timer_start(timer, on_part, d->n_left ? d->part_ms : LOOK_MS, 0);
}

static void start(struct deadline *d, uv_timer_cb missed, uint64_t part_ms, unsigned n)
{
	d->missed = missed;
	d->part_ms = part_ms;
	d->n_left = n;
	timer_start(&d->timer, on_part, part_ms, 0);
}

void deadline_start(struct deadline *d, uv_timer_cb missed, uint64_t ms)
{
	start(d, missed, ms / PARTS, PARTS);
}

void deadline_start_limit(struct deadline *d, uv_timer_cb missed, uint64_t ms)
{
	start(d, missed, ms, 1);
}

void deadline_stop(struct deadline *d)
{
	(void)uv_timer_stop(&d->timer);
}
