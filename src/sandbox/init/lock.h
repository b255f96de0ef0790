/*
 * The lock: what a process gives up between fork and exec, in one order that works.
 *
 * Steps: ambient capabilities, capability bounding set, secure bits, no_new_privs, resource limits
 * that guard the host, dumpable, Landlock, capability sets, syscall filter. Each is needed by, or
 * would be refused after, a later one; the filter is last because it refuses what came before.
 *
 * Calls only the kernel: no heap, no file but "/" and "/dev" for Landlock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/filter.h"

#include <stdbool.h>

struct lock {
	enum filter_variant filter;
	/*
	 * A branch already runs under the filter of the process that it was copied from, which
	 * refuses a second filter: check that the filter is active instead of loading it.
	 */
	bool is_filter_inherited;
	/* Where to store the listener descriptor, for a filter variant that asks the warden about
	 * branches; else NULL. */
	int *listener_fd;
	/* Own Landlock domain, cut off from other spawns; see landlock.h. False when init has one.
	 */
	bool has_landlock;
	/* Until the next exec, which resets it: may other processes of this user read
	 * /proc/PID/…? */
	bool is_dumpable;
};

/*
 * Lock the calling thread and all it creates later; for a single-threaded process about to exec.
 * Repeating it is harmless but for one more filter and Landlock domain.
 * Errors: ERR_BOX with the step that failed; the process is then half locked and must exit.
 */
int lock_process(const struct lock *lock, struct err *err);

/*
 * For init itself: no capability now or ever again and no_new_privs; no filter, no Landlock. What
 * it spawns inherits that. Errors: as lock_process().
 */
int lock_drop_caps(struct err *err);
