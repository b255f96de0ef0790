/* Literal grounding: find the origin of a literal in a plan. The origin is the user if the request
 * contains the literal, the policy if the policy names it, otherwise the planner.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/* The user's request, prepared for the search for literals. A comparison ignores case, runs of
 * spaces and the spelling of numbers. */
struct ground {
	const struct policy *policy;
	const char *text; /* the folded request, in the heap */
	size_t bytes;
	/* The labels of literals. `user`: the request contains the literal. `by_policy`: the
	 * policy names it. planned[k]: the planner invented it, and its kind is k. */
	uint32_t user, by_policy, planned[KIND_TEXT + 1];
	double *number; /* numbers in the request; the array is in the heap */
	size_t n_numbers;
	uint64_t numbers; /* Bloom filter of the array `number`, see number_bit() */
};

/*
 * Prepare the user's request for the search for literals. If @request is NULL, the request is
 * unknown, and no literal gets the user's origin.
 * Owns:    the heap @h contains a copy of the request in lower case, with single spaces.
 * Returns: 0; -1 if a limit of @h or of the labels is exceeded.
 */
int ground_init(struct ground *g, struct heap *h, const char *request, const struct policy *policy);

/*
 * Return the label of a literal in a plan: a number, a text, True or False. A literal that the
 * planner invented has the origin "plan" and the kind of its type. None has the label 0.
 *
 * For an f-string, @literal is the text of the f-string with a NUL byte in place of each value:
 * "Dear \0!" for f"Dear {name}!". The user's request is searched for this text. A NUL byte matches
 * any one word of the request, such as "Ann", or any text in braces, such as "{first name}".
 */
uint32_t ground_label(const struct ground *g, struct val literal);

/* Return the bit of the number @x in the Bloom filter `numbers`. If this bit is not set in the
 * filter, the request does not contain the number. */
static inline uint64_t number_bit(double x)
{
	return UINT64_C(1) << (x > -0x1p62 && x < 0x1p62 ? (uint64_t)(int64_t)x & 63 : 63);
}

/* Return whether the request contains @word as a separate word. @ground points to a struct
 * ground. */
bool ground_says(const void *ground, struct val word);
