/*
 * Roll back to a guard: kill the driver and every process that is newer than the guard.
 *
 * Theory of operation. A guard is a copy that the driver forked earlier. The guard stands still,
 * and is a child of init. To roll back, init stops every process of the box with one call, and
 * reads /proc when all are stopped. Init continues the processes that stay, kills the others, and
 * waits until the killed ones are gone.
 *
 * Init kills the driver and each process that started after a certain moment. If the caller gives
 * no moment, the moment is the start of the guard.
 *
 * But a process that started after the moment stays if it descends, by live parents, from an older
 * process that is not a driver. For example, a server that an earlier step started may have forked
 * new workers since the moment.
 *
 * A program that a client started, and not a step, stays whenever it started, and so do its
 * descendants. All of them descend from the program's minder (minder.h).
 *
 * Processes in nested pid namespaces belong to branches of the box, so they go on. If there are
 * any, init cannot stop all others with one call. Then it stops them one by one, and lists and
 * stops again until all stand still.
 *
 * A driver may consist of several processes, and drivers of several runtimes may have to be killed.
 * So the engine lists all processes of these drivers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/moment.h"
#include "sandbox/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rollback_mark {
	struct moment at;
	uint32_t name; /* chosen by the engine; not 0 */
};
enum { ROLLBACK_MARKS_MAX = 64 };

struct rollback {
	pid_t driver; /* pid of the driver to kill; 0: the driver has ended already */
	pid_t guard;  /* pid of the guard; 0: roll back without a guard */
	/* The moment to roll back to. NULL: the start of the guard or, without a guard, the start
	 * of the box. */
	const struct moment *mark;
	/* Pids of further processes to kill. As with the driver, a newer process that descends from
	 * one of them is killed, too. */
	const int32_t *others;
	size_t n_others;
	const pid_t *minders; /* of the programs that clients started */
	size_t n_minders;
	/* called for each child that ended without being killed by this rollback */
	void (*reaped)(void *arg, pid_t pid, int status);
	void *arg;
};

/* Check that the guard is a living child of this process. Nothing is changed. Errors: ERR_GONE. */
int rollback_check(const struct rollback *back, struct err *err);

/*
 * Carry out the rollback. After an error the box must not be used any more.
 * Limits:  ROLLBACK_MAX processes in the box.
 * Blocks:  until the killed processes are gone, at most ROLLBACK_MS.
 * Returns: how many processes were killed, or negative errno.
 * Errors:  ERR_LIMIT, ERR_BOX.
 */
enum { ROLLBACK_MAX = 8192, ROLLBACK_MS = 20000 };
int rollback(const struct rollback *back, struct err *err);

/* What to do with the processes of a box. Process 1 always stays, and so do all processes in
 * nested pid namespaces. */
struct rollback_clearing {
	pid_t driver; /* the driver that stays; 0: all drivers are killed */
	/* the drivers of all runtimes; all of them are killed except `driver` */
	const pid_t *drivers;
	size_t n_drivers;
	/* The guards. They are stopped instead of killed, since killing a large process takes
	 * long. */
	const int32_t *guards;
	size_t n_guards;
	/* Kill also processes that are neither drivers nor guards. If false, and the box has
	 * such processes, nothing at all is killed. */
	bool is_forced;
	bool is_quick; /* look only once whether there are such processes */
	bool is_sweep; /* kill only what is neither driver nor guard, and stop nothing */
	/* The minders of programs that clients started. They are not counted as such processes. If
	 * spares_programs is true, they and their descendants are spared. */
	const pid_t *minders;
	size_t n_minders;
	bool spares_programs;
	/* Called again and again: reaps the children of init that have ended. Each zombie takes a
	 * pid of the box, and makes reading /proc take longer. */
	void (*reap)(void *arg);
	void *arg;
};

/*
 * Kill and stop processes of the box; the members of @c say which. The guards in c->guards are only
 * stopped. To kill these stopped guards later, the caller calls rollback_clear() again with
 * c->n_guards 0.
 * Blocks:  until all killed processes have ended and the guards stand still.
 * Returns: 0 after success; -EBUSY when some processes did not end. If nothing was killed because
 * the box has processes that are neither drivers nor guards: the number of these processes.
 */
int rollback_clear(const struct rollback_clearing *c);

/* Send @signal to the process @program, to its live descendants and to the processes of the
 * terminal session that it leads. */
void rollback_signal_program(pid_t program, int signal);

/* Return how many of the @n minders have a child that has not ended; @n if that cannot be found
 * out. */
size_t rollback_count_minding(const pid_t *minders, size_t n);

/* List the processes of this pid namespace except process 1, into @out with @room entries.
 * `program` of an entry becomes the pid of the minder from which the process descends; the caller
 * completes it and `kind`. Returns: how many, or negative errno. */
ssize_t rollback_list(
	struct init_process *out, size_t room, const pid_t *minders, size_t n_minders);
