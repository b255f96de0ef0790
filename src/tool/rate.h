/* So many in a minute. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A bucket that fills all the time, and holds a minute's. Starts as zeros, full. */
struct rate {
	double left;
	uint64_t filled_ns; /* when; 0: never */
};

/*
 * Take one of @per_minute (0: any number). @now_ns: of uv_hrtime().
 * Returns: 0, or in how many seconds there is one.
 */
uint64_t rate_take(struct rate *rate, uint64_t per_minute, uint64_t now_ns);
