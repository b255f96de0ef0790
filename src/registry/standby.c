/*
 * Branches of sessions, and templates, that are made ahead, which means before a client asks for
 * them.
 *
 * A session that was branched is likely to be branched again in the same state. So when the engine
 * is idle, a session that was branched and has run no step since then gets a pool with one ready
 * branch. At most n_standby sessions (registry_config) have a pool: those that were branched last.
 *
 * A pool belongs to one stem. When its session runs a step, the session's state no longer equals
 * that of the stem, and the pool is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/standby.h"

#include "base/timer.h"
#include "registry/admit.h"
#include "registry/session_table.h"
#include "registry/start/pool.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

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
		/* Make no branch of this session ahead until a client has branched the session
		 * again. */
		e->branched_ns = 0;
		pool_close(take_ptr(e->pool));
	} else if (!table->is_closing) {
		/* Have standby_tend() called again, because another session may need a branch,
		 * too. */
		timer_start(&table->idle, table->on_idle, 0, 0);
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

/* Return whether a branch of @e should be made before a client asks for it. It should not if the
 * session can write to files of the host: these files may change before a client asks. */
static bool is_wanted(const struct entry *e)
{
	return !e->pool && e->branched_ns && e->state == ENTRY_IDLE && session_box(e->session) &&
		session_stem(e->session) && !order_host_bind(e->order);
}

/* Close the pools that are outdated, because their session has run a step. Then begin to make one
 * branch that no client has asked for yet. A call makes no more than one such branch, so that it
 * does not delay the branches that clients have asked for. */
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

void registry_warm(
	struct registry *r, const struct registry_create *req, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	const char *runtime = req->order.runtime;
	struct order order = req->order;
	struct order_layer layer = ORDER_LAYER_INIT;
	char *text = NULL;
	int bad = r->table->is_closing ? err_set(&err, ERR_GONE, "the engine is stopping")
				       : admit_order(r, &req->order, &err);
	if (bad == 0)
		bad = admit_session(r, admit_memory(&req->order.limits), true, &err);
	if (bad == 0 && runtime && strcmp(runtime, "python") != 0) {
		bad = err_set(&err, ERR_USAGE, "runtime: %.40s has no templates", runtime);
		err_hint(&err, "only python has templates");
	}
	if (bad == 0)
		bad = order_layer_find(&layer, &order, r->table->layers, registry_owner(r), &err);
	if (bad == 0 && !(text = order_text_with(r->table->skills, &order, req->preload, false)))
		err_set(&err, ERR_USAGE, "a path of the template is not UTF-8");
	order_layer_done(&layer);
	const struct template_key key = {.owner = registry_owner(r), .text = text};
	if (text)
		templates_warm(r->table->templates, &key, done, arg);
	else
		done(arg, NULL, &err);
	free(text);
}
