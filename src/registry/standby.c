/*
 * Branches of sessions that are made ahead.
 *
 * A session that was branched is likely to be branched again in the same state. So in idle time the
 * sessions that were branched last, and have run nothing since, get a pool with one ready branch:
 * at most n_standby sessions (registry_config). A session that is branched later replaces the
 * session whose last branch is the oldest.
 *
 * A pool belongs to one stem. When its session runs a step, the session leaves that stem, and the
 * pool is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/standby.h"

#include "base/timer.h"
#include "registry/session_table.h"
#include "registry/pool.h"
#include "session/session.h"

static bool is_current(const struct entry *e)
{
	return e->session && session_stem(e->session) == pool_stem(e->pool) &&
		pool_has_any(e->pool);
}

static void on_made(void *owner, const struct err *err)
{
	struct entry *e = owner;
	struct session_table *table = e->table;
	if (err) {
		e->branched_ns = 0; /* do not try again until the session is branched again */
		pool_close(take_ptr(e->pool));
	} else if (!table->is_closing) {
		timer_start(&table->idle, table->on_idle, 0, 0); /* for other sessions */
	}
}

static void make(struct entry *e)
{
	e->pool = pool_new(&(struct pool_config){.engine = e->table->engine,
		.order = e->shared,
		.stem = session_stem(e->session),
		.id = e->id,
		.n_checkpoints = e->table->n_checkpoints,
		.made = on_made,
		.owner = e});
	pool_fill(e->pool);
}

/* Should a branch of @e be made ahead? Not if @e has files of the host: they may change before the
 * branch is asked for, and the branch must see that. */
static bool is_wanted(const struct entry *e)
{
	return !e->pool && e->branched_ns && e->state == ENTRY_IDLE && session_box(e->session) &&
		session_stem(e->session) && !order_host_bind(e->order);
}

/* Close outdated pools, and make one branch ahead: only one at a time, since requested branches
 * come first. */
void standby_tend(struct session_table *table)
{
	struct entry *wanted = NULL, *oldest = NULL;
	unsigned n = 0;
	for (struct entry *e = table->first; e; e = e->next) {
		if (e->pool && !is_current(e))
			pool_close(take_ptr(e->pool));
		if (e->pool && (!oldest || e->branched_ns < oldest->branched_ns))
			oldest = e;
		if (is_wanted(e) && (!wanted || e->branched_ns > wanted->branched_ns))
			wanted = e;
		n += e->pool != NULL;
	}
	if (!wanted || table->n_standby == 0 || table->is_closing)
		return;
	if (oldest && n >= table->n_standby) {
		if (oldest->branched_ns > wanted->branched_ns)
			return;
		pool_close(take_ptr(oldest->pool));
	}
	make(wanted);
}
