/*
 * Restores the state before a step: the actions of the table in step/rollback.c.
 *
 * After each Python step, the Python driver clones itself. The clone is called the guard. It is
 * frozen and keeps the state after that step, while the driver continues. A later rollback to that
 * state has four parts:
 *
 * 1. Init stops all processes of the box.
 * 2. Init kills the driver and the processes that are newer than the checkpoint. All other
 *    processes continue.
 * 3. The workspace's files are restored.
 * 4. The guard is resumed and becomes the driver. It clones itself again, since the checkpoint may
 *    be needed again.
 *
 * Init decides which processes are newer than the checkpoint:
 *
 * - If the guard was made right after the checkpoint's step, the processes that started after the
 *   guard are newer.
 * - Otherwise the engine has told init to set a mark between two steps. The processes that started
 *   after the mark was set are newer.
 *
 * If only the checkpoint's stem has the Python state, because the checkpoint has no guard, the
 * session changes to another box: a new branch of that stem.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "sandbox/rollback.h"
#include "session/box/lost_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { ROLLBACK_MS = 30000, GUARD_TEXT_BYTES = 60 };

/* ---- choice of the checkpoint and of the box ---- */

/* Return whether the driver of @p must end so that the session can return to the state of @c. */
static bool is_changed(const struct session_driver *p, const struct session_driver *failed,
	const struct checkpoint *c)
{
	return p == failed || p->version != c->versions[runtime_index(p->runtime)];
}

static bool is_python_changed(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c)
{
	const struct session_driver *python = python_driver(s);
	return python->runtime && is_changed(python, failed, c);
}

/* Return whether the guard of @c must become the Python driver when the session returns to the
 * state of @c. This is not needed if the present driver has this state already. It is also not
 * needed if @c has no guard, because then a new Python driver has the state. */
static bool must_resume(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c)
{
	return is_python_changed(s, failed, c) && c->guard;
}

bool rollback_must_leave(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c)
{
	return c->stem && !c->guard && is_python_changed(s, failed, c);
}

/* Return whether the guard's process is alive. Another process of the box may have killed it. */
static bool is_guard_alive(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

struct checkpoint *rollback_point(
	struct session *s, const struct session_driver *failed, const char *step)
{
	struct checkpoint *c = checkpoints_find(&s->points, step);
	if (c && rollback_must_leave(s, failed, c))
		return stem_is_dead(c->stem) ? NULL : c;
	if (!c || !must_resume(s, failed, c))
		return c;
	return c->guard->fd >= 0 && c->guard->box == s->box && python_driver(s)->driver ? c : NULL;
}

bool rollback_can_resume(struct session *s, const struct checkpoint *c)
{
	return !must_resume(s, NULL, c) || is_guard_alive(c->guard->fd);
}

/* ---- actions of the rollback table ---- */

static void end(struct session *s)
{
	struct rollback *r = &s->rollback;
	deadline_stop(&s->back);
	r->failed = r->resumed = r->lead = NULL;
	if (r->target)
		checkpoint_let_go(take_ptr(r->target));
}

static void on_stuck(uv_timer_t *timer)
{
	struct err err;
	err_set(&err, ERR_GONE, "the box did not come back within %d s", ROLLBACK_MS / 1000);
	rollback_event(timer->data, ROLLBACK_FAILED, &err);
}

/*
 * Choose the drivers that must end, and list their processes in @pids. One of the chosen drivers is
 * called the lead: init will kill it and name it in its reply. The other chosen drivers are killed
 * here.
 *
 * - If a guard is to become the Python driver, the lead is the present Python driver, which the
 *   guard replaces.
 * - Otherwise the lead is the first driver that was chosen.
 *
 * Returns: the lead; NULL if no driver has to end.
 */
static struct session_driver *choose(struct session *s, int32_t *pids, size_t *n)
{
	const struct rollback *r = &s->rollback;
	struct session_driver *lead = r->resumed;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++) {
		struct session_driver *p = &s->drivers[i];
		p->is_going = p->driver &&
			(r->target ? is_changed(p, r->failed, r->target) : p == r->failed);
		if (!p->is_going)
			continue;
		lead = lead ? lead : p;
		p->due_id = 0;
		if (p != lead)
			driver_signal(p->driver, SIGKILL);
		if (p->pid > 1 && p != r->resumed)
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
	struct rollback *r = &s->rollback;
	const struct checkpoint *to = r->target;
	r->lead = choose(s, pids, &n);
	if (!r->lead) {
		rollback_event(s, ROLLBACK_CLEAR, NULL);
		return;
	}
	deadline_start(&s->back, on_stuck, ROLLBACK_MS);
	/*
	 * Tell init the moment after which a process counts as newer than the checkpoint @to:
	 *
	 * - If @to is NULL, there is no checkpoint. Mark 0 tells init to use its newest mark.
	 * - If a guard is resumed that was made right after the checkpoint's step, the moment is
	 *   the start of the guard. Mark 0 tells init to use the guard.
	 * - In all other cases the moment is that of the checkpoint's mark.
	 */
	const struct init_back back = {.id = r->lead->driver->id,
		.guard_pid = r->resumed ? to->guard->pid : 0,
		.mark = to && !(r->resumed && to->is_guard_own) ? to->mark : 0,
		.pids = pids,
		.n_pids = n};
	init_rollback(&s->box->init, &back);
}

/* Drop the drivers whose processes init has ended: the drivers that choose() has chosen, and the
 * drivers that started after the checkpoint. The driver of the runtime r->resumed is not
 * dropped, because the guard takes the place of its process. */
static void drop_drivers(struct session *s)
{
	const struct rollback *r = &s->rollback;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no row of rollback.c ends first */
	if (r->lead->driver)
		driver_drain(r->lead->driver);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++) {
		struct session_driver *p = &s->drivers[i];
		if (p->driver && p != r->resumed && (p->is_going || driver_has_ended(p->driver)))
			session_driver_lose(p);
	}
}

static struct shadow *files_of(const struct session *s)
{
	const struct checkpoint *to = s->rollback.target;
	return to && to->files ? to->files : save_files_newest(s);
}

static void on_restored(struct session *s, json_t *lost)
{
	json_decref(s->lost);
	s->lost = lost;
	rollback_event(s, s->rollback.resumed ? ROLLBACK_FROZEN : ROLLBACK_RESTORED, NULL);
}

static void put_files(struct session *s)
{
	struct shadow *files = files_of(s);
	struct err err;
	if (files && s->rollback.cause != ROLLBACK_REVIVE) {
		restore_files(s, files, on_restored);
		return;
	}
	/* Either no files are saved, or a driver died between two steps, so that no step has
	 * changed files. So do not restore files, but only list the present files again. */
	workspace_done(&s->before);
	(void)workspace_scan(&s->before, s->box->workspace_fd, &err);
	s->is_shadow_due = true;
	on_restored(s, NULL);
}

/* Before the box is given up, list as lost what may have changed in directories of the host. The
 * files of the box itself end with the box, and the next box has its own. But files in
 * directories of the host stay as they are now, and without the box they cannot be restored. */
static void name_files(struct session *s)
{
	int fd = s->box ? s->box->workspace_fd : -1;
	const struct checkpoint *to = s->rollback.target;
	if (!order_host_bind(s->order))
		return;
	json_decref(take_ptr(s->lost));
	if (order_has_host_workspace(s->order))
		lost_files_workspace(&s->lost, to && to->files ? to->files : s->shadow, fd);
	lost_files_volumes(&s->lost, s->order, NULL, 0);
}

/* Restore the runtimes' text states from the checkpoint, and drop all later checkpoints. */
static void put_states(struct session *s)
{
	const struct checkpoint *to = s->rollback.target;
	for (size_t i = 0; to && i < ARRAY_LEN(s->drivers); i++) {
		struct session_driver *p = &s->drivers[i];
		state_text_let_go(p->state);
		p->state = state_text_hold(to->states[i]);
		p->is_loss_told = false;
		p->version = to->versions[i];
	}
	for (unsigned i = 0; to && i < s->points.n; i++)
		if (s->points.v[i] == to)
			checkpoints_cut(&s->points, i + 1);
	/* Python's present guard may be another one than the checkpoint's guard, although no
	 * guard is resumed. Then the present guard was made after the checkpoint. Init has ended
	 * the present guard, as it ends all newer processes, or the whole box is given up. So
	 * give Python the checkpoint's guard again. */
	struct session_driver *python = python_driver(s);
	if (to && !s->rollback.resumed && python->guard != to->guard) {
		guard_let_go(python->guard);
		python->guard = guard_hold(to->guard);
		python->due_id = 0;
	}
}

/* If the saved list of files is not complete, files that it lacks may be missing now. Add the
 * number of missing files to the notice; their names are not known. */
static void tell_unkept(struct session *s)
{
	const struct shadow *files = files_of(s);
	const struct workspace *then = files ? shadow_files(files) : NULL;
	size_t at = strlen(s->notice);
	if (!then || !then->is_cut || then->n_used <= s->before.n_used || s->before.n_used == 0 ||
		order_has_host_workspace(s->order))
		return;
	snprintf(s->notice + at, sizeof s->notice - at,
		"%snot put back: about %llu files, for only the first %d are kept",
		at > 0 ? "; " : "", (unsigned long long)(then->n_used - s->before.n_used),
		WORKSPACE_FILES_MAX);
}

static void resume(struct session *s)
{
	struct session_driver *p = s->rollback.resumed;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no row of rollback.c ends first */
	struct guard *guard = s->rollback.target->guard;
	struct err err;
	if (!is_guard_alive(guard->fd)) {
		err_set(&err, ERR_GONE, "the checkpoint's process has been killed");
		rollback_event(s, ROLLBACK_FAILED, &err);
		return;
	}
	guard_let_go(p->guard);
	p->guard = guard_hold(guard);
	loss_say(s->notice, &p->guard->loss);
	tell_unkept(s);
	/* The resumed driver numbers its tool calls as at the time of the checkpoint, so accept
	 * lower numbers than the last one. */
	p->last_call = 0;
	if (driver_resume(p->driver, fd_take(&p->guard->fd), &err) < 0)
		rollback_event(s, ROLLBACK_FAILED, &err);
}

/* When a driver has ended, the next driver of its runtime may continue from a saved text. Such a
 * text may lack parts of the state, for example open descriptors. If a step is in progress, add
 * these losses to the notice now, because the record of this step reports the notice. Otherwise
 * session_driver_setup() adds them when the next driver is started. */
static void tell_losses(struct session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].is_going && s->step_state != STEP_NONE)
			session_driver_tell_loss(&s->drivers[i]);
}

static void finish(struct session *s)
{
	if (s->rollback.cause != ROLLBACK_REVIVE)
		tell_losses(s);
	end(s);
}

/* Give up the box. The next box will be a branch of the checkpoint's stem. */
static void change_box(struct session *s)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no row of rollback.c ends first */
	struct stem *stem = stem_hold(s->rollback.target->stem);
	put_states(s);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		s->drivers[i].is_going = s->drivers[i].driver != NULL;
	tell_losses(s);
	session_touch(s);
	session_lose_box(s);
	shadow_let_go(take_ptr(s->shadow));
	if (s->stem)
		stem_let_go(s->stem);
	s->stem = stem;
	s->last_cpu_us = s->last_ooms = 0;
	s->is_rewound = true;
	end(s);
}

static void lose(struct session *s, const struct err *err)
{
	restore_cancel(s);
	name_files(s);
	session_lose_box(s);
	end(s);
	s->is_rewound = false;
	s->is_lost = true;
	if (!s->no_guard[0])
		snprintf(s->no_guard, sizeof s->no_guard, "the box is gone: %.*s", GUARD_TEXT_BYTES,
			err->msg);
}

/* Report the end of the rollback to the step or the caller that waits. @err is NULL if the state
 * is restored, otherwise the reason why it is lost. */
static void tell(struct session *s, const struct err *err)
{
	enum rollback_cause cause = s->rollback.cause;
	session_undone_fn *undone = take_ptr(s->rollback.undone);
	if (undone) {
		undone(s->rollback.undone_arg, err ? NULL : s->lost, err);
	} else if (cause == ROLLBACK_REVIVE && !err) {
		step_proceed(s);
	} else if (cause == ROLLBACK_REVIVE && !step_is_over(s->step_state)) {
		s->end.why_code = err->code;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, err->msg);
	} else {
		if (err)
			s->end.outcome = RECORD_LOST;
		step_event(s, STEP_SETTLED);
	}
}

static void act(struct session *s, enum rollback_action action, const struct err *err)
{
	switch (action) {
	case ROLLBACK_NOTHING:
		break;
	case ROLLBACK_END_PROCESSES:
		end_processes(s);
		break;
	case ROLLBACK_DROP_DRIVERS:
		drop_drivers(s);
		break;
	case ROLLBACK_PUT_FILES:
		put_files(s);
		break;
	case ROLLBACK_CANCEL_FILES:
		restore_cancel(s);
		break;
	case ROLLBACK_NAME_FILES:
		name_files(s);
		break;
	case ROLLBACK_PUT_STATES:
		put_states(s);
		break;
	case ROLLBACK_TELL_UNKEPT:
		tell_unkept(s);
		break;
	case ROLLBACK_RESUME:
		resume(s);
		break;
	case ROLLBACK_FINISH:
		finish(s);
		break;
	case ROLLBACK_CHANGE_BOX:
		change_box(s);
		break;
	case ROLLBACK_READ_BOOKS:
		transaction_read_books(s);
		break;
	case ROLLBACK_LOSE:
		lose(s, err);
		break;
	case ROLLBACK_TELL:
		tell(s, NULL);
		break;
	case ROLLBACK_TELL_LOST:
		tell(s, err);
		break;
	}
}

/* Fail the rollback, because init or a driver has caused an event for which the table in
 * step/rollback.c has no row in the present state. */
static void fail_order(struct session *s, enum rollback_event event)
{
	struct err err;
	err_set(&err, ERR_GONE, "the box answered event %d in state %d of a rollback", event,
		s->rollback.state);
	if (event != ROLLBACK_FAILED)
		rollback_event(s, ROLLBACK_FAILED, &err);
}

/* Perform the actions that the table in step/rollback.c lists for @event. The last action of a
 * row may cause the next event. If a callback closes the session meanwhile, the remaining
 * actions are skipped. */
void rollback_event(struct session *s, enum rollback_event event, const struct err *err)
{
	struct rollback *r = &s->rollback;
	struct rollback_move move;
	struct err why;
	if (!rollback_advance(r->cause, r->state, event, &move)) {
		fail_order(s, event);
		return;
	}
	/* Copy the error, because an action may free the memory that it is in. */
	if (err)
		why = *err;
	r->state = move.next;
	for (size_t i = 0; i < ARRAY_LEN(move.actions) && s->state != SESSION_CLOSING; i++)
		act(s, move.actions[i], err ? &why : NULL);
}

/* ---- begin of a rollback ---- */

void rollback_stay(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to)
{
	struct rollback *r = &s->rollback;
	r->cause = cause;
	r->failed = failed;
	r->target = to ? checkpoint_hold(to) : NULL;
	r->resumed = to && must_resume(s, failed, to) ? python_driver(s) : NULL;
	rollback_event(s, ROLLBACK_STAY, NULL);
}

void rollback_leave(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to)
{
	struct rollback *r = &s->rollback;
	bool has_host = cause != ROLLBACK_REVIVE && order_host_bind(s->order) && !s->box->is_over;
	r->cause = cause;
	r->failed = failed;
	r->target = checkpoint_hold(to);
	rollback_event(s, has_host ? ROLLBACK_LEAVE_HOST : ROLLBACK_LEAVE, NULL);
}

void rollback_lose(struct session *s, const struct err *err)
{
	if (s->rollback.state == ROLLBACK_IDLE)
		s->rollback.cause = ROLLBACK_STEP;
	rollback_event(s, ROLLBACK_FAILED, err);
}

/* ---- events from init and the drivers ---- */

/*
 * Handle the READY frame of a guard that was resumed and is the Python driver now.
 * First add to the notice what the program has lost by the rollback, such as locks; READY lists it.
 * Then have the driver make a new guard, since the checkpoint may be needed again.
 */
static int take_ready(
	struct session *s, struct session_driver *p, const json_t *said, struct err *err)
{
	struct loss loss;
	loss_parse(&loss, said);
	if (p->guard && (loss.n_locks > 0 || loss.n_astray > 0 || loss.gone_bytes > 0)) {
		p->guard->loss.n_locks = loss.n_locks;
		p->guard->loss.n_astray = loss.n_astray;
		p->guard->loss.gone_bytes = loss.gone_bytes;
		loss_say(s->notice, &p->guard->loss);
	}
	unsigned python = runtime_index(p->runtime);
	/*
	 * The driver is now told to make a new process for its guard. Older checkpoints may have
	 * the same guard, if Python ran no step between them. A later rollback to such a checkpoint
	 * must not end the new process:
	 *
	 * - If Python's version equals the version in the checkpoint, the rollback keeps the
	 *   driver, and init ends all processes that started after the checkpoint's mark. The new
	 *   process would be one of them.
	 * - If the versions differ, the rollback resumes the guard, so init keeps the guard's
	 *   process.
	 *
	 * So set Python's version in these checkpoints to 0, so that the versions differ.
	 */
	for (unsigned i = 0; i + 1 < s->points.n; i++)
		if (s->points.v[i]->guard == p->guard)
			s->points.v[i]->versions[python] = 0;
	return session_driver_setup(p, SETUP_GUARD, err);
}

void rollback_ready(struct session_driver *p, const json_t *said)
{
	struct session *s = p->session;
	struct err err;
	if (p != s->rollback.resumed)
		return;
	if (s->rollback.state == ROLLBACK_RESUMING && take_ready(s, p, said, &err) < 0)
		rollback_event(s, ROLLBACK_FAILED, &err);
	else
		rollback_event(s, ROLLBACK_READY, NULL);
}

void rollback_exited(struct session_driver *p)
{
	struct err err;
	if (p != p->session->rollback.resumed)
		return;
	err_set(&err, ERR_GONE, "the checkpoint's process has been killed");
	rollback_event(p->session, ROLLBACK_EXITED, &err);
}
