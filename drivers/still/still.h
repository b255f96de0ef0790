/*
 * still.so makes time and random numbers reproducible in a run with --seed or --time. These are
 * the declarations its parts share.
 *
 * The library is preloaded (LD_PRELOAD) into every program of such a run and replaces functions
 * of libc. Its settings are in an environment variable:
 *
 *   RETORT_STILL=KEY:START:SLEPT
 *
 *   KEY    key of this program's random stream, 16 hexadecimal digits; "-": real random numbers
 *   START  initial time of the wall clock, in nanoseconds since 1970
 *   SLEPT  time that has passed on the shared clock of the box, in nanoseconds
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

/* Return the libc function that @name replaces, or NULL if this libc lacks it. */
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

/*
 * Return whether the clocks are replaced (_time), and whether random numbers and the order of
 * directory entries are (_seed).
 */
bool still_has_time(void);
bool still_has_seed(void);

/* The initial time of the wall clock. Units: ns since 1970. */
int64_t still_start_ns(void);

/*
 * Called by drivers, which find them with dlsym(). _step: a step of a session begins. _branch: this
 * process now runs in another box.
 */
STAND_IN void retort_still_step(void);
STAND_IN void retort_still_branch(void);

/* The environment variables of the settings, and the size of the text "RETORT_STILL=…". */
#define STILL_VARIABLE "RETORT_STILL="
#define STILL_PRELOAD  "LD_PRELOAD="
enum { STILL_TEXT_BYTES = 96 };

/* Write the settings for the next child, as a text for its environment. */
void still_write_orders(char text[STILL_TEXT_BYTES]);

/* Do so in this process's own environment. */
void still_renew_orders(void);

/* Return the text "LD_PRELOAD=PATH", where PATH is this library. */
char *still_preload(void);

/* Fill @out from this process's random stream. May be called in threads and in signal handlers. */
void still_fill(void *out, size_t bytes);

/*
 * The shared clock of the box: the time that its programs have slept or waited so far. Units: ns.
 * still_advance_to() never moves it back. So two programs that sleep for a second at the same time
 * advance it by one second, not by two.
 */
int64_t still_slept_ns(void);
void still_advance_to(int64_t slept_ns);

/* The kinds of clocks. Each keeps its own ticks. */
enum clock_kind { CLOCK_KIND_WALL, CLOCK_KIND_STEADY, CLOCK_KIND_CPU, CLOCK_KIND_END_ };

/* Return the kind of clock @id as an enum clock_kind, or -1 if this clock is not replaced. */
int clock_kind(clockid_t id);

/* Return the time of a clock. clock_read() adds a tick to it, clock_peek() does not. Units: ns. */
int64_t clock_read(enum clock_kind kind);
int64_t clock_peek(enum clock_kind kind);

/* Return the kernel's monotonic clock. Units: ns. */
int64_t clock_real_ns(void);

int64_t ns_of(const struct timespec *t);
struct timespec timespec_of(int64_t ns);
