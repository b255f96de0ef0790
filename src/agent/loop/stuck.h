/* Does the model do the same again and again? No system call. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How often the same code with the same end makes it what. */
enum { STUCK_HINT = 2, STUCK_REPLAN = 3, STUCK_STOP = 4, STUCK_SEEN_MAX = 256 };

/* Starts as zeros. */
struct stuck {
	struct {
		uint64_t hash;
		unsigned n;
	} seen[STUCK_SEEN_MAX]; /* a ring */
	size_t n, next;
};

/*
 * Note one more step.
 * Shape:   @code counts without white space and comments; @end is how the step ended: of an error
 *          its name, what it says and its line, of a success what it gave.
 * Limits:  the last STUCK_SEEN_MAX different ones are remembered.
 * Returns: how often that has been, with this one.
 */
unsigned stuck_note(struct stuck *s, const char *code, size_t bytes, const char *end);
