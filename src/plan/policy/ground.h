/* Literal grounding: find the origin of a literal in a plan. The origin is the user if the request
 * contains the literal, the policy if the policy names it, otherwise the planner.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The folded request: comparisons ignore case, runs of spaces and spellings of numbers. */
struct ground {
	const struct policy *policy;
	const char *text; /* text of the folded request, in the heap */
	size_t bytes;
	uint32_t user, by_policy, planned[KIND_TEXT + 1]; /* labels; planned[] is by kind */
	double *number;					  /* numbers in the request, in the heap */
	size_t n_numbers;
	uint64_t numbers; /* Bloom filter of the numbers, see number_bit() */
};

/*
 * @request: NULL if unknown: then no literal is the user's.
 * Owns:     the folded copy is in the heap @h.
 * Returns:  0; -1 if a limit of @h or of the labels is exceeded.
 */
int ground_init(struct ground *g, struct heap *h, const char *request, const struct policy *policy);

/*
 * Return the label of a literal: a number, a text, True or False. A literal that the planner
 * invented has the origin "plan" and the kind of its type. The label of None is 0. In the text of
 * an f-string, a NUL is a placeholder for a value: the NUL matches one word of the request, or
 * {text in braces}.
 */
uint32_t ground_label(const struct ground *g, struct val literal);

/* Return the bit of a number in the Bloom filter `numbers`. If the bit is not set in the filter,
 * the request does not contain the number. */
static inline uint64_t number_bit(double x)
{
	return UINT64_C(1) << (x > -0x1p62 && x < 0x1p62 ? (uint64_t)(int64_t)x & 63 : 63);
}

/* Does the request contain @word as a separate word? @ground is a struct ground. */
bool ground_says(const void *ground, struct val word);
