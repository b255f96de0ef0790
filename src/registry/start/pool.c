/*
 * A pool of branches.
 *
 * It takes some milliseconds to make a branch of a stem: the warden makes a box, and the stem's
 * process forks into it. A request should not wait for that. So the owner of a pool (a template or
 * a session) has branches made ahead. A `struct pooled` stands for one branch, from the time when
 * the session of the branch begins to open:
 *
 *     requested:    opening ── opened ──> handed to the requester
 *     made ahead:   opening ── opened ──> ready ── pool_take() ──> handed to the requester
 *
 * A branch that was handed out is removed from the pool. A branch that failed, or is no longer
 * wanted, is closed. It is freed when its session is closed. Closing takes a while, and until then
 * the session needs its order and its stem. So each branch has a reference to the pool, and the
 * pool has references to the order and the stem.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/start/pool.h"

#include "base/alloc.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>

struct pooled {
	struct pooled *next;
	struct pool *pool; /* counted reference */
	struct session *session;
	pool_done_fn *done; /* callback of the requester; NULL: the branch is made ahead */
	void *arg;
	bool is_ready;
};

struct pool {
	unsigned n_refs; /* one reference of the owner, and one of each branch */
	struct engine *engine;
	struct shared_order *order; /* counted reference */
	struct stem *stem;	    /* counted reference */
	char id[ORDER_ID_BYTES];
	unsigned n_checkpoints, n_making;
	/* Branches that are ready or being made ahead, oldest first. */
	struct pooled *first, **last;
	pool_made_fn *made; /* callback of the owner; NULL once the pool is closed */
	void *owner;
	bool is_closed;
};

static const struct session_events silence = {0};

struct pool *pool_new(const struct pool_config *config)
{
	struct pool *p = xnew(struct pool);
	*p = (struct pool){.n_refs = 1,
		.engine = config->engine,
		.order = shared_order_hold(config->order),
		.stem = stem_hold(config->stem),
		.n_checkpoints = config->n_checkpoints,
		.last = &p->first,
		.made = config->made,
		.owner = config->owner};
	snprintf(p->id, sizeof p->id, "%s", config->id);
	return p;
}

static void let_go(struct pool *p)
{
	if (--p->n_refs > 0)
		return;
	stem_let_go(p->stem);
	shared_order_let_go(p->order);
	free(p);
}

/* ---- making, handing out and closing one branch ---- */

static void take_out(struct pooled *b)
{
	struct pooled **at = &b->pool->first;
	while (*at && *at != b)
		at = &(*at)->next;
	if (!*at)
		/* A branch that was requested is never in the list of its pool. The list
		 * contains only branches that are ready or being made ahead of a request. */
		return;
	*at = b->next;
	if (b->pool->last == &b->next)
		b->pool->last = at;
}

/*
 * Free @arg, the `struct pooled` of a branch. This is called in three cases:
 * - The session of the branch is closed.
 * - The session was handed out, so the pool has nothing to do with it any more.
 * - The session could not be made.
 */
static void on_closed(void *arg)
{
	struct pooled *b = arg;
	let_go(b->pool);
	free(b);
}

static void drop(struct pooled *b)
{
	struct session_events events = silence;
	take_out(b);
	if (!b->is_ready)
		b->pool->n_making--;
	if (!b->session) {
		on_closed(b);
		return;
	}
	events.arg = b;
	events.closed = on_closed;
	session_silence(b->session, &events);
	session_close(b->session);
}

static struct session *hand_out(struct pooled *b)
{
	struct session *s = b->session;
	take_out(b);
	session_silence(s, &silence);
	on_closed(b);
	return s;
}

static void on_opened(void *arg, const struct err *err)
{
	struct pooled *b = arg;
	struct pool *p = b->pool;
	pool_done_fn *done = b->done;
	void *asker = b->arg;
	struct session *s = NULL;
	/* A callback may close the pool, so keep it alive. */
	p->n_refs++;
	if (err) {
		drop(b);
	} else {
		p->n_making--;
		b->is_ready = true;
		if (done)
			s = hand_out(b);
	}
	if (done)
		done(asker, s, err);
	else if (p->made)
		p->made(p->owner, err);
	let_go(p);
}

static void on_done(void *arg, const struct record *record)
{
	(void)arg;
	(void)record;
}

static void make(struct pool *p, pool_done_fn *done, void *arg)
{
	struct err err;
	struct pooled *b = xnew(struct pooled);
	*b = (struct pooled){.pool = p, .done = done, .arg = arg};
	p->n_refs++;
	p->n_making++;
	if (!done) {
		*p->last = b;
		p->last = &b->next;
	}
	const struct session_config config = {.engine = p->engine,
		.order = &p->order->order,
		.id = p->id,
		.stem = p->stem,
		.n_checkpoints = p->n_checkpoints,
		.stdin_fd = -1};
	const struct session_events events = {.arg = b, .opened = on_opened, .done = on_done};
	if (session_open(&b->session, &config, &events, &err) < 0)
		on_opened(b, &err);
}

/* ---- taking branches from the pool, and closing it ---- */

/* Close ready branches that have lost their state, and find the oldest of the others. Returns:
 * NULL if no branch is ready. */
static struct pooled *find_ready(struct pool *p)
{
	struct pooled *ready = NULL;
	for (struct pooled *b = p->first, *next; b; b = next) {
		next = b->next;
		if (b->is_ready && session_is_lost(b->session))
			drop(b);
		else if (b->is_ready && !ready)
			ready = b;
	}
	return ready;
}

void pool_take(struct pool *p, pool_done_fn *done, void *arg)
{
	struct pooled *b = find_ready(p);
	if (b)
		done(arg, hand_out(b), NULL);
	else
		make(p, done, arg);
}

void pool_put(struct pool *p, struct session *s)
{
	struct pooled *b = xnew(struct pooled);
	*b = (struct pooled){.pool = p, .session = s, .is_ready = true};
	p->n_refs++;
	*p->last = b;
	p->last = &b->next;
	if (p->is_closed)
		drop(b);
}

void pool_fill(struct pool *p)
{
	if (p->n_making == 0)
		make(p, NULL, NULL);
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	p->made = NULL;
	p->is_closed = true;
	for (struct pooled *b = p->first, *next; b; b = next) {
		next = b->next;
		drop(b);
	}
	let_go(p);
}

struct stem *pool_stem(const struct pool *p)
{
	return p->stem;
}

struct shared_order *pool_order(const struct pool *p)
{
	return p->order;
}

unsigned pool_n_ready(const struct pool *p)
{
	unsigned n = 0;
	for (const struct pooled *b = p->first; b; b = b->next)
		n += b->is_ready;
	return n;
}

bool pool_has_any(struct pool *p)
{
	(void)find_ready(p);
	return p->first != NULL;
}

bool pool_is_making(const struct pool *p)
{
	return p->n_making > 0;
}
