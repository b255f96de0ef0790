/*
 * The lock: what a process gives up between fork and exec, in one order that works.
 *
 * Steps: ambient capabilities, capability bounding set, secure bits, no_new_privs, resource limits
 * that guard the host, dumpable, Landlock, capability sets, syscall filter. The order matters: some
 * steps make a later step possible, and others would be refused after a later step. The filter is
 * last because it refuses the calls of all other steps.
 *
 * The steps only make system calls. They use no heap, and open no file but "/" and "/dev" for
 * Landlock.
 *
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
	 * False: load the syscall filter. True: the process has inherited our filter, so only check
	 * that this filter is active.
	 * It is true for the init of a box that can be branched. The filter of such a box is loaded
	 * before init is executed, and forbids loading a second filter.
	 */
	bool is_filter_inherited;
	/* Where to store the descriptor of the filter's seccomp listener. By this listener the
	 * warden is asked about each clone() that would make a branch. NULL unless a filter
	 * variant FILTER_…_NOTIFY is loaded, since only these variants have a listener. */
	int *listener_fd;
	/* Enter a new Landlock domain, which cuts the process off from other spawns; see
	 * landlock.h. False if init has entered one for all processes of the box. */
	bool has_landlock;
	/* The box has an image: the Landlock domain has no rules for files. A rule is for a root,
	 * and branches of such a box have roots of their own. */
	bool has_image;
	/* Let other processes of this user read /proc/PID/…, until the next exec. */
	bool is_dumpable;
};

/*
 * Lock the calling thread and all it creates later. Call this in a single-threaded process that is
 * about to exec. A second call does no harm, but it adds one more filter and Landlock domain.
 * Errors: ERR_BOX with the step that failed. The process is then half locked and must exit.
 */
int lock_process(const struct lock *lock, struct err *err);

/*
 * The part of the lock for init: set no_new_privs and give up all capabilities for good, but enter
 * no filter and no Landlock domain. Processes that init spawns inherit this.
 * Errors: as lock_process().
 */
int lock_drop_caps(struct err *err);
