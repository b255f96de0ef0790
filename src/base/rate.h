/* A limit per minute, as a token bucket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A token bucket. It holds at most the tokens of one minute, and fills at a constant rate. A
 * struct of zeros is a full bucket. */
struct rate {
	double left;
	uint64_t filled_ns; /* time of the last rate_take(); 0 before the first */
};

/*
 * Take @n tokens from a bucket that gets @per_minute tokens per minute (0: unlimited). If @n is
 * more than @per_minute, take @per_minute. @now_ns is the time from uv_hrtime().
 * Returns: 0 if the tokens were taken. Otherwise nothing is taken, and the result is the time in
 * seconds until the bucket has enough.
 */
uint64_t rate_take(struct rate *rate, uint64_t per_minute, uint64_t n, uint64_t now_ns);
