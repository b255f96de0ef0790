/* Does every number of a text come from what was computed? No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROUNDING_NUMBERS_MAX = 1 << 20, GROUNDING_LONG_MAX = 1 << 16 };

/* The numbers of values and outputs. Done with grounding_done(). */
struct grounding {
	double *values;
	uint64_t *longs; /* digits of numbers that no double holds */
	size_t n_values, room, n_longs;
	bool is_sorted;
	bool is_full; /* there were more than are kept: what is not found may have been among them
		       */
};

/* A place in the text whose number comes from nowhere. */
struct grounding_gap {
	size_t at, bytes;
};

void grounding_done(struct grounding *g);

/*
 * Take in what a step printed or gave, or what the user wrote: each number of it, in every way it
 * can be read. Limits:  GROUNDING_NUMBERS_MAX; then is_full. Returns: 0, -ENOMEM.
 */
int grounding_add(struct grounding *g, const char *text, size_t bytes);

/*
 * Look at each number of @text that says how much of something: it is grounded when a number that
 * was taken in rounds to it, in one of the ways to read it. A number without a sign may come from
 * one below zero: "a loss of 5". Code between fences does not count. Returns: how many are not
 * grounded; the first @max of them in @gaps.
 */
size_t grounding_check(struct grounding *g, const char *text, size_t bytes,
	struct grounding_gap *gaps, size_t max);
