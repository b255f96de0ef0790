/*
 * A stem: a driver that is only branched and runs no code any more. Templates are stems, and so is
 * the former driver of a session that was branched. The owner of a user namespace may read and kill
 * what is in the namespaces below it, so no process of a user runs above a branch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/driver.h"

struct stem;
struct branching;

/* The branch's driver, which is ready: the callee listens to it and lets go of it, and it holds its
 * box. Or NULL and @err. */
typedef void stem_branched_fn(void *arg, struct driver *d, const struct err *err);

/* Shared by those who hold it. Takes over the idle driver @d. */
struct stem *stem_new(struct driver *d);
struct stem *stem_hold(struct stem *s);
void stem_let_go(struct stem *s);

/* A hint for when one dies while it is branched. */
#define STEM_DEATH_HINT "see what os.register_at_fork() was given"

/* Has its driver died? Then nothing can be branched from it. */
bool stem_is_dead(const struct stem *s);

/* What the branch gets. */
struct branch_order {
	struct limits limits;
	const struct warden_bind *binds; /* a workspace of the host, volumes below it */
	size_t n_binds;
	bool is_continuation; /* it continues the stem's session, and its random numbers */
	bool is_warm;	      /* it prepares for its first step at once */
};

/*
 * Branch it; branches are made one after the other. The order's binds must live until @done, which
 * runs once, from the loop. Returns: a handle for branching_forget(), valid until @done; NULL when
 * the stem is dead.
 */
struct branching *stem_branch(
	struct stem *s, const struct branch_order *order, stem_branched_fn *done, void *arg);

/* Nobody waits for the branch any more: it ends as soon as it is made. */
void branching_forget(struct branching *b);
