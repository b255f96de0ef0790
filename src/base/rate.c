/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rate.h"

#include "base/attr.h"

static const double minute_ns = 60e9;

uint64_t rate_take(struct rate *rate, uint64_t per_minute, uint64_t n, uint64_t now_ns)
{
	double most = (double)per_minute, wanted = MIN((double)n, most);
	double since_ns = now_ns > rate->filled_ns ? (double)(now_ns - rate->filled_ns) : 0;
	if (per_minute == 0 || n == 0)
		return 0;
	rate->left = rate->filled_ns ? MIN(most, rate->left + since_ns * most / minute_ns) : most;
	rate->filled_ns = MAX(now_ns, 1U);
	if (rate->left >= wanted) {
		rate->left -= wanted;
		return 0;
	}
	double wait_s = (wanted - rate->left) * minute_ns / most / 1e9;
	uint64_t whole_s = (uint64_t)wait_s;
	return whole_s + (wait_s > (double)whole_s || whole_s == 0);
}
