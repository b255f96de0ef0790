/*
 * A stem: a driver that is only branched and runs no code any more. Templates are stems, and so is
 * what a session was when it was branched: the owner of a nested user namespace may read and kill
 * what is in it, so nothing of a user runs above a branch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/driver.h"

struct stem;
struct branching;

/*
 * The branch's driver, ready, for the callee to listen to and let go of; or NULL and @err. Its box
 * is held by it.
 */
typedef void stem_branched_fn(void *arg, struct driver *d, const struct err *err);

/* Shared by those who hold it. Takes over the idle driver @d. NULL without memory. */
struct stem *stem_new(struct driver *d);
struct stem *stem_hold(struct stem *s);
void stem_let_go(struct stem *s);

/* What to do when one dies while it is branched. */
#define STEM_DEATH_HINT "see what os.register_at_fork() was given"

/* Has its driver died? Then nothing can be branched from it. */
bool stem_is_dead(const struct stem *s);

/* What a branch is to be. */
struct branch_order {
	struct limits limits;
	const struct warden_bind *binds; /* the workspace of a host, volumes below it */
	size_t n_binds;
	bool is_continuation; /* of what the stem was: chance goes on where it stood */
	bool is_warm;	      /* it does what a step does at once, before one comes */
};

/*
 * Branch it; one after the other. The order's binds must live until @done, which runs once, from
 * the loop. Returns: a handle for branching_forget(), valid until @done; NULL without memory, or
 * when dead.
 */
struct branching *stem_branch(
	struct stem *s, const struct branch_order *order, stem_branched_fn *done, void *arg);

/* Nobody waits for it any more: the branch goes as it comes. */
void branching_forget(struct branching *b);
