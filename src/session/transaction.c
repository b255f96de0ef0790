/*
 * Commits a step or rolls it back; undo.
 *
 * When a step is over, transaction_settle() decides about the state that it left. A step that ended
 * by itself is committed: the driver makes a checkpoint (save_state.c). A step is rolled back
 * (rolling_back.c) if it was stopped, if its driver died, or if it is atomic and failed. A rollback
 * needs a checkpoint of the state before the step. Without a checkpoint, a step with a result is
 * committed all the same; without a result, the state is lost.
 *
 * In each case the record has the resource usage of the step. So the usage of the box is measured
 * last, and the step is settled when the measurement arrives.
 *
 * Two rollbacks happen between steps: session_undo() goes back to an earlier step, and
 * transaction_revive() puts the guard in the place of a driver that died.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

/* ---- resource usage for the step's record ---- */

static void on_ended(void *arg, const struct box_usage *usage)
{
	struct session *s = arg;
	s->record.usage = *usage;
	step_note_uncounted(s, usage);
	s->state = SESSION_ENDED;
	step_event(s, STEP_SETTLED);
}

static void counted(struct session *s)
{
	if (s->rollback.state == ROLLBACK_LEAVING)
		rollback_event(s, ROLLBACK_COUNTED, NULL);
	else
		step_event(s, STEP_SETTLED);
}

static void on_books(void *arg, const struct box_usage *u)
{
	struct session *s = arg;
	struct box_usage *out = &s->record.usage;
	if (u) {
		step_note_uncounted(s, u);
		*out = *u;
		out->cpu_us -= MIN(u->cpu_us, s->base_cpu_us);
		out->n_oom_kills -= MIN(u->n_oom_kills, s->base_ooms);
		s->last_cpu_us = u->cpu_us;
		s->last_ooms = u->n_oom_kills;
		if (u->memory_bytes > s->limits.value[LIMIT_memory_bytes] / 4 * 3)
			checkpoints_evict(&s->points, 1);
	}
	if (!u || !processes_count(s, counted))
		counted(s);
}

/* Handle a measurement that was requested before the step's end. It is too old for the step's
 * record, so request another one. */
static void on_stale_books(void *arg, const struct box_usage *u)
{
	struct session *s = arg;
	/* is_base_due is set if this measurement was requested when the step began. Then it
	 * tells how much CPU time the box had used before the step. This time is stored in
	 * base_cpu_us, so that it is not counted as CPU time of the step. */
	if (u && s->is_base_due)
		s->base_cpu_us = u->cpu_us;
	if (!u || !box_ask_usage(s->box, on_books, s))
		on_books(s, u);
}

void transaction_read_books(struct session *s)
{
	if (!session_box(s) || s->box->is_over) {
		counted(s);
		return;
	}
	if (!box_ask_usage(s->box, on_books, s)) {
		s->box->used = on_stale_books;
		s->box->used_arg = s;
	}
}

/* ---- commit or rollback at the end of a step ---- */

static bool must_roll_back(const struct session *s)
{
	const struct step_end *end = &s->end;
	bool is_stopped = end->cause != STEP_CAUSE_NONE &&
		!(end->cause == STEP_CAUSE_CALLER && end->has_result);
	return is_stopped || !end->has_result || (s->step->is_atomic && end->is_error);
}

static void commit(struct session *s)
{
	s->end.outcome = RECORD_COMMITTED;
	save_state_step(s);
	transaction_read_books(s);
}

/*
 * Check whether the session must give up its box in order to return to the state of its last
 * committed step. It must if only a new branch of a stem has that state. Then begin a rollback,
 * after which the session's next box will be such a branch.
 * @failed: the runtime whose driver died or ran the failed step.
 * Returns: whether a rollback was begun.
 */
static bool leave(struct session *s, enum rollback_cause cause, struct session_driver *failed)
{
	struct checkpoint *to = rollback_point(s, failed, s->head);
	if (!to || !rollback_must_leave(s, failed, to))
		return false;
	if (cause == ROLLBACK_STEP)
		s->end.outcome = RECORD_ROLLED_BACK;
	rollback_leave(s, cause, failed, to);
	return true;
}

static void roll_back(struct session *s)
{
	struct session_driver *p = s->step_driver;
	if (!is_rolling_back(s) && leave(s, ROLLBACK_STEP, p))
		return;
	if (!p || !p->driver) { /* the step had no driver yet, so no code has run */
		s->end.outcome = RECORD_ROLLED_BACK;
		transaction_read_books(s);
		return;
	}
	struct checkpoint *to = rollback_point(s, p, s->head);
	bool has_memory = p->runtime->carry == CARRY_MEMORY;
	if (!to && has_memory && s->end.has_result) {
		commit(s);
		return;
	}
	s->end.outcome = to || !has_memory ? RECORD_ROLLED_BACK : RECORD_LOST;
	s->is_lost |= s->end.outcome == RECORD_LOST;
	rollback_stay(s, ROLLBACK_STEP, p, to);
}

void transaction_settle(struct session *s)
{
	json_decref(take_ptr(s->lost));
	if (s->is_once && s->box) {
		box_end(s->box, on_ended, s);
	} else if (!s->box && s->stem) {
		/* The session has no box, because the box was given up. The stem has the state
		 * before the step, and the next box will be a branch of the stem. */
		s->end.outcome = s->is_lost ? RECORD_LOST : RECORD_ROLLED_BACK;
		step_event(s, STEP_SETTLED);
	} else if (!s->box || s->box->is_over) {
		struct err err;
		err_set(&err, ERR_GONE, "the box is gone");
		if (!s->box || !s->step_driver || !leave(s, ROLLBACK_STEP, s->step_driver))
			rollback_lose(s, &err);
	} else if (must_roll_back(s)) {
		roll_back(s);
	} else {
		commit(s);
	}
}

/* ---- rollbacks between two steps ---- */

bool transaction_revive(struct session_driver *p)
{
	struct session *s = p->session;
	if (p->runtime->carry != CARRY_MEMORY || s->state != SESSION_OPEN || is_rolling_back(s) ||
		s->restoring)
		return false;
	if (leave(s, ROLLBACK_REVIVE, p))
		return true;
	struct checkpoint *to = rollback_point(s, p, s->head);
	if (!to || !to->guard || (s->step_state != STEP_NONE && s->step_state != STEP_ASKED))
		return false;
	rollback_stay(s, ROLLBACK_REVIVE, p, to);
	return true;
}

bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg)
{
	/* A script has used the interpreter up: only a new box can have an earlier state. */
	if (s->is_spent)
		return false;
	/* save_state_done() may not have run since the last step, so evict old checkpoints now. */
	checkpoints_evict(&s->points, s->points.max + 1);
	bool has_box = session_is_idle(s) && s->box && !s->box->is_over;
	struct checkpoint *to = has_box ? rollback_point(s, NULL, step) : NULL;
	if (!to || !rollback_can_resume(s, to))
		return false;
	json_decref(take_ptr(s->lost));
	s->rollback.undone = done;
	s->rollback.undone_arg = arg;
	(void)save_files_idle(s);
	if (rollback_must_leave(s, NULL, to))
		rollback_leave(s, ROLLBACK_UNDO, NULL, to);
	else
		rollback_stay(s, ROLLBACK_UNDO, NULL, to);
	return true;
}
