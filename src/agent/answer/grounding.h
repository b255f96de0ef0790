/* The check that the numbers of a text are grounded: that they occur in earlier output. Makes no
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GROUNDING_NUMBERS_MAX = 1000000 };

struct grounding;

/* Create an empty set of numbers. Owns: the caller, until grounding_free(). */
struct grounding *grounding_new(void);
void grounding_free(struct grounding *g);

/*
 * Remember every number of @text, also those in dates. @text is the task, or a value or an output
 * of the run.
 * Limits:  only GROUNDING_NUMBERS_MAX numbers are remembered; then grounding_is_full() returns
 * true.
 * Returns: 0, -ENOMEM.
 */
int grounding_add(struct grounding *g, const char *text, size_t bytes);
bool grounding_is_full(const struct grounding *g);

/*
 * These two functions return what a set of numbers remembers, so that it can be saved:
 * - grounding_values() returns the absolute value of each number.
 * - grounding_exact() returns the hash of the digits of each long integer. Long integers need the
 *   hash in addition to the value, because a double may not represent them exactly.
 *
 * *@n is set to the length of the array. The array is borrowed until the next number is added.
 */
const double *grounding_values(const struct grounding *g, size_t *n);
const uint64_t *grounding_exact(const struct grounding *g, size_t *n);
/* Restore a saved set of numbers. grounding_remember() adds a value that grounding_values() has
 * returned. grounding_remember_exact() adds a hash that grounding_exact() has returned. Returns:
 * 0, -ENOMEM. */
int grounding_remember(struct grounding *g, double value);
int grounding_remember_exact(struct grounding *g, uint64_t exact);

/* The place of a number that is not grounded. */
struct grounding_miss {
	size_t at, bytes;
};

/*
 * Find the numbers of @text that are not grounded. A number is grounded if a remembered number is
 * equal to it or rounds to it.
 *
 * Shape: a number may have
 * - groups of three digits: "1,234.5", "1 234.5", "1'234.5";
 * - decimals, also behind a decimal comma: "91.473,02";
 * - an exponent: "1e6", "1.23 x 10^6";
 * - a sign, which is ignored;
 * - a currency or a unit;
 * - a percent sign: "12 %" is 12 or 0.12;
 * - a scale ("1.2 million", "3k", "$4.5bn") or a unit of bytes ("1 MiB");
 * - a word such as "about": "about 1,200" is rounded at its last digit that is not zero.
 * A long integer, which a double may not represent, must be equal in every digit.
 * Not checked: dates, years, times, versions, digits within words, ordinals, code in fences,
 * numbers of list items and headings ("1. First", "Step 2").
 * Returns: how many numbers are not grounded; the first @n_max of them are in @out.
 */
size_t grounding_check(struct grounding *g, const char *text, size_t bytes,
	struct grounding_miss *out, size_t n_max);
