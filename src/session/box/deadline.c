/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/deadline.h"

#include "base/timer.h"

/* The time of a deadline is divided into PARTS timers of equal length. They run one after the
 * other, so that a stall of the engine uses up only one of them. A last timer of LOOK_MS
 * follows, because the loop reads the input that has arrived before this timer expires. Without
 * the last timer, the deadline could expire although the response has arrived. */
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
