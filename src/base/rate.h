/* So many in a minute: a token bucket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* It fills all the time, and holds what a minute allows. Starts as zeros, full. */
struct rate {
	double left;
	uint64_t filled_ns; /* when; 0: never */
};

/*
 * Take @n of the @per_minute that are allowed (0: any number); more than a minute's at once take
 * all of it. @now_ns: of uv_hrtime(). Returns: 0; or in how many seconds there are enough, and
 * nothing is taken.
 */
uint64_t rate_take(struct rate *rate, uint64_t per_minute, uint64_t n, uint64_t now_ns);
