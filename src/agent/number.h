/* Numbers as people and programs write them in text. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_READINGS_MAX = 8, NUMBER_EXACT_DIGITS = 15 };

/* One way to understand it: "1,234" is 1234, or 1.234 where a comma is a point. */
struct reading {
	double value;
	double unit; /* of its last digit: 0.01 for 1.25 */
};

struct number {
	size_t at, bytes; /* where it stands, with its sign and what scales it */
	struct reading readings[NUMBER_READINGS_MAX];
	size_t n_readings;
	bool has_sign;	 /* a minus */
	bool is_claim;	 /* says how much of something: no date, time, ordinal, version or label */
	uint64_t digits; /* of more than NUMBER_EXACT_DIGITS, all of them as one word; else 0 */
};

/*
 * Find the next number from *@at on, and go behind it.
 *
 * Shape:   1,234.5 · 1.234,5 · 1'234 · 1_234 · 1 234 with a space that does not break · -5 · 1.2e5
 * · 1.2 × 10^5 · 12 % (also 0.12) · 1.2 million, 3k, 5 GB, 2 km (also what they stand for). What is
 * part of a word ("v2", "3f9a") is none. Returns: false when there is none left.
 */
bool number_next(const char *text, size_t bytes, size_t *at, struct number *out);
