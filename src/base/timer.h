/* Timers whose delay begins at the call, not at libuv's cached time. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * libuv caches the time at the beginning of a loop iteration. After waiting outside of the loop
 * (the client of `retort mcp` thinks for a minute), or after long work, a timer started from that
 * cached time would expire at once. So only the functions here call uv_timer_start() and
 * uv_now(); dev/check_layers.py checks that.
 */

/* Return milliseconds on the clock of all loops. Source: libuv, uv_update_time() */
static inline uint64_t timer_now(void)
{
	return uv_hrtime() / 1000000;
}

/* Call @fn after @ms, measured from this call, and then every @repeat_ms, unless that is 0. The
 * loop's cached time is not updated, so a timer started in this iteration does not expire in the
 * same iteration, except with 0 ms. */
static inline void timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t ms, uint64_t repeat_ms)
{
	uint64_t now = timer_now(), turn = uv_now(timer->loop);
	uint64_t late = now > turn ? now - turn : 0;
	(void)uv_timer_start(timer, fn, ms > 0 ? ms + late : 0, repeat_ms);
}

/* Has this iteration of the loop lasted so long that the caller should yield? @n_times is the
 * caller's number of consecutive yields, which is limited so that the caller's work is not
 * postponed forever. */
static inline bool timer_is_late(const uv_loop_t *loop, unsigned *n_times)
{
	enum { TURN_MS = 10, TIMES_MAX = 8 };
	bool is_late = timer_now() - uv_now(loop) >= TURN_MS && *n_times < TIMES_MAX;
	*n_times = is_late ? *n_times + 1 : 0;
	return is_late;
}
