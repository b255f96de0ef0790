/* Timers that count from now. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * What a loop takes for the time is when its turn began. Who waits outside of the loop (the client
 * of `retort mcp` thinks for a minute) or works for long would start a timer that is over at once.
 * So nobody calls uv_timer_start() and uv_now() but these two; dev/check_layers.py sees to that.
 */

/* Milliseconds, on the clock of all loops. Source: libuv, uv_update_time() */
static inline uint64_t timer_now(void)
{
	return uv_hrtime() / 1000000;
}

/*
 * @fn is called after @ms, counted from this call, and then every @repeat_ms, if that is not 0. The
 * loop's time stays: in one turn, what was started in it is not over, but for 0 ms.
 */
static inline void timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t ms, uint64_t repeat_ms)
{
	uint64_t now = timer_now(), turn = uv_now(timer->loop);
	uint64_t late = now > turn ? now - turn : 0;
	(void)uv_timer_start(timer, fn, ms > 0 ? ms + late : 0, repeat_ms);
}

/*
 * Has the loop's turn lasted so long that others, who wait for the next one, come first? @n_times,
 * of who asks, counts how often it was: he is not put off for ever.
 */
static inline bool timer_is_late(const uv_loop_t *loop, unsigned *n_times)
{
	enum { TURN_MS = 10, TIMES_MAX = 8 };
	bool is_late = timer_now() - uv_now(loop) >= TURN_MS && *n_times < TIMES_MAX;
	*n_times = is_late ? *n_times + 1 : 0;
	return is_late;
}
