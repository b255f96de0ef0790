/* The check that the numbers of a text are grounded: that they occur in earlier output. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GROUNDING_NUMBERS_MAX = 1000000 };

struct grounding;

/* Create an empty set of numbers. Owns: the caller ends it with grounding_free(). Returns: NULL
 * without memory. */
struct grounding *grounding_new(void);
void grounding_free(struct grounding *g);

/*
 * Remember every number of @text: a value, an output, the task itself. Numbers in dates are
 * remembered, too.
 * Limits:  the first GROUNDING_NUMBERS_MAX; is_full() from then on.
 * Returns: 0, -ENOMEM.
 */
int grounding_add(struct grounding *g, const char *text, size_t bytes);
bool grounding_is_full(const struct grounding *g);

/* Return the remembered values, without sign; return the hashes of long integers. Borrowed until
 * the next number is added. */
const double *grounding_values(const struct grounding *g, size_t *n);
const uint64_t *grounding_exact(const struct grounding *g, size_t *n);
/* Remember a value or a hash that another grounding returned. Returns: 0, -ENOMEM. */
int grounding_remember(struct grounding *g, double value);
int grounding_remember_exact(struct grounding *g, uint64_t exact);

/* The place of an ungrounded number in the text. */
struct grounding_miss {
	size_t at, bytes;
};

/*
 * Find the numbers of @text that are not grounded: no remembered number is equal or rounds to them.
 *
 * Shape:   digits in groups of three ("1,234.5", "1 234.5", "1'234.5"), decimals, exponents, a
 *          sign, a currency or unit beside them; "12 %" is 12 or 0.12; "1.2 million", "3k",
 *          "$4.5bn" with their scale; "about 1,200" is rounded at its last digit that is not zero.
 *          The sign is ignored: a fall by 3 is a change of -3. "1.23 x 10^6", "91.473,02", and
 *          units of bytes ("1 MiB"). Integers that a double cannot hold must be equal in every
 *          digit. Not checked: dates, years, times, versions, digits within words, ordinals, code
 *          in fences, numbers of lists and of headings ("1. First", "Step 2").
 * Returns: how many; the first @n_max of them are in @out.
 */
size_t grounding_check(struct grounding *g, const char *text, size_t bytes,
	struct grounding_miss *out, size_t n_max);
