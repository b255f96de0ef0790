/*
 * Roll back to a guard: kill the live driver and every process that is newer than the guard.
 *
 * Theory of operation. A guard is a copy of the driver that stands still, a child of init. To
 * roll back, init stops every process of the box at once (a fork that is under way completes
 * before or after the stop), reads /proc when all are stopped, continues the processes that stay,
 * kills the others, and waits until they are gone.
 *
 * Killed are the driver and each process that is newer than the guard (or the moment given),
 * unless it descends, by live parents, from an older process that is not the driver: a server
 * that an earlier step started may have forked new workers meanwhile. Some drivers consist of
 * several processes, and drivers of several runtimes may have to go: the engine lists them all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/moment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rollback_mark {
	struct moment at;
	uint32_t name; /* the engine's; not 0 */
};
enum { ROLLBACK_MARKS_MAX = 64 };

struct rollback {
	pid_t driver;		   /* 0 when it is gone already */
	pid_t guard;		   /* 0: without a guard */
	const struct moment *mark; /* NULL: the guard's beginning, or that of the box */
	const int32_t *others;	   /* are killed as well, and do not protect their children */
	size_t n_others;
	/* called when a child ended that was not killed here */
	void (*reaped)(void *arg, pid_t pid, int status);
	void *arg;
};

/* Is the guard a living child of this process? Nothing is touched. Errors: ERR_GONE. */
int rollback_check(const struct rollback *back, struct err *err);

/*
 * Carry it out. After an error the box must not be used any more.
 * Limits:  ROLLBACK_MAX processes in the box.
 * Blocks:  until the killed are gone, at most ROLLBACK_MS.
 * Returns: how many processes were killed, or negative errno.
 * Errors:  ERR_LIMIT, ERR_BOX.
 */
enum { ROLLBACK_MAX = 8192, ROLLBACK_MS = 20000 };
int rollback(const struct rollback *back, struct err *err);

/* Which processes may stay beside process 1 in its pid namespace. */
struct rollback_clearing {
	pid_t driver;	      /* 0: nothing */
	const pid_t *drivers; /* drivers of other runtimes: they are killed without a check */
	size_t n_drivers;
	const int32_t *guards; /* are only stopped, since killing a large process takes long */
	size_t n_guards;
	/* kill all others as well; otherwise, if there are others, kill nothing */
	bool is_forced;
	bool is_sweep; /* kill only the others: drivers and guards stay as they are */
};

/*
 * Carry it out. The caller kills the stopped processes by another call without guards.
 * Blocks:  until all have ended, or stand still.
 * Returns: 0, how many others there are, or -EBUSY when some would not end.
 */
int rollback_clear(const struct rollback_clearing *c);

/* SIGKILL to every process of this pid namespace but process 1, and to none of those below it. */
void rollback_kill_own(void);
