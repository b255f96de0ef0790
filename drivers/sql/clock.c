/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include "../still/still.h"

#include <errno.h>
#include <sqlite3.h>

/* SQLite counts milliseconds since noon in Greenwich on November 24, 4714 BC. */
static const int64_t epoch_ms = INT64_C(210866760000000), day_ms = INT64_C(86400000);

static int now_ms(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
	(void)vfs;
	*out = epoch_ms + clock_read(CLOCK_KIND_WALL) / NS_PER_MS;
	return SQLITE_OK;
}

static int now_days(sqlite3_vfs *vfs, double *out)
{
	sqlite3_int64 ms;
	int rc = now_ms(vfs, &ms);
	*out = (double)ms / (double)day_ms;
	return rc;
}

/* Sleep in reality, then advance the clock that the box shares. */
static int sleep_us(sqlite3_vfs *vfs, int us)
{
	const int64_t until_ns = still_slept_ns() + (int64_t)us * NS_PER_US;
	struct timespec left = timespec_of((int64_t)us * NS_PER_US);
	(void)vfs;
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	still_advance_to(until_ns);
	return us;
}

void clock_setup(void)
{
	static sqlite3_vfs ours;
	const sqlite3_vfs *vfs = still_has_time() ? sqlite3_vfs_find(NULL) : NULL;
	if (!vfs || vfs->iVersion < 2)
		return;
	ours = *vfs;
	ours.zName = "retort";
	ours.xCurrentTime = now_days;
	ours.xCurrentTimeInt64 = now_ms;
	ours.xSleep = sleep_us;
	(void)sqlite3_vfs_register(&ours, 1);
}
