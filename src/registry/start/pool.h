/* A pool of branches of one stem. A branch is made when it is requested, or is made ahead: before
 * any request, and kept ready for one. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/start/order_text.h"
#include "session/session.h"

/* A pool of branches. Its owner is a template, or a session that was branched and may be branched
 * again. The owner calls pool_fill() to have a branch made before any request for one. */
struct pool;

/* Called when the pool has made a branch ahead of any request, or has failed to make it. @err is
 * NULL if the branch is ready. */
typedef void pool_made_fn(void *owner, const struct err *err);

/* Configuration for pool_new(), borrowed for the call. The pool takes references to order and
 * stem. */
struct pool_config {
	struct engine *engine;
	struct shared_order *order;
	struct stem *stem;
	const char *id; /* id that the branches have until session_take() sets their own */
	unsigned n_checkpoints;
	pool_made_fn *made; /* or NULL */
	void *owner;
};

/* Create a pool. Owns: the caller ends it with pool_close(). */
struct pool *pool_new(const struct pool_config *config);
/* Close the pool. Ready branches are closed. Branches that were requested are still delivered.
 * @p may be NULL. */
void pool_close(struct pool *p);

/*
 * Take a ready branch, or make a new one if no branch is ready.
 *
 * @done: called with the open session, or with NULL and @err. The receiver must set the session's
 * callbacks with session_take(). @done may be called before pool_take() returns, and may close the
 * pool.
 */
typedef void pool_done_fn(void *arg, struct session *s, const struct err *err);
void pool_take(struct pool *p, pool_done_fn *done, void *arg);
/* Put the unused branch @s back into the pool, from which it was taken. */
void pool_put(struct pool *p, struct session *s);
/* Begin to make one branch ahead of any request, unless the pool is making a branch already. */
void pool_fill(struct pool *p);

/* Return the stem and the order that the pool was made with, and the number of ready branches. */
struct stem *pool_stem(const struct pool *p);
struct shared_order *pool_order(const struct pool *p);
unsigned pool_n_ready(const struct pool *p);
/* Return whether the pool has branches that are ready or are being made ahead of a request. First
 * close those ready branches that have lost their state. */
bool pool_has_any(struct pool *p);
/* Return whether the pool is making a branch, ahead of a request or on request. */
bool pool_is_making(const struct pool *p);
