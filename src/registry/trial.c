/*
 * Trials: branches to try something in, of which one may be adopted.
 *
 * A trial is a branch that differs from other branches in four ways. Its programs see the id of the
 * parent, so that files in which they store the id are right if the trial is adopted. It has the
 * parent's secrets, as the code that it runs is what the parent was asked to run. It has a time to
 * live. And the parent can adopt it:
 *
 * registry_adopt() lets the parent continue from the trial's state. The two entries exchange their
 * sessions. The journal moves the parent's head to that of the trial. Then the trial, which now has
 * the parent's former box, is closed. No step is run again.
 *
 * A trial can be adopted only if the parent's head is still the step that the trial was branched
 * from, and if no job waits or runs in the trial.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/trial.h"

#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"

#include <string.h>

/* Refuse to make a trial of a session that can write to files of the host. A branch does not
 * copy these files, so trials would overwrite each other's changes, and changes of discarded
 * trials would stay. */
static int check_shared(const struct entry *e, struct err *err)
{
	const struct warden_bind *bind = e->order ? order_host_bind(e->order) : NULL;
	if (!bind)
		return 0;
	return err_fail(err, ERR_USAGE, "give the session its files of the host read-only",
		"trials of session %s would all write to %.100s", e->id, bind->src);
}

void registry_try(
	struct registry *r, const char *session, uint64_t ttl_ms, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	if (e && check_shared(e, &err) < 0)
		e = NULL;
	if (e && admit_session(r, e->memory_bytes, true, &err) < 0)
		e = NULL;
	if (!e) {
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_BRANCH, NULL, 0, done, arg);
	job->is_trial = true;
	job->has_secrets = true;
	job->ttl_ms = ttl_ms;
	entry_add_job(e, job);
}

/* Find the trial that @job adopts. Returns: NULL and @err when it cannot be adopted. */
static struct entry *find_trial(const struct job *job, struct err *err)
{
	const struct entry *e = job->entry;
	struct entry *trial = session_table_live(e->table, job->text);
	if (!trial || !trial->is_trial || strcmp(trial->parent, e->id) != 0) {
		err_set(err, ERR_NOT_FOUND, "no trial %.40s of session %s", job->text, e->id);
		return NULL;
	}
	if (strcmp(trial->fork, e->head) != 0) {
		err_fail(err, ERR_BUSY, "run no other steps in it meanwhile",
			"session %s has changed since it was branched", e->id);
		return NULL;
	}
	if (trial->state != ENTRY_IDLE || trial->first) {
		err_fail(err, ERR_BUSY, "wait until it has ended", "trial %s is busy", trial->id);
		return NULL;
	}
	return trial;
}

/* Exchange the sessions of the two entries, which have the same order. @e also takes over the
 * head of @trial, and what is known of the last rebuild of @trial. */
static void change_places(struct entry *e, struct entry *trial)
{
	struct session *own = e->session;
	entry_take_session(e, trial->session);
	entry_take_session(trial, own);
	memcpy(e->head, trial->head, sizeof e->head);
	memcpy(e->difference, trial->difference, sizeof e->difference);
	e->n_steps = trial->n_steps;
	e->rebuilt = trial->rebuilt;
	e->is_rebuilt_told = trial->is_rebuilt_told;
	e->is_mixed |= trial->is_mixed;
}

/* Taint the parent @e if @trial is tainted. */
static int take_taint(struct entry *e, const struct entry *trial, struct err *err)
{
	if (!trial->is_tainted || e->is_tainted)
		return 0;
	int r = journal_session_taint(e->table->journal, e->id, err);
	e->is_tainted = r == 0;
	return r;
}

void job_start_adopt(struct job *job)
{
	struct entry *e = job->entry;
	struct err err;
	struct entry *trial = find_trial(job, &err);
	if (!trial || take_taint(e, trial, &err) < 0 ||
		journal_session_move(e->table->journal, e->id, trial->head, &err) < 0) {
		job_fail(job, &err);
		return;
	}
	change_places(e, trial);
	/* If this fails, the trial's row stays open in the journal until its time to live has
	 * passed. */
	(void)journal_session_close(e->table->journal, trial->id, "", &err);
	entry_end(trial);
	json_t *out = entry_json(e);
	entry_answer(e, out, NULL);
	json_decref(out);
}

void registry_adopt(struct registry *r, const char *session, const char *trial,
	registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	if (e)
		entry_add_job(e, job_new(JOB_ADOPT, trial, strlen(trial), done, arg));
	else
		done(arg, NULL, &err);
}
