/* Detection of a model that repeats itself. Makes no system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * What the loop does when the same code has ended in the same way this often:
 * STUCK_HINT: the loop gives the model a hint.
 * STUCK_REPLAN: the loop demands a new plan from the model.
 * STUCK_STOP: the loop ends.
 *
 * STUCK_SEEN_MAX: maximum number of steps in a struct stuck.
 */
enum { STUCK_HINT = 2, STUCK_REPLAN = 3, STUCK_STOP = 4, STUCK_SEEN_MAX = 256 };

/* The last different steps of a loop. Each new step is compared with them, to detect a model
 * that repeats itself. A struct of zeros contains no steps. */
struct stuck {
	struct {
		uint64_t hash;
		unsigned n;
	} seen[STUCK_SEEN_MAX]; /* a ring buffer */
	size_t n, next;
};

/*
 * Record a step, and return how often the same step has occurred, including this time. Two steps
 * are the same if their code is equal apart from white space and comments, and if their @end is
 * equal. @end is a text that describes how the step ended: the name, message and line of the error,
 * and the output.
 * Limits:  the last STUCK_SEEN_MAX different steps are remembered.
 */
unsigned stuck_note(struct stuck *s, const char *code, size_t bytes, const char *end);
