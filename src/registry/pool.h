/* Branches of one stem: made when they are asked for, or ahead of that and kept ready.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/order_text.h"
#include "session/session.h"

/*
 * A template has a pool, and so has a session that was branched and may be branched again; each
 * says when a branch is to be made ahead.
 */
struct pool;

/* A branch that was made ahead is ready, or (@err) could not be made. */
typedef void pool_made_fn(void *owner, const struct err *err);

/* Borrowed for the call; order and stem are held by the pool. */
struct pool_config {
	struct engine *engine;
	struct shared_order *order;
	struct stem *stem;
	const char *id; /* of its sessions, until session_take() */
	unsigned n_checkpoints;
	pool_made_fn *made; /* or NULL */
	void *owner;
};

/* Owns: the caller ends it with pool_close(). */
struct pool *pool_new(const struct pool_config *config);
/* Nobody asks any more. Branches that were made ahead are closed; those that somebody waits for are
 * given all the same. NULL is nothing. */
void pool_close(struct pool *p);

/*
 * A ready branch, or else a new one.
 *
 * @done: the session, open, to be given its events by session_take(); or NULL and @err. It may come
 *        before this returns, and whoever gets it may close the pool.
 */
typedef void pool_done_fn(void *arg, struct session *s, const struct err *err);
void pool_take(struct pool *p, pool_done_fn *done, void *arg);
/* One that was taken, and has not been used, is kept ready. */
void pool_put(struct pool *p, struct session *s);
/* Make one ahead, unless one is being made. */
void pool_fill(struct pool *p);

/* What it was made with, and how many branches are ready. */
struct stem *pool_stem(const struct pool *p);
struct shared_order *pool_order(const struct pool *p);
unsigned pool_n_ready(const struct pool *p);
/* Has it branches that were made ahead, or are being made so? Those whose state is lost go first.
 */
bool pool_has_any(struct pool *p);
/* Is any branch being made, ahead or for somebody? */
bool pool_is_making(const struct pool *p);
