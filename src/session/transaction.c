/*
 * What follows a step: its state is kept, or the state before it comes back.
 *
 * Theory of operation. After each step the driver clones itself: the copy, frozen, is the
 * checkpoint of the state after that step, and the driver goes on. When a step fails, init stops
 * everything in the box, kills the driver and all that the step has started, and lets the rest go
 * on; then the files are put back, and the frozen copy becomes the driver. A copy of that is the
 * new checkpoint. Undoing is the same with an older checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "sandbox/rollback.h"
#include "session/box/channel.h"
#include "session/box/errand.h"
#include "session/box/volume_changes.h"
#include "session/rewind.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ROLLBACK_MS = 30000, GUARD_TEXT_BYTES = 60 };

/* ---- the books ---- */

static void on_ended(void *arg, const struct box_usage *usage)
{
	struct session *s = arg;
	s->record.usage = *usage;
	step_note_uncounted(s, usage);
	s->state = SESSION_ENDED;
	step_event(s, STEP_SETTLED);
}

static void go_back_to_stem(struct session *s);

static void settled(struct session *s)
{
	session_undone_fn *undone = take_ptr(s->undone);
	if (s->is_returning && s->target)
		go_back_to_stem(s);
	if (undone)
		undone(s->undone_arg, s->lost, NULL);
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
	settled(s);
}

/* The answer under way is to an older question. */
static void on_stale_books(void *arg, const struct box_usage *u)
{
	struct session *s = arg;
	if (u && s->is_base_due) /* to that of the step's beginning */
		s->base_cpu_us = u->cpu_us;
	if (!u || !box_ask_usage(s->box, on_books, s))
		on_books(s, u);
}

static void read_books(struct session *s)
{
	if (!session_box(s) || s->box->is_over) {
		settled(s);
		return;
	}
	if (!box_ask_usage(s->box, on_books, s)) {
		s->box->used = on_stale_books;
		s->box->used_arg = s;
	}
}

/* ---- the end of a step ---- */

/* Does @p have to go, so that the state is that of @c? */
static bool is_changed(const struct part *p, const struct checkpoint *c)
{
	return p == p->session->failed || p->version != c->versions[runtime_index(p->runtime)];
}

/* Without a guard there is nothing to come back: it begins anew, as it was then. */
static bool must_resume(struct session *s, const struct checkpoint *c)
{
	const struct part *python = python_part(s);
	return python->runtime && is_changed(python, c) && c->guard;
}

/* Nothing of Python has run in this box since then: another branch of its stem is as it was. */
static bool must_return(struct session *s, const struct checkpoint *c)
{
	const struct part *python = python_part(s);
	return c->stem && !c->guard && python->runtime && is_changed(python, c);
}

/* Something else in the box may have killed it: then nobody reads what it is sent. */
static bool is_guard_alive(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static struct checkpoint *usable_point(struct session *s, const char *step)
{
	struct checkpoint *c = checkpoints_find(&s->points, step);
	if (c && must_return(s, c))
		return stem_is_dead(c->stem) ? NULL : c;
	if (!c || !must_resume(s, c))
		return c;
	return c->guard->fd >= 0 && c->guard->box == s->box && python_part(s)->driver ? c : NULL;
}

static bool must_roll_back(const struct session *s)
{
	const struct step_end *end = &s->end;
	bool is_stopped = end->cause != STEP_CAUSE_NONE &&
		!(end->cause == STEP_CAUSE_CALLER && end->has_result);
	return is_stopped || !end->has_result || (s->step->is_atomic && end->is_error);
}

static void end_rollback(struct session *s)
{
	deadline_stop(&s->back);
	s->is_rolling = s->is_resuming = s->is_putting_back = false;
	s->failed = s->resumed = NULL;
	if (s->target)
		checkpoint_let_go(take_ptr(s->target));
}

static bool take_reviving(struct session *s)
{
	bool is_reviving = s->is_reviving;
	s->is_reviving = false;
	return is_reviving;
}

/* What was not put back before the box ended is told, and the state comes back all the same. */
static void name_leftovers(struct session *s)
{
	const struct checkpoint *to = s->target;
	int fd = s->box ? s->box->workspace_fd : -1;
	json_decref(take_ptr(s->lost));
	if (leftover_has_host_workspace(s->order))
		leftover_workspace(&s->lost, to && to->files ? to->files : s->shadow, fd);
	leftover_volumes(&s->lost, s->order, -1, 0);
}

static void lose(struct session *s, struct err *err)
{
	restore_cancel(s);
	if (order_host_bind(s->order))
		name_leftovers(s);
	session_lose_box(s);
	end_rollback(s);
	s->is_returning = false;
	s->is_lost = true;
	if (!s->no_guard[0])
		snprintf(s->no_guard, sizeof s->no_guard, "the box is gone: %.*s", GUARD_TEXT_BYTES,
			err->msg);
	if (s->undone) {
		session_undone_fn *undone = take_ptr(s->undone);
		undone(s->undone_arg, NULL, err);
	} else if (take_reviving(s) && !step_is_over(s->step_state)) {
		s->end.why_code = err->code;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, err->msg);
	} else {
		s->end.outcome = RECORD_LOST;
		step_event(s, STEP_SETTLED);
	}
}

/* A process that would not end, or init itself, spoils it. */
void transaction_failed(struct session *s, const struct err *err)
{
	struct err why = *err;
	if (!s->is_returning || !s->target) {
		lose(s, &why);
	} else if (s->is_putting_back) {
		restore_cancel(s);
		name_leftovers(s);
		settled(s);
	}
}

static void put_back_files(struct session *s);

static void on_stuck(uv_timer_t *timer)
{
	struct err err;
	err_set(&err, ERR_GONE, "the box did not come back within %d s", ROLLBACK_MS / 1000);
	transaction_failed(timer->data, &err);
}

/* Who has to go: their processes, and the one by whose name init knows the guard afterwards. */
static struct part *choose(struct session *s, const struct checkpoint *to, int32_t *pids, size_t *n)
{
	struct part *lead = s->resumed;
	for (size_t i = 0; i < ARRAY_LEN(s->parts); i++) {
		struct part *p = &s->parts[i];
		p->is_going = p->driver && (to ? is_changed(p, to) : p == s->failed);
		if (!p->is_going)
			continue;
		lead = lead ? lead : p;
		p->due_id = 0;
		if (p != lead)
			driver_signal(p->driver, SIGKILL);
		if (p->pid > 1 && p != s->resumed)
			pids[(*n)++] = p->pid;
		if (p->arm_pid > 1)
			pids[(*n)++] = p->arm_pid;
	}
	return lead;
}

static void end_processes(struct session *s)
{
	int32_t pids[2 * RUNTIMES_MAX];
	size_t n = 0;
	struct checkpoint *to = s->target;
	struct part *lead = choose(s, to, pids, &n);
	if (!lead) {
		put_back_files(s);
		return;
	}
	deadline_start(&s->back, on_stuck, ROLLBACK_MS);
	/* A guard that was made right after the step tells exactly what came later. */
	const struct init_back back = {.id = lead->driver->id,
		.guard_pid = s->resumed ? to->guard->pid : 0,
		.mark = to && !(s->resumed && to->is_guard_own) ? to->mark : 0,
		.pids = pids,
		.n_pids = n};
	init_rollback(&s->box->init, &back);
}

/* The driver of @failed goes, and all that is not as it was at @to (NULL: and no more than that).
 */
static void begin_rollback(struct session *s, struct part *failed, struct checkpoint *to)
{
	s->is_rolling = true;
	s->failed = failed;
	s->target = to ? checkpoint_hold(to) : NULL;
	s->resumed = to && must_resume(s, to) ? python_part(s) : NULL;
	end_processes(s);
}

/* To the stem of @c target: what the box has goes with it, but for what the host has. */
static void begin_return(struct session *s)
{
	s->is_putting_back = order_host_bind(s->order) && !s->box->is_over;
	if (s->is_putting_back) {
		end_processes(s);
		return;
	}
	if (order_host_bind(s->order))
		name_leftovers(s);
	if (s->undone)
		settled(s);
	else
		read_books(s);
}

/* What the other runtimes had said by then, and no checkpoint of what came later. */
static void put_back_states(struct session *s)
{
	const struct checkpoint *to = s->target;
	for (size_t i = 0; to && i < ARRAY_LEN(s->parts); i++) {
		struct part *p = &s->parts[i];
		text_let_go(p->state);
		p->state = text_hold(to->states[i]);
		p->is_loss_told = false;
		p->version = to->versions[i];
	}
	for (unsigned i = 0; to && i < s->points.n; i++)
		if (s->points.v[i] == to)
			checkpoints_cut(&s->points, i + 1);
	/* A guard of Python that is newer went with what came later. */
	struct part *python = python_part(s);
	if (to && !s->resumed && python->guard != to->guard) {
		guard_let_go(python->guard);
		python->guard = guard_hold(to->guard);
		python->due_id = 0;
	}
}

/* In the record of the step that was rolled back; else when there is another driver. */
static void tell_losses(struct session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->parts); i++)
		if (s->parts[i].is_going && s->step_state != STEP_NONE && !s->is_reviving)
			part_tell_loss(&s->parts[i]);
}

/* The box goes with all that is in it; the next one is a branch of the same stem. */
static void go_back_to_stem(struct session *s)
{
	struct stem *stem = stem_hold(s->target->stem);
	put_back_states(s);
	for (size_t i = 0; i < ARRAY_LEN(s->parts); i++)
		s->parts[i].is_going = s->parts[i].driver != NULL;
	tell_losses(s);
	session_touch(s);
	session_lose_box(s);
	shadow_let_go(take_ptr(s->shadow));
	if (s->stem)
		stem_let_go(s->stem);
	s->stem = stem;
	s->last_cpu_us = s->last_ooms = 0;
	s->is_returning = true;
	end_rollback(s);
}

/* By begin_return(): once the books are read; nobody reads those of a box that is gone. */
static bool return_to_stem(struct session *s, struct part *failed)
{
	s->failed = failed;
	struct checkpoint *to = usable_point(s, s->head);
	if (!to || !must_return(s, to)) {
		s->failed = NULL;
		return false;
	}
	s->target = checkpoint_hold(to);
	s->is_rolling = s->is_returning = true;
	return true;
}

static void roll_back(struct session *s)
{
	struct part *p = s->part;
	if (return_to_stem(s, p)) {
		s->end.outcome = RECORD_ROLLED_BACK;
		begin_return(s);
		return;
	}
	if (!p || !p->driver) { /* it had not begun */
		s->end.outcome = RECORD_ROLLED_BACK;
		read_books(s);
		return;
	}
	s->failed = p;
	struct checkpoint *to = usable_point(s, s->head);
	bool has_memory = p->runtime->carry == CARRY_MEMORY;
	if (!to && has_memory && s->end.has_result) {
		s->failed = NULL;
		s->end.outcome = RECORD_COMMITTED;
		keep_step(s);
		read_books(s);
		return;
	}
	s->end.outcome = to || !has_memory ? RECORD_ROLLED_BACK : RECORD_LOST;
	s->is_lost |= s->end.outcome == RECORD_LOST;
	begin_rollback(s, p, to);
}

bool transaction_revive(struct part *p)
{
	struct session *s = p->session;
	if (p->runtime->carry != CARRY_MEMORY || s->state != SESSION_OPEN || s->is_rolling ||
		s->restoring || s->undone)
		return false;
	if (return_to_stem(s, p)) {
		go_back_to_stem(s);
		step_proceed(s);
		return true;
	}
	s->failed = p;
	struct checkpoint *to = usable_point(s, s->head);
	if (!to || !to->guard || (s->step_state != STEP_NONE && !s->is_asked)) {
		s->failed = NULL;
		return false;
	}
	s->is_reviving = true;
	begin_rollback(s, p, to);
	return true;
}

void transaction_settle(struct session *s)
{
	json_decref(take_ptr(s->lost));
	if (s->is_once && s->box) {
		box_end(s->box, on_ended, s);
	} else if (!s->box &&
		s->stem) { /* it did not get as far as a box; the state is in the stem */
		s->end.outcome = s->is_lost ? RECORD_LOST : RECORD_ROLLED_BACK;
		step_event(s, STEP_SETTLED);
	} else if (s->box && s->box->is_over && s->part && return_to_stem(s, s->part)) {
		s->end.outcome = RECORD_ROLLED_BACK;
		begin_return(s);
	} else if (!s->box || s->box->is_over) {
		struct err err;
		err_set(&err, ERR_GONE, "the box is gone");
		lose(s, &err);
	} else if (must_roll_back(s)) {
		roll_back(s);
	} else {
		s->end.outcome = RECORD_COMMITTED;
		keep_step(s);
		read_books(s);
	}
}

/* ---- rolling back, one thing after the other ---- */

static void finish_rollback(struct session *s)
{
	tell_losses(s);
	end_rollback(s);
	if (s->undone) {
		session_undone_fn *undone = take_ptr(s->undone);
		undone(s->undone_arg, s->lost, NULL);
	} else if (take_reviving(s)) {
		step_proceed(s);
	} else {
		read_books(s);
	}
}

static struct shadow *files_of(const struct session *s)
{
	return s->target && s->target->files ? s->target->files : keep_newest(s);
}

/* Which files those are that were not kept is not known, but how many there were in the box. */
static void tell_unkept(struct session *s)
{
	const struct shadow *files = files_of(s);
	const struct workspace *then = files ? shadow_files(files) : NULL;
	size_t at = strlen(s->notice);
	if (!then || !then->is_cut || then->n_used <= s->before.n_used || s->before.n_used == 0 ||
		leftover_has_host_workspace(s->order))
		return;
	snprintf(s->notice + at, sizeof s->notice - at,
		"%snot put back: about %llu files, for only the first %d are kept",
		at > 0 ? "; " : "", (unsigned long long)(then->n_used - s->before.n_used),
		WORKSPACE_FILES_MAX);
}

/* Its files are back; now its memory. */
static void on_restored(struct session *s, json_t *lost)
{
	struct part *p = s->resumed;
	struct err err;
	json_decref(s->lost);
	s->lost = lost;
	if (s->is_putting_back) {
		s->is_putting_back = false;
		deadline_stop(&s->back);
		if (s->undone)
			settled(s);
		else
			read_books(s);
		return;
	}
	put_back_states(s);
	if (!p) {
		tell_unkept(s);
		finish_rollback(s);
		return;
	}
	if (!is_guard_alive(s->target->guard->fd)) {
		err_set(&err, ERR_GONE, "the checkpoint's process has been killed");
		lose(s, &err);
		return;
	}
	guard_let_go(p->guard);
	p->guard = guard_hold(s->target->guard);
	loss_say(s->notice, &p->guard->loss);
	tell_unkept(s);
	s->is_resuming = true;
	p->last_call = 0; /* it counts on from where it was then */
	if (driver_resume(p->driver, fd_take(&p->guard->fd), &err) < 0)
		lose(s, &err);
}

/* Until it is told to go on, it is the failed driver whose end is told. */
void transaction_exited(struct session *s)
{
	struct err err;
	if (!s->is_resuming)
		return;
	err_set(&err, ERR_GONE, "the checkpoint's process has been killed");
	lose(s, &err);
}

/* A copy of it takes the place of the one that is the driver now. */
void transaction_ready(struct session *s, struct part *p, const json_t *said)
{
	struct loss loss;
	struct err err;
	if (!s->is_rolling || p != s->resumed)
		return;
	loss_parse(&loss, said);
	if (p->guard && (loss.n_locks > 0 || loss.n_astray > 0 || loss.gone_bytes > 0)) {
		p->guard->loss.n_locks = loss.n_locks;
		p->guard->loss.n_astray = loss.n_astray;
		p->guard->loss.gone_bytes = loss.gone_bytes;
		loss_say(s->notice, &p->guard->loss);
	}
	unsigned python = runtime_index(p->runtime);
	/* It will be newer than what came after older checkpoints: they go back to it all the same.
	 */
	for (unsigned i = 0; i + 1 < s->points.n; i++)
		if (s->points.v[i]->guard == p->guard)
			s->points.v[i]->versions[python] = 0;
	if (part_setup(p, SETUP_GUARD, &err) < 0)
		lose(s, &err);
	else
		finish_rollback(s);
}

static void put_back_files(struct session *s)
{
	struct shadow *files = files_of(s);
	struct err err;
	if (files && !s->is_reviving) {
		restore_files(s, files, on_restored);
		return;
	}
	/* Where no step has failed the files are as they should be. */
	workspace_done(&s->before);
	(void)workspace_scan(&s->before, s->box->workspace_fd, &err);
	s->is_shadow_due = true;
	on_restored(s, NULL);
}

/* Nothing that the step started is alive any more; nor are drivers that have begun since then. */
void transaction_rolled_back(struct session *s, struct part *told)
{
	if (!s->is_rolling)
		return;
	driver_drain(told->driver);
	for (size_t i = 0; i < ARRAY_LEN(s->parts); i++) {
		struct part *p = &s->parts[i];
		if (p->driver && p != s->resumed && (p->is_going || driver_has_ended(p->driver)))
			part_lose(p);
	}
	put_back_files(s);
}

bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg)
{
	/* There was perhaps no time for it since the last step. */
	checkpoints_evict(&s->points, s->points.max + 1);
	struct checkpoint *to =
		session_is_idle(s) && s->box && !s->box->is_over ? usable_point(s, step) : NULL;
	if (!to || (must_resume(s, to) && !is_guard_alive(to->guard->fd)))
		return false;
	json_decref(take_ptr(s->lost));
	s->undone = done;
	s->undone_arg = arg;
	(void)keep_idle(s);
	if (must_return(s, to)) {
		s->target = checkpoint_hold(to);
		s->is_rolling = s->is_returning = true;
		begin_return(s);
	} else {
		begin_rollback(s, NULL, to);
	}
	return true;
}
