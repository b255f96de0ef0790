/*
 * The jobs of a session's queue, from start to answer.
 *
 * A job at the head of the queue needs the state of the session's last step (its head). job_start()
 * establishes this state before it does the job itself:
 *
 * 1. If the state is lost (a process or the box has ended, and no checkpoint is left), mend() runs
 * the session's steps again in a new box (replay_anew()).
 *
 * 2. The state of some languages cannot be copied (CARRY_REPLAY), so only a live driver has it. If
 * the job is a step of such a language and its driver has ended, start_step() runs the earlier
 * steps of this language again in the live box (session_rebuild(), replay_start()). If this replay
 * fails, the files that it has changed are put back, and the job fails.
 *
 * 3. start() does the job. Even after start() has passed a step to the session, the state can be
 * lost before the step begins. The session then calls entry_on_unbegun(), which rebuilds the state
 * and starts the job again.
 *
 * A step's record is passed to entry_on_done(). During a replay, replay_step_done() gets the
 * record. Otherwise commit() writes it into the journal, and only then is the caller answered. A
 * step that ran but cannot be written to the journal is undone (job_take_back()), so that the
 * session's state agrees with the journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/history.h"
#include "registry/put_file.h"
#include "registry/replay.h"
#include "session/change.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 32 << 20 };

void job_free(struct job *job)
{
	if (job->sum)
		put_file_forget(job->sum);
	fd_close(&job->fd);
	free(job->text);
	step_order_let_go(job->order);
	free(job);
}

void job_fail(struct job *job, const struct err *err)
{
	struct err why = *err;
	entry_answer_job(job, NULL, &why);
}

struct job *job_new(
	enum job_kind kind, const char *text, size_t bytes, registry_done_fn *done, void *arg)
{
	struct job *job = xnew(struct job);
	*job = (struct job){.kind = kind, .bytes = bytes, .fd = -1, .done = done, .arg = arg};
	if (text) {
		job->text = xcalloc(1, bytes + 1);
		memcpy(job->text, text, bytes);
	}
	return job;
}

bool job_may_wait(const struct entry *e, struct job *job)
{
	struct err err;
	if (admit_job(e, job, &err) == 0)
		return true;
	job->done(job->arg, NULL, &err);
	job_free(job);
	return false;
}

/* ---- running a step, and writing its record ---- */

static void on_taken_back(void *arg, const json_t *lost, const struct err *err)
{
	struct job *job = arg;
	(void)lost;
	if (err)
		session_spoil(job->entry->session);
	job_fail(job, &job->why);
}

/* Undo a job that was done but could not be written to the journal, so that the state agrees with
 * the journal. Then answer the job with @why. */
void job_take_back(struct job *job, const struct err *why)
{
	struct entry *e = job->entry;
	job->why = *why;
	if (session_undo(e->session, e->head, on_taken_back, job))
		return;
	session_spoil(e->session);
	job_fail(job, &job->why);
}

static const struct runtime *runtime_of(const struct job *job)
{
	return job->order->runtime ? job->order->runtime : job->entry->order->runtime;
}

static void run_step(struct job *job)
{
	struct entry *e = job->entry;
	struct err err;
	const struct runtime *runtime = runtime_of(job);
	if (job->order->stdin_queue && runtime->is_stdin_text) {
		err_fail(&err, ERR_USAGE, "give the input as stdin",
			"`stdin_open`: %s reads its whole input at once", runtime->name);
		job_fail(job, &err);
		return;
	}
	if (session_run(e->session, job->order, job->listener, &err) < 0)
		job_fail(job, &err);
}

static void on_put_back(void *arg, const json_t *lost)
{
	struct job *job = arg;
	entry_note_rewritten(job->entry, lost);
	run_step(job);
}

static void on_given_up(void *arg, const json_t *lost)
{
	struct job *job = arg;
	entry_note_rewritten(job->entry, lost);
	job_fail(job, &job->why);
}

static void on_caught_up(struct entry *e, const struct replay *result)
{
	struct job *job = e->first;
	if (result->err.code) {
		job->why = result->err;
		session_unbuilt(e->session, result->runtime, on_given_up, job);
		return;
	}
	entry_note_rebuilt(e, result);
	session_rebuilt(e->session, result->runtime, on_put_back, job);
}

/* Run a step. If the state of its runtime cannot be copied and no live driver has the state, run
 * the runtime's earlier steps again first. */
static void start_step(struct job *job)
{
	struct entry *e = job->entry;
	const struct runtime *runtime = runtime_of(job);
	struct replay *replay;
	struct err err;
	if (runtime->carry != CARRY_REPLAY || !e->head[0] || session_is_live(e->session, runtime)) {
		run_step(job);
		return;
	}
	if (replay_load(e->table, e->head, runtime, &replay, &err) < 0) {
		job_fail(job, &err);
	} else if (replay->n == 0) {
		replay_free(replay);
		run_step(job);
	} else {
		e->difference[0] = '\0';
		session_rebuild(e->session, runtime);
		replay_start(e, replay, on_caught_up);
	}
}

void entry_on_begin(void *arg)
{
	struct entry *e = arg;
	const struct step_listener *to = e->first ? e->first->listener : NULL;
	if (!e->replay)
		journal_prepare(e->table->journal, e->id, e->head);
	else if (to && to->rebuilding)
		to->rebuilding(to->arg, e->replay->at + 1, e->replay->n);
	if (!e->replay && to && to->started)
		to->started(to->arg, e->id);
}

/* Write a step's record to the journal, before the caller is answered. */
static int commit(
	struct entry *e, const struct job *job, struct record *record, char *extra, struct err *err)
{
	struct journal_node node = {.code = job->order->code,
		.code_bytes = job->order->code_bytes,
		.record = record->canonical,
		.record_bytes = strlen(record->canonical),
		.extra = extra,
		.extra_bytes = strlen(extra)};
	bool has_moved = record->outcome == RECORD_COMMITTED;
	/* record_name() has computed the digest of this step from the step's parent. The digest
	 * is valid only if that parent is still the head. */
	node.name = strcmp(record->parent, e->head) == 0 ? &record->name : NULL;
	snprintf(node.parent, sizeof node.parent, "%s", e->head);
	snprintf(node.session, sizeof node.session, "%s", e->id);
	snprintf(node.runtime, sizeof node.runtime, "%s", record->runtime);
	snprintf(node.status, sizeof node.status, "%s", record_status_word(record->status));
	snprintf(node.outcome, sizeof node.outcome, "%s", record_outcome_word(record->outcome));
	int r = admit_kept(
		e->table, e->owner, node.code_bytes + node.record_bytes + node.extra_bytes, err);
	if (r == 0)
		r = journal_commit(e->table->journal, &node, has_moved ? NULL : e->head, err);
	if (r >= 0 && has_moved) {
		memcpy(e->head, node.digest, sizeof e->head);
		e->n_steps++;
		e->is_mixed |= runtime_by_name(record->runtime)->carry == CARRY_REPLAY;
		session_set_head(e->session, e->head);
	}
	return r < 0 ? r : 0;
}

/* In the first committed record after a rebuild, report that the state was rebuilt. */
static void tell_rebuilt(struct entry *e, struct record *record)
{
	if (e->rebuilt == RECORD_COMMITTED || e->is_rebuilt_told ||
		record->outcome != RECORD_COMMITTED)
		return;
	record->outcome = e->rebuilt;
	record->reason =
		e->difference[0] ? e->difference : "the state was rebuilt from the journal";
	record->files_lost = e->rewritten;
	e->is_rebuilt_told = true;
}

void entry_on_done(void *arg, const struct record *told)
{
	struct entry *e = arg;
	/* The record belongs to our session, so it may be changed. */
	struct record *record = (struct record *)(uintptr_t)told;
	struct err err;
	if (e->replay) {
		replay_step_done(e, record);
		return;
	}
	struct job *job = e->first;
	if (!record->canonical) {
		err_set(&err, ERR_NO_MEMORY, "no memory for the record");
		job_fail(job, &err);
		return;
	}
	char *extra = record_usage_text(record);
	int r = extra ? commit(e, job, record, extra, &err)
		      : err_set(&err, ERR_NO_MEMORY, "no memory for the record");
	free(extra);
	if (r < 0 && record->outcome == RECORD_COMMITTED) {
		job_take_back(job, &err);
		return;
	}
	if (r < 0) {
		job_fail(job, &err);
		return;
	}
	tell_rebuilt(e, record);
	record->queued_ms += (double)(session_asked_ns(e->session) - job->asked_ns) / 1e6;
	stats_add(&e->table->steps, record);
	json_t *result = record_json(record);
	if (record->files_lost && record->files_lost == e->rewritten)
		json_decref(take_ptr(e->rewritten));
	if (record->outcome == RECORD_ROLLED_BACK)
		replay_tell_due(e, result);
	entry_answer(e, result, NULL);
	json_decref(result);
}

void registry_run(struct registry *r, const char *session, struct step_order *order,
	const struct step_listener *listener, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	if (!order || step_order_note_inputs(order, &err) < 0)
		err_set(&err, ERR_NO_MEMORY, "no memory for a step");
	else if (order->code_bytes > CODE_MAX)
		err_set(&err, ERR_LIMIT, "the code is over %d MiB", CODE_MAX >> 20);
	struct entry *e = err.code ? NULL : registry_find(r, session, &err);
	if (!e || admit_steps(r, 1, &err) < 0) {
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_RUN, NULL, 0, done, arg);
	job->order = step_order_hold(order);
	job->listener = listener;
	entry_add_job(e, job);
}

int registry_interrupt(struct registry *r, const char *session, struct err *err)
{
	struct found found;
	int bad = registry_look_up(r, session, &found, err);
	struct entry *e = bad < 0 ? NULL : found.live;
	if (!e)
		return bad;
	if (!e->session || (e->state != ENTRY_WORKING && !e->replay))
		return 0;
	if (e->replay)
		err_fail(&e->replay->err, ERR_INTERRUPTED,
			"run the step again: the state is rebuilt for it",
			"interrupted while the session's state was rebuilt");
	session_interrupt(e->session);
	return 0;
}

/* ---- completing names ---- */

static void on_names(void *arg, const json_t *names, const struct err *err)
{
	struct job *job = arg;
	if (err) {
		job_fail(job, err);
		return;
	}
	json_t *out = json_object();
	(void)json_object_set(out, "names", json_unconst(names));
	entry_answer(job->entry, out, NULL);
	json_decref(out);
}

void registry_names(
	struct registry *r, const struct registry_text *text, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, text->session, &err);
	if (!e) {
		done(arg, NULL, &err);
		return;
	}
	struct job *job = job_new(JOB_NAMES, text->text, strlen(text->text), done, arg);
	job->runtime = text->runtime ? runtime_by_name(text->runtime) : NULL;
	snprintf(job->scope, sizeof job->scope, "%s", text->scope ? text->scope : "");
	entry_add_job(e, job);
}

/* ---- waiting until the session has a box ---- */

static void on_box(void *arg, const struct err *err)
{
	struct job *job = arg;
	if (err) {
		job_fail(job, err);
		return;
	}
	json_t *out = json_object();
	entry_answer(job->entry, out, NULL);
	json_decref(out);
}

static void await_box(struct job *job)
{
	struct err err;
	if (session_await_box(job->entry->session, on_box, job, &err) < 0)
		job_fail(job, &err);
}

void registry_await_box(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	bool is_there = e && e->session && session_workspace_fd(e->session) >= 0;
	json_t *out = is_there ? json_object() : NULL;
	if (!e || is_there)
		done(arg, out, e ? NULL : &err);
	else
		entry_add_job(e, job_new(JOB_BOX, NULL, 0, done, arg));
	json_decref(out);
}

/* ---- rebuilding a lost state, and starting a job ---- */

static void start(struct job *job);

static void on_made_anew(struct entry *e, const struct replay *result)
{
	struct job *job = e->first;
	if (session_is_lost(e->session) || e->state == ENTRY_ENDING) {
		struct err err = result->err;
		if (!err.code)
			err_set(&err, ERR_GONE,
				"the session's state was lost again while it was rebuilt");
		job_fail(job, &err);
		return;
	}
	entry_note_rebuilt(e, result);
	session_move_head(e->session, e->head);
	start(job);
}

/* Rebuild a lost state that no checkpoint has: run the session's steps again. */
static void mend(struct job *job)
{
	struct entry *e = job->entry;
	struct replay *replay;
	struct err err;
	/* No step has run, so a branch of the template or a new box has the right state. */
	if (!e->head[0]) {
		session_renew(e->session, e->template ? template_stem(e->template) : NULL);
		start(job);
	} else if (replay_load(e->table, e->head, NULL, &replay, &err) < 0) {
		job_fail(job, &err);
	} else {
		e->difference[0] = '\0';
		replay_anew(e, replay, on_made_anew);
	}
}

void entry_on_unbegun(void *arg)
{
	const struct entry *e = arg;
	if (session_is_lost(e->session))
		mend(e->first);
	else
		start(e->first); /* a driver has ended: start_step() runs its steps again */
}

void job_start(struct job *job)
{
	session_notice(job->entry->session);
	/* If the session's state is lost, rebuild the state before the job starts. Undo and
	 * adoption need no rebuild, because they replace the state by another one. */
	bool is_needed = job->kind != JOB_UNDO && job->kind != JOB_ADOPT;
	if (session_is_lost(job->entry->session) && is_needed)
		mend(job);
	else
		start(job);
}

static void start(struct job *job)
{
	struct entry *e = job->entry;
	switch (job->kind) {
	case JOB_RUN:
		start_step(job);
		break;
	case JOB_BRANCH:
		job_start_branch(job);
		break;
	case JOB_UNDO:
		job_start_undo(job);
		break;
	case JOB_NAMES:
		session_names(e->session, job->runtime, job->scope, job->text, on_names, job);
		break;
	case JOB_FILE:
		job_start_file(job);
		break;
	case JOB_BOX:
		await_box(job);
		break;
	case JOB_ADOPT:
		job_start_adopt(job);
		break;
	case JOB_END_:
		break;
	}
}
