/* Numbers as people write them: sizes, durations, counts, CPUs. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* The allowed range; both bounds are included. */
struct num_range {
	uint64_t min;
	uint64_t max;
};

#define NUM_ANY ((struct num_range){0, UINT64_MAX})

/*
 * The functions num_parse_…() parse the whole of @text. It consists of digits with at most one
 * point, then at most one space, then a unit. On failure the output is unchanged.
 *
 * Shape: "512m", "1.5g", ".5", "30 s". A fraction is rounded down; its digits after the sixth are
 * ignored. A fraction of the smallest unit is refused: "1.5" would be one and a half bytes. Signs
 * and exponents are refused.
 * Errors: ERR_USAGE with a hint, when the text is malformed or outside @range.
 * Returns: 0, or negative errno.
 */

/* Parse a size. Units: b, k, m, g, t in any case ("kb" and "kib" mean k, and so on); powers of
 * 1024. Without a unit the number is in bytes. */
int num_parse_bytes(const char *text, struct num_range range, uint64_t *bytes, struct err *err);

/* Parse a duration. Units: ms, s, m or min, h. Without a unit the number is in seconds. */
int num_parse_ms(const char *text, struct num_range range, uint64_t *ms, struct err *err);

/* Parse a whole number without a unit. */
int num_parse_count(const char *text, struct num_range range, uint64_t *count, struct err *err);

/* Parse a number of CPUs; the result is in thousandths: "1.5" is 1500. */
int num_parse_cpu_milli(const char *text, struct num_range range, uint64_t *milli, struct err *err);

/*
 * A number formatted for a message, returned by value: `err_set(err, ERR_LIMIT, "over %s",
 * num_format_bytes(n).text)`.
 *
 * Sizes are rounded down to two decimals: "1.5 GiB". Durations in seconds have up to three
 * decimals: "2.125 s". num_parse_…() reads the text as the same number, unless it was rounded.
 */
struct num_text {
	char text[32];
};

struct num_text num_format_bytes(uint64_t bytes);
struct num_text num_format_ms(uint64_t ms);
struct num_text num_format_count(uint64_t count);
struct num_text num_format_cpu_milli(uint64_t milli);
