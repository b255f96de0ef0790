/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/rate.h"

enum { SECOND = 1000000000 };

TEST(buckets_fill_with_time)
{
	struct rate rate = {0};
	uint64_t now = SECOND;
	for (int i = 0; i < 6; i++)
		CHECK_INT(rate_take(&rate, 6, 1, now), 0);
	CHECK_INT(rate_take(&rate, 6, 1, now), 10);
	CHECK_INT(rate_take(&rate, 6, 1, now + UINT64_C(5100000000)), 5);
	CHECK_INT(rate_take(&rate, 6, 1, now + UINT64_C(10500000000)), 0);
	/* A clock that goes back gives nothing, and takes nothing away. */
	CHECK_INT(rate_take(&rate, 6, 1, now), 10);
	CHECK_INT(rate_take(&rate, 0, 1, now), 0);
	CHECK_INT(rate_take(&rate, 6, 0, now), 0);
}

TEST(buckets_give_what_they_say_when_they_say)
{
	for (uint64_t per_minute = 1; per_minute < 200; per_minute++) {
		struct rate rate = {0};
		uint64_t now = 5 * (uint64_t)SECOND;
		CHECK_INT(rate_take(&rate, per_minute, per_minute, now), 0);
		uint64_t wait_s = rate_take(&rate, per_minute, 1, now);
		CHECK(wait_s > 0 && wait_s <= 60);
		CHECK_INT(rate_take(&rate, per_minute, 1, now + wait_s * SECOND), 0);
	}
}

TEST(buckets_hold_a_minutes)
{
	struct rate rate = {0};
	CHECK_INT(rate_take(&rate, 60, 1000, SECOND), 0);
	CHECK_INT(rate_take(&rate, 60, 1000, 30 * (uint64_t)SECOND), 31);
	CHECK_INT(rate_take(&rate, 60, 29, 30 * (uint64_t)SECOND), 0);
	CHECK_INT(rate_take(&rate, 60, 1, 30 * (uint64_t)SECOND), 1);
}
