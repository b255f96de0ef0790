/*
 * Branches: new sessions that continue from the present state of another session.
 *
 * A branch is made in three steps. First session_make_stem() gives a stem, a frozen copy of the
 * session's state. Mostly the session itself becomes the stem, and continues as a branch of it.
 * Then an entry is made for the new session. It gets the order, the head and the number of steps of
 * its parent, the parent's id, and the step where the two parted (`fork`). Last, the entry gets a
 * branch of the stem: a new one (pool.c), or one that was made ahead (standby.c).
 *
 * Several branches of one session can be made at the same time: as soon as one job has its stem,
 * entry_branch_on() starts the next job if that makes a branch too. Some languages keep their state
 * as text. When the branch is open, session_inherit() copies this text to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/replay.h"
#include "registry/secret.h"
#include "registry/start/pool.h"
#include "session/change.h"
#include "session/session.h"

#include <string.h>

static void on_open(void *arg, const json_t *result, const struct err *err)
{
	struct job *job = arg;
	struct entry *child = job->child;
	if (err) {
		job_fail(job, err);
		return;
	}
	session_inherit(child->session, job->entry->session);
	json_t *out = json_deep_copy(result);
	if (job->n_missing > 0)
		json_put_int(out, "processes_left", job->n_missing);
	replay_tell_due(child, out);
	entry_answer_job(job, out, NULL);
	json_decref(out);
}

/* Give @child references to the order and the template of @e. */
static void share_order(struct entry *child, const struct entry *e)
{
	child->order = e->order;
	child->template = e->template ? template_hold(e->template) : NULL;
	child->shared = shared_order_hold(e->shared);
}

static struct entry *new_child(struct job *job)
{
	const struct entry *e = job->entry;
	char id[ORDER_ID_BYTES];
	order_new_id(id);
	struct entry *child = entry_new(e->table, e->owner, id, job->text, e->order_text);
	memcpy(child->parent, e->id, sizeof child->parent);
	memcpy(child->fork, e->head, sizeof child->fork);
	memcpy(child->head, e->head, sizeof child->head);
	child->n_steps = e->n_steps;
	child->memory_bytes = e->memory_bytes;
	child->ttl_ms = e->ttl_ms;
	child->idle_ms = e->idle_ms;
	child->is_tainted = e->is_tainted;
	child->is_mixed = e->is_mixed;
	child->is_trial = job->is_trial;
	if (job->is_trial && (child->ttl_ms == 0 || (uint64_t)child->ttl_ms > job->ttl_ms))
		child->ttl_ms = (int64_t)job->ttl_ms;
	child->rebuilt = e->rebuilt;
	child->is_rebuilt_told = true;
	memcpy(child->difference, e->difference, sizeof child->difference);
	child->is_live_branch = true;
	entry_keep_secrets(child, job->has_secrets ? e->secrets : NULL, true);
	child->done = on_open;
	child->arg = job;
	share_order(child, e);
	return child;
}

static void on_branch(void *arg, struct session *s, const struct err *err)
{
	entry_take_branch(arg, s, err);
}

/* Give @child a branch of @stem: one that was made ahead, or a new one. */
static void take_branch(struct entry *e, struct stem *stem, struct entry *child)
{
	bool is_own = e->pool && pool_stem(e->pool) == stem;
	struct pool *pool = is_own ? e->pool
				   : pool_new(&(struct pool_config){.engine = e->table->engine,
					     .order = e->shared,
					     .stem = stem,
					     .id = child->id,
					     .n_checkpoints = e->table->n_checkpoints});
	child->is_waiting = true;
	pool_take(pool, on_branch, child);
	if (!is_own)
		pool_close(pool);
	/* A callback in pool_take() may have ended @e, and thereby closed its pool. */
	else if (e->pool == pool && !pool_has_any(pool))
		pool_close(take_ptr(e->pool));
}

static void on_stem(void *arg, struct stem *stem, const struct err *err)
{
	struct job *job = arg;
	struct entry *e = job->entry;
	if (err) {
		job_fail(job, err);
		return;
	}
	struct entry *child = new_child(job);
	job->child = child;
	job->n_missing = stem_n_missing(stem);
	e->branched_ns = uv_hrtime();
	entry_hold(e);
	take_branch(e, stem, child);
	/* @job may be freed by now. */
	entry_branch_on(e);
	entry_release(e);
}

static void make_stem(void *arg, const struct err *err)
{
	struct job *job = arg;
	if (err)
		job_fail(job, err);
	else
		session_make_stem(job->entry->session, job->others, on_stem, job);
}

/* Start to make a branch. If the session has no box, make a box first. An undo to the state
 * before the first step can leave a session without a box. */
void job_start_branch(struct job *job)
{
	struct session *s = job->entry->session;
	struct err err;
	if (!session_is_lost(s))
		make_stem(job, NULL);
	else if (session_await_box(s, make_stem, job, &err) < 0)
		job_fail(job, &err);
}

void registry_branch(struct registry *r, const char *session, const struct registry_branch *branch,
	registry_done_fn *done, void *arg)
{
	const char *name = branch->name;
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	if (e && session_table_check_name(e->table, e->owner, name, &err) < 0)
		e = NULL;
	if (e && admit_session(r, e->memory_bytes, true, &err) < 0)
		e = NULL;
	if (!e) {
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_BRANCH, name, name ? strlen(name) : 0, done, arg);
	job->others = branch->others;
	job->has_secrets = branch->has_secrets;
	entry_add_job(e, job);
}
