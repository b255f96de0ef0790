/*
 * The functions of libc that read clocks, and those that sleep. ticks.c explains what clocks show.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

enum { TICKS_PER_S = 100, TAI_S = 37 };

int clock_kind(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		return CLOCK_KIND_WALL;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		return CLOCK_KIND_STEADY;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		return CLOCK_KIND_CPU;
	/*
	 * A negative id is the CPU clock of a process or thread, unless the low two bits are 3:
	 * these ids are clock devices, which are not replaced.
	 */
	default:
		return id < 0 && (id & 3) != 3 ? CLOCK_KIND_CPU : -1;
	}
}

int64_t clock_real_ns(void)
{
	struct timespec now = {0};
	(void)REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
	return ns_of(&now);
}

/* ---- reading ---- */

STAND_IN int clock_gettime(clockid_t id, struct timespec *out)
{
	int kind = clock_kind(id);
	if (!still_has_time() || kind < 0)
		return REAL(clock_gettime)(id, out);
	*out = timespec_of(clock_read((enum clock_kind)kind));
	out->tv_sec += id == CLOCK_TAI ? TAI_S : 0;
	return 0;
}

STAND_IN int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	if (!still_has_time())
		return REAL(gettimeofday)(out, zone);
	if (zone)
		*(struct timezone *)zone = (struct timezone){0};
	int64_t ns = clock_read(CLOCK_KIND_WALL);
	*out = (struct timeval){.tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US};
	return 0;
}

STAND_IN time_t time(time_t *out)
{
	if (!still_has_time())
		return REAL(time)(out);
	time_t now = clock_read(CLOCK_KIND_WALL) / NS_PER_S;
	if (out)
		*out = now;
	return now;
}

STAND_IN int timespec_get(struct timespec *out, int base)
{
	if (!still_has_time() || base != TIME_UTC)
		return REAL(timespec_get)(out, base);
	*out = timespec_of(clock_read(CLOCK_KIND_WALL));
	return base;
}

STAND_IN clock_t clock(void)
{
	if (!still_has_time())
		return REAL(clock)();
	return clock_read(CLOCK_KIND_CPU) / (NS_PER_S / CLOCKS_PER_SEC);
}

STAND_IN clock_t times(struct tms *out)
{
	if (!still_has_time())
		return REAL(times)(out);
	if (out)
		*out = (struct tms){
			.tms_utime = clock_read(CLOCK_KIND_CPU) / (NS_PER_S / TICKS_PER_S)};
	return clock_read(CLOCK_KIND_STEADY) / (NS_PER_S / TICKS_PER_S);
}

STAND_IN int getrusage(__rusage_who_t who, struct rusage *out)
{
	int r = REAL(getrusage)(who, out);
	if (r < 0 || !still_has_time())
		return r;
	int64_t ns = who == RUSAGE_CHILDREN ? 0 : clock_read(CLOCK_KIND_CPU);
	out->ru_utime = (struct timeval){ns / NS_PER_S, ns % NS_PER_S / NS_PER_US};
	out->ru_stime = (struct timeval){0};
	return r;
}

/* ---- sleeping: sleep in reality, then advance the shared time by what was asked for ---- */

/*
 * Sleep for @ns. Returns: 0, or an error number. When a signal ends the sleep early, *@left_ns is
 * the time that was left.
 */
static int sleep_ns(int64_t ns, int64_t *left_ns)
{
	struct timespec want = timespec_of(ns), left = {0};
	int64_t from = still_slept_ns();
	if (REAL(nanosleep)(&want, &left) < 0) {
		*left_ns = ns_of(&left);
		still_advance_to(from + ns - *left_ns);
		return errno;
	}
	still_advance_to(from + ns);
	return 0;
}

static bool is_time(const struct timespec *t)
{
	return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < NS_PER_S;
}

STAND_IN int nanosleep(const struct timespec *want, struct timespec *left)
{
	int64_t left_ns = 0;
	if (!still_has_time() || !is_time(want))
		return REAL(nanosleep)(want, left);
	int error = sleep_ns(ns_of(want), &left_ns);
	if (error == 0)
		return 0;
	if (left)
		*left = timespec_of(left_ns);
	errno = error;
	return -1;
}

STAND_IN int clock_nanosleep(
	clockid_t id, int flags, const struct timespec *want, struct timespec *left)
{
	int64_t left_ns = 0;
	int kind = clock_kind(id);
	bool is_ours = still_has_time() && kind >= 0 && kind != CLOCK_KIND_CPU && is_time(want);
	if (!is_ours)
		return REAL(clock_nanosleep)(id, flags, want, left);
	bool is_until = flags & TIMER_ABSTIME;
	int64_t ns = ns_of(want) - (is_until ? clock_peek((enum clock_kind)kind) : 0);
	int saved = errno;
	int error = ns > 0 || !is_until ? sleep_ns(ns, &left_ns) : 0;
	if (error != 0 && left && !is_until)
		*left = timespec_of(left_ns);
	errno = saved;
	return error;
}

STAND_IN unsigned sleep(unsigned seconds)
{
	int64_t left_ns = 0;
	if (!still_has_time())
		return REAL(sleep)(seconds);
	return sleep_ns((int64_t)seconds * NS_PER_S, &left_ns) == 0
		? 0
		: (unsigned)((left_ns + NS_PER_S / 2) / NS_PER_S);
}

STAND_IN int usleep(useconds_t us)
{
	const struct timespec want = timespec_of((int64_t)us * NS_PER_US);
	return nanosleep(&want, NULL);
}
