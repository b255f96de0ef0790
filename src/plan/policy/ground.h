/* Whose a literal of a plan is: the user's when it stands in the request, the policy's when that
 * names it, else the planner's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The request, folded: case, space and the way numbers are written do not matter. */
struct ground {
	const struct policy *policy;
	const char *text; /* in the heap */
	size_t bytes;
	uint32_t user, by_policy, planned[KIND_TEXT + 1]; /* labels */
	double *number;					  /* those of the request, in the heap */
	size_t n_numbers;
	uint64_t numbers; /* and a bit for each, see number_bit() */
};

/*
 * @request: NULL when none is known; then no literal is the user's.
 * Owns:     the copy is in the heap @h.
 * Returns:  0, or -1 over a limit of @h or of the labels.
 */
int ground_init(struct ground *g, struct heap *h, const char *request, const struct policy *policy);

/*
 * The label of a literal: a number, a text, True or False. What the planner invented counts as any
 * value of its type, for nobody else chose it. None and what is no scalar has label 0. A NUL in a
 * text is the place of a value: it stands for one word of the request, or for what is in {braces}.
 */
uint32_t ground_label(const struct ground *g, struct val literal);

/* One of 64 for each number: of one whose bit is not in `numbers` the request says nothing. */
static inline uint64_t number_bit(double x)
{
	return UINT64_C(1) << (x > -0x1p62 && x < 0x1p62 ? (uint64_t)(int64_t)x & 63 : 63);
}

/* Does the request say it, as a word of its own? @ground: a struct ground. */
bool ground_says(const void *ground, struct val word);
