/*
 * What a run with --seed or --time sees of chance and time: shared by the parts of still.so.
 *
 * The library is loaded before every program of such a run (LD_PRELOAD) and stands in for functions
 * of libc. Its orders come in the variable RETORT_STILL=KEY:START:SLEPT
 *   KEY    16 hexadecimal digits, where this program's random stream begins; "-": chance is real
 *   START  what the clock shows first, nanoseconds since 1970
 *   SLEPT  nanoseconds that have passed on the box's clock
 * Without the variable, or with one that is not so, everything is as in libc.
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

/* The function of libc that @name stands in for; NULL where this libc has none. */
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

/* Is the clock ours? Is chance, and the order of directories? */
bool still_has_time(void);
bool still_has_seed(void);

/* What the clock shows first. Units: ns since 1970. */
int64_t still_start_ns(void);

/*
 * For drivers, which look for them by name: a step of a session begins; the process has become
 * that of another box.
 */
STAND_IN void retort_still_step(void);
STAND_IN void retort_still_branch(void);

/* Fill @out from the random stream of this process. Safe in threads and signal handlers. */
void still_fill(void *out, size_t bytes);

/*
 * What has passed on the clock that all programs of the box share, and setting it forward: never
 * backward, so that two who sleep at the same time do not sleep one after the other.
 * Units: ns.
 */
int64_t still_slept_ns(void);
void still_advance_to(int64_t slept_ns);

/* The clocks. Reading one is what makes it tick. */
enum clock_kind { CLOCK_KIND_WALL, CLOCK_KIND_STEADY, CLOCK_KIND_CPU, CLOCK_KIND_END_ };

/* Returns: an enum clock_kind, or -1 for a clock that is left to the kernel. */
int clock_kind(clockid_t id);

/* Units: ns. Peeking does not make it tick. */
int64_t clock_read(enum clock_kind kind);
int64_t clock_peek(enum clock_kind kind);

/* The kernel's steady clock. Units: ns. */
int64_t clock_real_ns(void);

int64_t ns_of(const struct timespec *t);
struct timespec timespec_of(int64_t ns);
