/*
 * Undo: the return to an earlier step, the target.
 *
 *     1. Find the target in the session's past, by the start of its id or by a count of steps.
 *     2. Move the head in the journal. This comes first: if it fails, nothing has changed.
 *     3. Restore the state. session_undo() puts back the checkpoint of the target, which takes some
 *        milliseconds. Without a checkpoint, all steps up to the target are run again in a new box
 *        (undo_by_replay()).
 *     4. Answer with the outcome: rolled_back, replayed or diverged.
 *
 * If the rebuild fails half-way, the previous state is rebuilt (undo_failed()), and the head is
 * moved back (stay()). If the head in the journal cannot be moved back, it becomes the session's
 * head, too. The session's state is then marked as lost, so that the next job rebuilds the state of
 * this head.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/entry.h"
#include "base/json.h"
#include "registry/session_table.h"
#include "registry/replay.h"
#include "session/processes.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

struct back {
	unsigned left;
	char step[DIGEST_BYTES];
	bool is_root;
};

static int go_back(void *user, const struct journal_node *node, struct err *err)
{
	struct back *back = user;
	(void)err;
	memcpy(back->step, node->parent, sizeof back->step);
	return --back->left == 0;
}

static int find_count(struct job *job, struct err *err)
{
	struct entry *e = job->entry;
	struct back back = {.left = job->count};
	int64_t n = journal_brief(e->table->journal, e->head, job->count, go_back, &back, err);
	if (n < 0)
		return (int)n;
	if (back.left > 0)
		return err_fail(err, ERR_USAGE, "`session.log` lists them",
			"cannot undo %u step%s: the session has %lld", job->count,
			job->count == 1 ? "" : "s", (long long)n);
	memcpy(job->step, back.step, sizeof job->step);
	return 0;
}

struct match {
	const struct job *job;
	unsigned n;
	char step[DIGEST_BYTES];
};

static int is_step(void *user, const struct journal_node *node, struct err *err)
{
	struct match *m = user;
	(void)err;
	if (strncasecmp(node->digest, m->job->text, m->job->bytes) != 0)
		return 0;
	memcpy(m->step, node->digest, sizeof m->step);
	return ++m->n == 2;
}

/*
 * Fail because the text of @job does not name a step of the session's past.
 * The operator learns whether the journal has such a step at all: if not, the error is that of
 * journal_node_get(). An owner must not learn what other owners have run, so it gets the same error
 * in both cases.
 */
static int not_there(const struct job *job, struct err *err)
{
	struct journal_node node;
	const struct entry *e = job->entry;
	int r = e->owner[0] ? 0 : journal_node_get(e->table->journal, job->text, &node, err);
	if (r < 0)
		return r;
	if (!e->owner[0])
		journal_node_done(&node);
	return err_fail(err, ERR_USAGE, "`session.log` lists its steps",
		"step %.12s is not in the session's past", job->text);
}

/* Find the step that @job names by the start of its id. Only the session's own past is searched,
 * so steps of other sessions do not make the start of an id ambiguous. */
static int find_step(struct job *job, struct err *err)
{
	struct entry *e = job->entry;
	struct match m = {.job = job};
	/* "root" names the state before the first step. Its digest is "". */
	if (strcmp(job->text, "root") == 0)
		return 0;
	int r = journal_start_check(job->text, err);
	if (r < 0)
		return r;
	int64_t n = journal_brief(e->table->journal, e->head, 0, is_step, &m, err);
	if (n < 0)
		return (int)n;
	if (m.n == 0)
		return not_there(job, err);
	if (m.n > 1)
		return err_fail(err, ERR_USAGE, "give more of its id",
			"more than one step begins with %.40s", job->text);
	memcpy(job->step, m.step, sizeof job->step);
	return 0;
}

static void move_head(struct job *job)
{
	struct entry *e = job->entry;
	struct err err;
	memcpy(e->head, job->step, sizeof e->head);
	int64_t n_steps = journal_depth(e->table->journal, e->head, &err);
	e->n_steps = (uint64_t)MAX(n_steps, 0);
}

static void finish_undo(struct job *job, const json_t *lost, const char *outcome)
{
	struct entry *e = job->entry;
	move_head(job);
	session_move_head(e->session, e->head);
	json_t *out =
		json_pack("{s:s, s:s, s:s}", "session", e->id, "head", e->head, "outcome", outcome);
	if (lost)
		(void)json_object_set(out, "files_lost", json_unconst(lost));
	if (e->difference[0] && strcmp(outcome, "diverged") == 0)
		json_put_text(out, "difference", e->difference);
	json_put_new(out, "processes", session_ended_processes(e->session, job->asked_ns));
	replay_tell_due(e, out);
	entry_answer(e, out, NULL);
	json_decref(out);
}

/*
 * The undo @job has failed: answer it with the error @why. The session keeps its head. The head in
 * the journal was moved to the target before, so move the journal's head back. If that fails:
 * - The target, which is the head in the journal, becomes the head of the session, too.
 * - The session's state is marked as lost, so that the next job rebuilds the state of this head.
 */
static void stay(struct job *job, const struct err *why)
{
	struct entry *e = job->entry;
	struct err err;
	if (journal_session_move(e->table->journal, e->id, e->head, &err) < 0) {
		move_head(job);
		session_spoil(e->session);
	}
	job_fail(job, why);
}

static void on_back_again(struct entry *e, const struct replay *result)
{
	struct job *job = e->first;
	entry_note_rebuilt(e, result);
	session_move_head(e->session, e->head);
	stay(job, &job->why);
}

/* After the rebuild of the target state failed half-way, rebuild the state of the old head. Then
 * answer @job with @why. */
static void undo_failed(struct job *job, const struct err *why)
{
	struct entry *e = job->entry;
	struct replay *replay;
	struct err err;
	job->why = *why;
	if (e->state == ENTRY_ENDING || replay_load(e->table, e->head, NULL, &replay, &err) < 0)
		stay(job, &job->why);
	else
		replay_anew(e, replay, on_back_again);
}

static void on_undo_replayed(struct entry *e, const struct replay *result)
{
	struct job *job = e->first;
	if (result->err.code) {
		undo_failed(job, &result->err);
		return;
	}
	entry_note_rebuilt(e, result);
	e->is_rebuilt_told = true;
	json_t *lost = take_ptr(e->rewritten);
	finish_undo(job, lost, result->is_diverged ? "diverged" : "replayed");
	json_decref(lost);
}

/* Rebuild the target state in a new box, because no checkpoint has it. */
static void undo_by_replay(struct job *job)
{
	struct entry *e = job->entry;
	struct replay *replay;
	struct err err;
	if (replay_load(e->table, job->step, NULL, &replay, &err) < 0) {
		stay(job, &err);
		return;
	}
	replay_anew(e, replay, on_undo_replayed);
}

/*
 * Called when session_undo() has ended. There are three cases:
 * - There is no error. The checkpoint of the target was restored, so the undo has succeeded.
 * - The error is ERR_GONE, and the session has lost its state. The checkpoint could not be
 *   restored, for example because its process was already being killed when the undo began. Run the
 *   steps up to the target again, in a new box.
 * - There is any other error, or the error is ERR_GONE and the session still has its state. The
 *   undo has failed.
 */
static void on_undone(void *arg, const json_t *lost, const struct err *err)
{
	struct job *job = arg;
	if (!err)
		finish_undo(job, lost, "rolled_back");
	else if (err->code == ERR_GONE && session_is_lost(job->entry->session))
		undo_by_replay(job);
	else
		stay(job, err);
}

/* Start an undo. The journal is written first: if that fails, nothing has changed. */
void job_start_undo(struct job *job)
{
	struct entry *e = job->entry;
	struct err err;
	int r = job->text ? find_step(job, &err) : find_count(job, &err);
	if (r == 0)
		r = journal_session_move(e->table->journal, e->id, job->step, &err);
	if (r < 0)
		job_fail(job, &err);
	else if (session_is_lost(e->session) ||
		!session_undo(e->session, job->step, on_undone, job))
		undo_by_replay(job);
}

void registry_undo(
	struct registry *r, const struct registry_undo *req, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, req->session, &err);
	const char *to_step = req->to_step;
	if (to_step && strncmp(to_step, "c-", 2) == 0)
		to_step += 2; /* A checkpoint has the id "c-X" if its step has the id "X". */
	if (!e) {
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_UNDO, to_step, to_step ? strlen(to_step) : 0, done, arg);
	job->count = MAX(req->count, 1);
	job->listener = req->listener;
	entry_add_job(e, job);
}
