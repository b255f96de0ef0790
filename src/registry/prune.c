/*
 * Pruning: closed sessions are removed from the journal, on request or after a configured time
 * (retain_ms).
 *
 * store/prune.c removes them from the journal part by part, together with steps and blobs that no
 * other session has. A timer calls it for one part at a time, so that requests of clients are
 * answered between the parts. The search for expired sessions is repeated ten times within
 * retain_ms, and at least once an hour.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/timer.h"
#include "registry/session_table.h"
#include "registry/history.h"
#include "store/prune.h"

#include <stdlib.h>
#include <time.h>

/* PAUSE_MS: pause between two parts, for other work. The search for expired sessions is repeated
 * LOOKS times within retain_ms, but not more often than every LOOK_MIN_MS, and not less often
 * than every LOOK_MAX_MS. */
enum { PAUSE_MS = 1, LOOKS = 10, LOOK_MAX_MS = 3600 * 1000, LOOK_MIN_MS = 100 };

struct pruning {
	struct session_table *table;
	uv_timer_t timer;
	struct journal_prune *run; /* removal of steps and blobs; NULL: it is not running */
	struct prune_which which;
	bool is_forgetting; /* true while more sessions may match `which` */
	int64_t n_sessions;
	registry_done_fn *done; /* callback of the request; NULL: the timer began this pruning */
	void *arg;
};

static int64_t now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void on_timer(uv_timer_t *timer);

static void look_later(struct pruning *p)
{
	uint64_t ms = MIN(p->table->retain_ms / LOOKS, (uint64_t)LOOK_MAX_MS);
	if (p->table->retain_ms > 0 && !p->table->is_closing)
		timer_start(&p->timer, on_timer, MAX(ms, (uint64_t)LOOK_MIN_MS), 0);
}

static void finish(struct pruning *p, const struct err *err)
{
	struct journal_pruned n = journal_prune_end(take_ptr(p->run));
	registry_done_fn *done = take_ptr(p->done);
	p->is_forgetting = false;
	if (done) {
		json_t *out =
			json_pack("{s:I, s:I, s:I, s:I}", "sessions", (json_int_t)p->n_sessions,
				"steps", (json_int_t)n.n_steps, "blobs", (json_int_t)n.n_blobs,
				"bytes", (json_int_t)journal_bytes(p->table->journal));
		done(p->arg, err ? NULL : out, err);
		json_decref(out);
	}
	look_later(p);
}

/* Remove up to PRUNE_FORGET_MAX sessions. If these were the last that match, begin to remove
 * steps and blobs that no session needs any more. Returns: 1 when pruning continues, 0 when no
 * session matched, or negative errno. */
static int forget(struct pruning *p, struct err *err)
{
	int64_t n = journal_forget(p->table->journal, &p->which, false, err);
	p->n_sessions += MAX(n, 0);
	p->is_forgetting = n == PRUNE_FORGET_MAX;
	if (n < 0)
		return (int)n;
	if (!p->is_forgetting && p->n_sessions > 0) {
		int r = journal_prune_begin(&p->run, p->table->journal, err);
		if (r < 0)
			return r;
	}
	if (p->n_sessions > 0)
		timer_start(&p->timer, on_timer, PAUSE_MS, 0);
	return p->n_sessions > 0;
}

static int begin(struct pruning *p, const struct prune_which *which, struct err *err)
{
	p->which = *which;
	p->n_sessions = 0;
	return forget(p, err);
}

static void on_timer(uv_timer_t *timer)
{
	struct pruning *p = timer->data;
	struct err err;
	if (p->is_forgetting) {
		if (forget(p, &err) < 0)
			finish(p, &err);
		return;
	}
	if (!p->run) {
		const struct prune_which which = {
			.before_ms = now_ms() - (int64_t)p->table->retain_ms};
		/* If the search for expired sessions fails, do not report the error:
		 * look_later() has the search repeated. */
		if (begin(p, &which, &err) <= 0)
			look_later(p);
		return;
	}
	int r = journal_prune_part(p->run, &err);
	if (r > 0)
		timer_start(&p->timer, on_timer, PAUSE_MS, 0);
	else
		finish(p, r < 0 ? &err : NULL);
}

static int start(struct pruning *p, const struct prune_which *which, bool is_dry, int64_t *n,
	struct err *err)
{
	if (is_dry) {
		*n = journal_forget(p->table->journal, which, true, err);
		return *n < 0 ? (int)*n : 0;
	}
	if (p->run || p->is_forgetting)
		return err_fail(err, ERR_BUSY, "ask again when that is done",
			"another `session.prune` is running");
	return begin(p, which, err);
}

void registry_prune(
	struct registry *r, const struct registry_prune *which, registry_done_fn *done, void *arg)
{
	struct err err;
	struct pruning *p = r->table->pruning;
	int64_t n = 0, older_ms = (int64_t)MIN(which->older_ms, (uint64_t)INT64_MAX / 2);
	const struct prune_which all = {.owner = r->owner ? r->owner->name : NULL,
		.before_ms = now_ms() + (older_ms == 0) - older_ms,
		.keep = which->keep};
	int bad = !p ? err_set(&err, ERR_NO_MEMORY, "no memory to prune")
		     : start(p, &all, which->is_dry, &n, &err);
	if (bad > 0) {
		p->done = done;
		p->arg = arg;
		return;
	}
	json_t *out = which->is_dry
		? json_pack("{s:I}", "sessions", (json_int_t)n)
		: json_pack("{s:i, s:i, s:i, s:I}", "sessions", 0, "steps", 0, "blobs", 0, "bytes",
			  (json_int_t)journal_bytes(r->table->journal));
	done(arg, bad < 0 ? NULL : out, bad < 0 ? &err : NULL);
	json_decref(out);
}

void prune_open(struct session_table *table)
{
	struct pruning *p = xnew(struct pruning);
	p->table = table;
	p->timer.data = p;
	(void)uv_timer_init(table->engine->loop, &p->timer);
	uv_unref((uv_handle_t *)&p->timer);
	table->pruning = p;
	look_later(p);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void prune_stop(struct session_table *table)
{
	struct err err;
	struct pruning *p = take_ptr(table->pruning);
	if (!p)
		return;
	err_fail(&err, ERR_GONE, "the next `session.prune` continues", "the engine is stopping");
	finish(p, &err);
	uv_close((uv_handle_t *)&p->timer, on_closed);
}
