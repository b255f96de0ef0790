/* Times by the clock of the loops. SPDX-License-Identifier: Apache-2.0 */
#include "base/timer.h"

#include "t.h"

TEST(a_time_that_is_yet_to_come_is_no_time_ago)
{
	CHECK_INT(timer_since(timer_now() + 60000), 0);
	CHECK_INT(timer_since(UINT64_MAX), 0);
}

TEST(a_time_that_has_passed)
{
	uint64_t began_ms = timer_now(), since_ms = timer_since(began_ms - 1000);
	CHECK(since_ms >= 1000);
	CHECK(since_ms <= 1000 + timer_since(began_ms));
}
