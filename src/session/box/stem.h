/*
 * A stem: a driver that runs no more code and only makes branches.
 *
 * Templates are stems. When a session is branched, its former driver becomes a stem, too, and the
 * session continues in a branch. The reason is that the user namespace of a branch is below that of
 * its stem. The owner of a user namespace may read and kill the processes in the namespaces below
 * it, so no process that runs a user's code may be above a branch.
 *
 * There is one exception, on request. A session with processes of its own can stay in its box and
 * lend its driver for one branch (stem_borrow()). That branch becomes a stem at once. The session
 * stays above it, and so above all branches of that stem.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/driver.h"

struct stem;
struct branching;

/*
 * Called when the branch is ready or has failed. If it is ready, @d is its driver, which references
 * its box. The callee sets the driver's callbacks and drops the driver later. After a failure, @d
 * is NULL and @err gives the reason.
 */
typedef void stem_branched_fn(void *arg, struct driver *d, const struct err *err);

/* Turn the idle driver @d, which is taken over, into a stem. Stems are shared by reference
 * count. */
struct stem *stem_new(struct driver *d);
/*
 * Borrow the idle driver @d, to make one branch of it with stem_branch(). Its owner still gets the
 * driver's events. The owner passes BRANCHED frames on with stem_hear(), and calls
 * stem_give_back(), which also drops the reference, before it uses or drops the driver.
 */
struct stem *stem_borrow(struct driver *d);
void stem_hear(struct stem *s, const struct frame *frame);
void stem_give_back(struct stem *s);

/*
 * Turn @d into a stem. @d, which is taken over, is the driver of a branch of a borrowed driver, and
 * has not been used. @n_processes: number of processes that ran beside the borrowed driver and are
 * not in its branch. Each branch of the stem reports them and what @d has lost.
 */
struct stem *stem_of_loan(struct driver *d, unsigned n_processes);
/* Return the number of processes that the branches of the stem lack, see stem_of_loan(). */
unsigned stem_n_missing(const struct stem *s);

/* Take or drop a reference. */
struct stem *stem_hold(struct stem *s);
void stem_let_go(struct stem *s);

/* Hint for the user if a stem dies while it makes a branch. */
#define STEM_DEATH_HINT "see what os.register_at_fork() was given"

/* Return whether the stem's driver has died. Then the stem cannot be branched any more. */
bool stem_is_dead(const struct stem *s);

/* Parameters of a branch. */
struct branch_order {
	struct limits limits;
	/* The binds that the branch does not share with its stem, see struct order_checked. */
	const struct warden_bind *binds;
	size_t n_binds;
	bool is_continuation; /* the branch goes on with the stem's random numbers */
	bool is_warm;	      /* the driver prepares for its first step at once */
};

/*
 * Request a branch of @s. Branches are made one after the other. @done is called once, from the
 * loop; the binds of @order must live until then. Returns: a handle for branching_forget(), valid
 * until @done; NULL if the stem is dead.
 */
struct branching *stem_branch(
	struct stem *s, const struct branch_order *order, stem_branched_fn *done, void *arg);

/* Cancel the callback of a branch. The branch ends as soon as it is made. */
void branching_forget(struct branching *b);
