/*
 * The clocks of a run with --seed or --time.
 *
 * Each clock shows a base plus its own ticks. The base is the start time (wall clock) or a
 * constant (steady clock), plus the time that has passed on the clock that the box shares
 * (still_slept_ns()). The shared time moves only when a program sleeps or a wait reaches its
 * time limit (wait.c), and advances by exactly the time that the program asked for. Every reading
 * of a clock adds a tick of one microsecond. So no program reads the same time twice, and a loop
 * that reads the clock until a given time does end. When a step of a session begins, each clock
 * moves on to its next tenth of a second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

enum { TICK_NS = NS_PER_US, STEADY_START_S = 100000, STEP_NS = 100 * NS_PER_MS };

static _Atomic int64_t ticks_ns[CLOCK_KIND_END_];

int64_t ns_of(const struct timespec *t)
{
	int64_t ns;
	if (__builtin_mul_overflow(t->tv_sec, NS_PER_S, &ns) ||
		__builtin_add_overflow(ns, t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	return ns;
}

struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* Return the time that a clock shows, without its ticks. */
static int64_t base_ns(enum clock_kind kind)
{
	if (kind == CLOCK_KIND_CPU)
		return 0;
	return still_slept_ns() +
		(kind == CLOCK_KIND_WALL ? still_start_ns() : (int64_t)STEADY_START_S * NS_PER_S);
}

int64_t clock_peek(enum clock_kind kind)
{
	return base_ns(kind) + atomic_load(&ticks_ns[kind]);
}

int64_t clock_read(enum clock_kind kind)
{
	return base_ns(kind) + atomic_fetch_add(&ticks_ns[kind], TICK_NS);
}

/*
 * Note that a step of a session begins. The number of clock readings since the last step varies
 * between runs, and so do the ticks. Moving each clock on to its next tenth of a second makes all
 * runs agree again.
 */
void retort_still_step(void)
{
	for (int kind = 0; still_has_time() && kind < CLOCK_KIND_END_; kind++) {
		int64_t now = atomic_load(&ticks_ns[kind]);
		atomic_store(&ticks_ns[kind], now - now % STEP_NS + STEP_NS);
	}
}
