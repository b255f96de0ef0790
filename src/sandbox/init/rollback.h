/*
 * Back to a guard: end the live driver and everything that came after the guard.
 *
 * Theory of operation. A guard is a copy of the driver that stands still, a child of init. To go
 * back to it, init stops every process of the box at once (one that is just being made is made
 * after the stop or not at all), reads /proc when all stand still, lets those go on that are to
 * stay, kills the others, and waits until they are gone.
 *
 * Killed are the driver and each process that is newer than the guard (or the moment given), unless
 * it descends, by live parents, from an older process that is not the driver: a server that an
 * earlier step started may have made itself new workers meanwhile. Some drivers consist of several
 * processes, and those of several runtimes may have to go: the engine names them all.
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
	pid_t guard;		   /* 0: none */
	const struct moment *mark; /* NULL: the guard's beginning, or that of the box */
	const int32_t *others;	   /* go as well, and do not protect what they have started */
	size_t n_others;
	void (*reaped)(void *arg, pid_t pid, int status); /* a child other than the killed ended */
	void *arg;
};

/* Is the guard a living child of this process? Nothing is touched. Errors: ERR_GONE. */
int rollback_check(const struct rollback *back, struct err *err);

/*
 * Do it. After an error the box is not to be used any more.
 * Limits:  ROLLBACK_MAX processes in the box.
 * Blocks:  until the killed are gone, at most ROLLBACK_MS.
 * Returns: how many processes were killed, or negative errno.
 * Errors:  ERR_LIMIT, ERR_BOX.
 */
enum { ROLLBACK_MAX = 8192, ROLLBACK_MS = 20000 };
int rollback(const struct rollback *back, struct err *err);

/* What is to be alone with process 1 in its pid namespace. */
struct rollback_clearing {
	pid_t driver;	      /* 0: nothing */
	const pid_t *drivers; /* of other runtimes: they end without further ado */
	size_t n_drivers;
	const int32_t *guards; /* are stopped only: the end of a large process takes long */
	size_t n_guards;
	bool is_forced; /* all others end as well; or else nothing does, when there are any */
	bool is_sweep;	/* only those: drivers and guards stay as they are */
};

/*
 * Do it. What was stopped is for the caller to end, by another clearing without guards.
 * Blocks:  until all have ended, or stand still.
 * Returns: 0, how many others there are, or -EBUSY when some would not end.
 */
int rollback_clear(const struct rollback_clearing *c);

/* SIGKILL to every process of this pid namespace but process 1, and to none of those below it. */
void rollback_kill_own(void);
