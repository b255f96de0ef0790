/*
 * A stem: a driver that runs no more code and is only branched.
 *
 * Templates are stems, and so is the former driver of a session that was branched. The owner of a
 * user namespace may read and kill the processes in the namespaces below it, so no process that
 * runs a user's code may be above a branch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/driver.h"

struct stem;
struct branching;

/* Reports the branch's driver, which is ready and references its box: the callee sets its callbacks
 * and drops it later. Or, after a failure, NULL and @err. */
typedef void stem_branched_fn(void *arg, struct driver *d, const struct err *err);

/* Make a stem of the idle driver @d, which is taken over. Stems are shared by reference count. */
struct stem *stem_new(struct driver *d);
struct stem *stem_hold(struct stem *s);
void stem_let_go(struct stem *s);

/* Hint for the user when a stem dies while it is branched. */
#define STEM_DEATH_HINT "see what os.register_at_fork() was given"

/* Has the stem's driver died, so that no branch can be made? */
bool stem_is_dead(const struct stem *s);

/* Parameters of a branch. */
struct branch_order {
	struct limits limits;
	const struct warden_bind *binds; /* a host's workspace, and volumes in it */
	size_t n_binds;
	bool is_continuation; /* continues the stem's session, and with it its random numbers */
	bool is_warm;	      /* prepares for its first step at once */
};

/*
 * Request a branch of @s; branches are made one after the other. The order's binds must live until
 * @done, which is called once, from the loop. Returns: a handle for branching_forget(), valid until
 * @done; NULL if the stem is dead.
 */
struct branching *stem_branch(
	struct stem *s, const struct branch_order *order, stem_branched_fn *done, void *arg);

/* Drop the callback of a branch, which then ends as soon as it is made. */
void branching_forget(struct branching *b);
