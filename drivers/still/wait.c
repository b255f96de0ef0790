/*
 * Waits with a time limit, such as poll(), futexes and timers.
 *
 * When a wait reaches its limit, the box's clock advances by the limit. A wait that an event ends
 * earlier takes no time on our clock, because its real duration varies between runs. But then a
 * program that waits for a deadline in a loop, while other events arrive all the time, would never
 * reach its deadline. So the real time of all waits for the same deadline is added up
 * (@debt), and when the sum reaches the limit, the clock advances to the deadline. As a result,
 * the clock only ever shows times that the program has asked for.
 *
 * A program states its deadlines in the time of our clocks, which the kernel does not know. So each
 * deadline is converted to a duration before the kernel is called.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "still.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

/*
 * Waits shorter than SHORT_NS advance the clock only when they add up to a second: interpreters
 * hand over their global lock by waits of a few milliseconds, and the number of these varies
 * between runs. Deadlines that differ by less than SAME_NS count as the same deadline (@debt).
 */
enum { SHORT_NS = 10 * NS_PER_MS, SAME_NS = 2 * NS_PER_MS };

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
	size_t room);

struct wait {
	bool is_timed;
	int64_t timeout_ns, from_ns, real_ns;
};

/* debt: how long this thread has really waited for the deadline that it waits for at present */
static _Thread_local struct {
	int64_t deadline_ns, waited_ns;
} debt;
static _Thread_local int64_t short_ns;

static struct wait wait_begin(int64_t timeout_ns)
{
	struct wait w = {.is_timed = timeout_ns > 0 && still_has_time(), .timeout_ns = timeout_ns};
	if (w.is_timed) {
		w.from_ns = still_slept_ns();
		w.real_ns = clock_real_ns();
	}
	return w;
}

static void wait_end(const struct wait *w, bool is_over)
{
	int64_t deadline_ns = w->from_ns + w->timeout_ns;
	if (!w->is_timed)
		return;
	if (!is_over) {
		if (llabs(debt.deadline_ns - deadline_ns) > SAME_NS)
			debt.waited_ns = 0;
		debt.deadline_ns = deadline_ns;
		debt.waited_ns += clock_real_ns() - w->real_ns;
		is_over = debt.waited_ns >= w->timeout_ns;
	}
	if (is_over) {
		still_advance_to(deadline_ns);
		debt.waited_ns = 0;
	}
}

/* ---- descriptors ---- */

static int64_t of_ms(int ms)
{
	return (int64_t)ms * NS_PER_MS;
}

static int64_t of_timespec(const struct timespec *t)
{
	return t ? ns_of(t) : -1;
}

#define WAITED(timeout_ns, call)                                                                   \
	({                                                                                         \
		struct wait wait_ = wait_begin(timeout_ns);                                        \
		int result_ = (call);                                                              \
		int saved_ = errno;                                                                \
		wait_end(&wait_, result_ == 0);                                                    \
		errno = saved_;                                                                    \
		result_;                                                                           \
	})

STAND_IN int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return WAITED(of_ms(timeout_ms), REAL(poll)(fds, n, timeout_ms));
}

STAND_IN int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room)
{
	return WAITED(of_ms(timeout_ms), REAL(__poll_chk)(fds, n, timeout_ms, room));
}

STAND_IN int ppoll(
	struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	return WAITED(of_timespec(timeout), REAL(ppoll)(fds, n, timeout, mask));
}

STAND_IN int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask, size_t room)
{
	return WAITED(of_timespec(timeout), REAL(__ppoll_chk)(fds, n, timeout, mask, room));
}

STAND_IN int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
	struct timeval *restrict timeout)
{
	int64_t ns = timeout
		? ns_of(&(struct timespec){timeout->tv_sec, timeout->tv_usec * NS_PER_US})
		: -1;
	return WAITED(ns, REAL(select)(n, in, out, except, timeout));
}

STAND_IN int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
	const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
	return WAITED(of_timespec(timeout), REAL(pselect)(n, in, out, except, timeout, mask));
}

STAND_IN int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
	return WAITED(of_ms(timeout_ms), REAL(epoll_wait)(fd, events, n, timeout_ms));
}

STAND_IN int epoll_pwait(
	int fd, struct epoll_event *events, int n, int timeout_ms, const sigset_t *mask)
{
	return WAITED(of_ms(timeout_ms), REAL(epoll_pwait)(fd, events, n, timeout_ms, mask));
}

STAND_IN int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
	const sigset_t *mask)
{
	return WAITED(of_timespec(timeout), REAL(epoll_pwait2)(fd, events, n, timeout, mask));
}

/* ---- deadlines ---- */

/*
 * Guess the clock of a deadline whose clock the caller did not name. It is the clock whose time is
 * closer to @ns.
 */
static enum clock_kind nearer_clock(int64_t ns)
{
	int64_t wall = llabs(clock_peek(CLOCK_KIND_WALL) - ns);
	int64_t steady = llabs(clock_peek(CLOCK_KIND_STEADY) - ns);
	return steady < wall ? CLOCK_KIND_STEADY : CLOCK_KIND_WALL;
}

/*
 * Return the time left until @deadline, 0 when it has passed. Units: ns. @clock is -1 if unknown.
 */
static int64_t until(const struct timespec *deadline, int clock)
{
	int64_t ns = ns_of(deadline);
	int kind = clock < 0 ? (int)nearer_clock(ns) : clock_kind(clock);
	int64_t left = kind < 0 ? ns : ns - clock_peek((enum clock_kind)kind);
	return left > 0 ? left : 0;
}

static void wait_end_short(const struct wait *w, bool is_over)
{
	if (!is_over || !w->is_timed || w->timeout_ns >= SHORT_NS) {
		wait_end(w, is_over);
		return;
	}
	short_ns += w->timeout_ns;
	if (short_ns >= NS_PER_S) {
		still_advance_to(still_slept_ns() + short_ns);
		short_ns = 0;
	}
}

/* Return the time that the clock @id of the kernel will show after @timeout_ns. */
static struct timespec real_deadline(clockid_t id, int64_t timeout_ns)
{
	struct timespec now = {0};
	(void)REAL(clock_gettime)(id, &now);
	return timespec_of(ns_of(&now) + timeout_ns);
}

/*
 * Define both forms of a function that waits for an object until a deadline. The newer form takes a
 * clock, and here it always waits on the kernel's monotonic clock. The older form takes no clock,
 * and calls the newer one. musl, and glibc before 2.30, have only the older form, which waits on
 * the kernel's wall clock.
 */
#define UNTIL(timed, clocked, object, is_over)                                                     \
	STAND_IN int clocked(                                                                      \
		object *restrict what, clockid_t clock, const struct timespec *restrict deadline)  \
	{                                                                                          \
		if (!still_has_time())                                                             \
			return REAL(clocked)(what, clock, deadline);                               \
		struct wait w = wait_begin(until(deadline, clock));                                \
		clockid_t id = REAL(clocked) ? CLOCK_MONOTONIC : CLOCK_REALTIME;                   \
		struct timespec real = real_deadline(id, w.timeout_ns);                            \
		int r = REAL(clocked) ? REAL(clocked)(what, id, &real) : REAL(timed)(what, &real); \
		int saved = errno;                                                                 \
		wait_end_short(&w, is_over);                                                       \
		errno = saved;                                                                     \
		return r;                                                                          \
	}                                                                                          \
	STAND_IN int timed(object *restrict what, const struct timespec *restrict deadline)        \
	{                                                                                          \
		return still_has_time() ? clocked(what, -1, deadline)                              \
					: REAL(timed)(what, deadline);                             \
	}

UNTIL(sem_timedwait, sem_clockwait, sem_t, r < 0 && saved == ETIMEDOUT)
UNTIL(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_t, r == ETIMEDOUT)
UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_t, r == ETIMEDOUT)
UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_t, r == ETIMEDOUT)

STAND_IN int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
	clockid_t clock, const struct timespec *restrict deadline)
{
	if (!still_has_time())
		return REAL(pthread_cond_clockwait)(cond, mutex, clock, deadline);
	struct wait w = wait_begin(until(deadline, clock));
	/* The older form waits on the condition's own clock, for which the deadline was made. */
	bool is_wall =
		!REAL(pthread_cond_clockwait) && nearer_clock(ns_of(deadline)) == CLOCK_KIND_WALL;
	clockid_t id = is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct timespec real = real_deadline(id, w.timeout_ns);
	int r = REAL(pthread_cond_clockwait) ? REAL(pthread_cond_clockwait)(cond, mutex, id, &real)
					     : REAL(pthread_cond_timedwait)(cond, mutex, &real);
	wait_end_short(&w, r == ETIMEDOUT);
	return r;
}

STAND_IN int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
	const struct timespec *restrict deadline)
{
	return still_has_time() ? pthread_cond_clockwait(cond, mutex, -1, deadline)
				: REAL(pthread_cond_timedwait)(cond, mutex, deadline);
}

/*
 * Convert a timer with an absolute time to one with a duration. The duration is at least 1 ns,
 * because 0 would disarm the timer.
 */
static struct itimerspec as_timer_for(const struct itimerspec *when)
{
	struct itimerspec out = *when;
	int64_t ns = until(&when->it_value, -1);
	out.it_value = timespec_of(ns > 0 ? ns : 1);
	return out;
}

static bool is_deadline(const struct itimerspec *when, int flags)
{
	return still_has_time() && (flags & TIMER_ABSTIME) && when &&
		(when->it_value.tv_sec || when->it_value.tv_nsec);
}

STAND_IN int timerfd_settime(
	int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	if (!is_deadline(when, flags))
		return REAL(timerfd_settime)(fd, flags, when, before);
	struct itimerspec relative = as_timer_for(when);
	return REAL(timerfd_settime)(fd, 0, &relative, before);
}

STAND_IN int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict when,
	struct itimerspec *restrict before)
{
	if (!is_deadline(when, flags))
		return REAL(timer_settime)(timer, flags, when, before);
	struct itimerspec relative = as_timer_for(when);
	return REAL(timer_settime)(timer, 0, &relative, before);
}

/* ---- system calls by number: some standard libraries call syscall() instead of libc ---- */

/* FUTEX_WAIT_BITSET with an absolute time, as Rust's standard library waits */
static long futex_until(const long *a)
{
	const struct timespec *deadline = (const struct timespec *)(uintptr_t)a[3];
	struct wait w = wait_begin(
		until(deadline, (a[1] & FUTEX_CLOCK_REALTIME) ? CLOCK_REALTIME : CLOCK_MONOTONIC));
	struct timespec real = timespec_of(clock_real_ns() + w.timeout_ns);
	long op = a[1] & ~(long)FUTEX_CLOCK_REALTIME;
	long r = REAL(syscall)(SYS_futex, a[0], op, a[2], &real, a[4], a[5]);
	int saved = errno;
	wait_end_short(&w, r < 0 && saved == ETIMEDOUT);
	errno = saved;
	return r;
}

static bool is_futex_until(long number, const long *a)
{
	return number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && a[3];
}

STAND_IN long syscall(long number, ...)
{
	long a[6];
	va_list ap;
	va_start(ap, number);
	/* Read six arguments, however many the caller passed, as libc's syscall() does. */
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_getrandom && still_has_seed()) {
		still_fill((void *)(uintptr_t)a[0], (size_t)a[1]);
		return a[1];
	}
	if (number == SYS_clock_gettime && still_has_time())
		return clock_gettime((clockid_t)a[0], (struct timespec *)(uintptr_t)a[1]);
	if (number == SYS_gettimeofday && still_has_time())
		return gettimeofday((struct timeval *)(uintptr_t)a[0], (void *)(uintptr_t)a[1]);
	if (is_futex_until(number, a) && still_has_time())
		return futex_until(a);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
