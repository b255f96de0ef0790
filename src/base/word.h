/* The word somebody meant. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { WORD_MAX_BYTES = 64 };

/*
 * How many letters were added, left out, exchanged or swapped with their neighbour.
 * Limits:  words over WORD_MAX_BYTES are as far apart as the longer is long.
 * Source:  "optimal string alignment", Damerau 1964.
 */
size_t word_distance(const char *a, const char *b);

/*
 * Look for the nearest of many: start with WORD_NEAR(word), word_near_try() each candidate, read
 * `best`, which is NULL when none is near enough to name. What a word is the beginning of counts
 * as near. The first of equals wins.
 *
 * Owns:    nothing; `best` is one of the candidates.
 */
struct word_near {
	const char *word;
	const char *best;
	size_t distance;
};

#define WORD_NEAR(w) ((struct word_near){.word = (w)})

void word_near_try(struct word_near *near, const char *candidate);
