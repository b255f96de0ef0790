/* A limit per minute: a token bucket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A token bucket. It fills continuously up to a minute's allowance. All zeros: a full bucket. */
struct rate {
	double left;
	uint64_t filled_ns; /* time of the last rate_take(); 0: never called */
};

/*
 * Take @n of the @per_minute that are allowed (0: unlimited); a request for more than a minute's
 * allowance takes all of it. @now_ns: of uv_hrtime().
 * Returns: 0; or the seconds until enough is available, and nothing is taken.
 */
uint64_t rate_take(struct rate *rate, uint64_t per_minute, uint64_t n, uint64_t now_ns);
