/* Literal grounding: the origin of a literal in a plan. It is the user's if the request contains
 * the literal, the policy's if the policy names it, else the planner's. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The request, folded: case, runs of spaces and spellings of numbers do not matter. */
struct ground {
	const struct policy *policy;
	const char *text; /* in the heap */
	size_t bytes;
	uint32_t user, by_policy, planned[KIND_TEXT + 1]; /* labels; planned: by kind */
	double *number; /* the numbers of the request, in the heap */
	size_t n_numbers;
	uint64_t numbers; /* a Bloom filter of them, see number_bit() */
};

/*
 * @request: NULL: unknown, so that no literal is the user's.
 * Owns:     the copy is in the heap @h.
 * Returns:  0, or -1 over a limit of @h or of the labels.
 */
int ground_init(struct ground *g, struct heap *h, const char *request, const struct policy *policy);

/*
 * The label of a literal: a number, a text, True or False. A literal that the planner invented has
 * the origin "plan" and the kind of its type. None and containers have label 0. A NUL in a text
 * marks the place of a value in an f-string: it matches one word of the request, or {text in
 * braces}.
 */
uint32_t ground_label(const struct ground *g, struct val literal);

/* One of 64 bits for each number. If it is not in `numbers`, the request lacks the number. */
static inline uint64_t number_bit(double x)
{
	return UINT64_C(1) << (x > -0x1p62 && x < 0x1p62 ? (uint64_t)(int64_t)x & 63 : 63);
}

/* Does the request contain @word as a word of its own? @ground: a struct ground. */
bool ground_says(const void *ground, struct val word);
