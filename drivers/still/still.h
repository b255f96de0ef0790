/*
 * still.so makes time and random numbers reproducible in a run with --seed or --time. These are
 * the declarations its parts share.
 *
 * The library is preloaded (LD_PRELOAD) into every program of such a run and replaces functions
 * of libc. Its settings come in the variable
 *
 *   RETORT_STILL=KEY:START:SLEPT
 *
 *   KEY    16 hexadecimal digits, the start of this program's random stream; "-": real random
 * numbers START  the initial time of the clock, nanoseconds since 1970 SLEPT  nanoseconds that have
 * passed on the clock of the box
 *
 * Without the variable, or with an invalid value, everything is as in libc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define STAND_IN __attribute__((visibility("default")))

/* The libc function that @name replaces; NULL if this libc lacks it. */
#define REAL(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) real_;                                                      \
		void *found_ = atomic_load_explicit(&real_, memory_order_relaxed);                 \
		if (!found_) {                                                                     \
			found_ = dlsym(RTLD_NEXT, #name);                                          \
			atomic_store_explicit(&real_, found_, memory_order_relaxed);               \
		}                                                                                  \
		(typeof(&(name)))found_;                                                           \
	})

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* Is the clock replaced? Are random numbers and the order of directories? */
bool still_has_time(void);
bool still_has_seed(void);

/* The initial time. Units: ns since 1970. */
int64_t still_start_ns(void);

/*
 * Drivers look these up by name. _step: a step of a session begins. _branch: this process now
 * runs in another box.
 */
STAND_IN void retort_still_step(void);
STAND_IN void retort_still_branch(void);

/* Fill @out from this process's random stream. Safe in threads and signal handlers. */
void still_fill(void *out, size_t bytes);

/*
 * The time that has passed on the clock that all programs of the box share, and advancing it. It
 * never moves back, so two programs that sleep at the same time do not add up. Units: ns.
 */
int64_t still_slept_ns(void);
void still_advance_to(int64_t slept_ns);

/* The clocks. Reading a clock makes it tick. */
enum clock_kind { CLOCK_KIND_WALL, CLOCK_KIND_STEADY, CLOCK_KIND_CPU, CLOCK_KIND_END_ };

/* Returns: an enum clock_kind, or -1 for a clock that is not replaced. */
int clock_kind(clockid_t id);

/* Units: ns. clock_peek() does not make the clock tick. */
int64_t clock_read(enum clock_kind kind);
int64_t clock_peek(enum clock_kind kind);

/* The kernel's monotonic clock. Units: ns. */
int64_t clock_real_ns(void);

int64_t ns_of(const struct timespec *t);
struct timespec timespec_of(int64_t ns);
