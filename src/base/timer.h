/* Timers whose delay begins when they are started, not at libuv's cached time.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* libuv caches the time at the beginning of a loop iteration. The cached time is old when the
 * process has waited outside of the loop (`retort mcp` waits a minute for its client) or has
 * worked for long. A timer started from the cached time would then expire at once. So only the
 * functions here call uv_timer_start() and uv_now(); dev/check_layers.py checks that. */

/* Return milliseconds on the clock that all libuv loops use. Source: libuv, uv_update_time() */
static inline uint64_t timer_now(void)
{
	return uv_hrtime() / 1000000;
}

/* Return how many milliseconds ago @ms was, a time of timer_now(); 0 if it is yet to come.
 * Durations are counted with this and not by hand: a callback that has read the clock before it
 * called something may find times that are later than its own, and the difference of two unsigned
 * numbers is then huge. dev/check_layers.py checks that. */
static inline uint64_t timer_since(uint64_t ms)
{
	uint64_t now = timer_now();
	return now > ms ? now - ms : 0;
}

/*
 * Call @fn in @ms from now. If @repeat_ms is not 0, call @fn again every @repeat_ms.
 *
 * libuv counts the delay of a timer from the loop's cached time, not from the present time. The
 * cached time may be old, for example 5 ms behind the present time. A delay of 3 ms would then be
 * over at once. So this function adds the age of the cached time to @ms: the timer gets a delay of
 * 8 ms, and expires in 3 ms.
 *
 * This function does not update the cached time. So if a timer callback starts a timer with @ms
 * above 0, the new timer does not expire in the same round of callbacks.
 */
static inline void timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t ms, uint64_t repeat_ms)
{
	uint64_t now = timer_now(), turn = uv_now(timer->loop);
	uint64_t late = now > turn ? now - turn : 0;
	(void)uv_timer_start(timer, fn, ms > 0 ? ms + late : 0, repeat_ms);
}

/* Return whether the caller should yield, because this iteration of the loop has lasted too
 * long. *@n_times counts the caller's successive yields. After TIMES_MAX of them the result is
 * false, so that the caller's work is not postponed forever. */
static inline bool timer_is_late(const uv_loop_t *loop, unsigned *n_times)
{
	enum { TURN_MS = 10, TIMES_MAX = 8 };
	bool is_late = timer_since(uv_now(loop)) >= TURN_MS && *n_times < TIMES_MAX;
	*n_times = is_late ? *n_times + 1 : 0;
	return is_late;
}
