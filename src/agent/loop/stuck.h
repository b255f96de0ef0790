/* Detection of a model that repeats itself. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of repetitions of the same code with the same end at which the loop gives a hint,
 * advises a new plan, or stops. STUCK_SEEN_MAX: the number of steps remembered. */
enum { STUCK_HINT = 2, STUCK_REPLAN = 3, STUCK_STOP = 4, STUCK_SEEN_MAX = 256 };

/* The steps so far. Initialized with zeros. */
struct stuck {
	struct {
		uint64_t hash;
		unsigned n;
	} seen[STUCK_SEEN_MAX]; /* a ring */
	size_t n, next;
};

/*
 * Record a step, and count its occurrences.
 * Shape:   @code is compared without white space and comments; @end is how the step ended: for an
 *          error its name, message and line, for a success its output.
 * Limits:  the last STUCK_SEEN_MAX different steps are remembered.
 * Returns: how often this step has occurred, including now.
 */
unsigned stuck_note(struct stuck *s, const char *code, size_t bytes, const char *end);
