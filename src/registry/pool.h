/* A pool of branches of one stem, which are made on request, or ahead and kept ready.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/order_text.h"
#include "session/session.h"

/* A template owns a pool, and so does a session that was branched and may be branched again. The
 * owner decides when a branch is made ahead. */
struct pool;

/* Called when a branch that is made ahead is ready, or (@err) could not be made. */
typedef void pool_made_fn(void *owner, const struct err *err);

/* The configuration, borrowed for the call; the pool takes references to order and stem. */
struct pool_config {
	struct engine *engine;
	struct shared_order *order;
	struct stem *stem;
	const char *id; /* id of the sessions until session_take() */
	unsigned n_checkpoints;
	pool_made_fn *made; /* or NULL */
	void *owner;
};

/* Create a pool. Owns: the caller ends it with pool_close(). */
struct pool *pool_new(const struct pool_config *config);
/* Close the pool. Branches that were made ahead are closed; branches that were asked for are still
 * delivered. NULL: does nothing. */
void pool_close(struct pool *p);

/*
 * Take a ready branch, or make a new one.
 *
 * @done: called with the open session, whose events the receiver sets with session_take(); or with
 * NULL and @err. It may be called before this returns, and may close the pool.
 */
typedef void pool_done_fn(void *arg, struct session *s, const struct err *err);
void pool_take(struct pool *p, pool_done_fn *done, void *arg);
/* Put a branch that was taken but not used back into the pool. */
void pool_put(struct pool *p, struct session *s);
/* Begin to make a branch ahead, unless one is being made. */
void pool_fill(struct pool *p);

/* Return the stem and the order that the pool was made with, and the number of ready branches. */
struct stem *pool_stem(const struct pool *p);
struct shared_order *pool_order(const struct pool *p);
unsigned pool_n_ready(const struct pool *p);
/* Does the pool have branches made ahead, ready or still being made? First close those whose state
 * is lost. */
bool pool_has_any(struct pool *p);
/* Is any branch being made, ahead or on request? */
bool pool_is_making(const struct pool *p);
