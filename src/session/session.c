/*
 * Opens and closes a session, and gets and gives up its box.
 *
 * A session gets its box in one of two ways. Either the warden makes the box, and init starts a
 * driver in it; or the box is a branch of a stem and has a running driver.
 *
 * While a step runs, four sources of events are watched: the driver's channel (frames), its two
 * output pipes, init (which reports the driver's end), and timers. The timers limit the wall time
 * and start measurements of CPU time and, without a cgroup, of memory. The table in step/step.c
 * decides about each event. transaction.c decides about the session's state.
 *
 * After a session became a stem, it has that stem instead of a box. It gets a branch of the stem as
 * its new box, as soon as the engine has time or a step is to run.
 *
 * A session for one step (is_once) ends with its box. The box is destroyed first, so that no
 * process can write any more. Then the pipes are read to their end, and the record is made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/timer.h"
#include "session/session.h"

#include "base/fd.h"
#include "session/consent.h"
#include "session/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After so many consecutive failures to branch the stem, the session does not try again. */
enum { REFUSALS_MAX = 2 };
/* AGAIN_MS: interval at which an idle session checks whether the engine has time. PATIENCE_NS:
 * longest time for which the session yields to urgent work of others. */
enum {
	AGAIN_MS = 4,
	PATIENCE_NS = 200000000,
	WARM_MS = 2,
	WARM_AGAIN_MS = 20,
	WAITED_NS = 5000000
};

enum {
	OPEN_MS = 120000, /* time limit of opening a session, including imports */
};

static void handle_closed(uv_handle_t *handle)
{
	session_handle_gone(handle->data);
}

static void close_handle(struct session *s, void *handle)
{
	uv_handle_t *h = handle;
	if (uv_is_closing(h))
		return;
	h->data = s;
	uv_close(h, handle_closed);
}

/* ---- opening a session, and getting its box ---- */

/* Report to the owner whether the session could be opened. The first call decides. Later calls
 * do nothing, since errors that happen after the opening are reported in the records of steps. */
void session_opened(struct session *s, const struct err *err)
{
	if (s->state != SESSION_MAKING)
		return;
	s->state = err ? SESSION_ENDED : SESSION_OPEN;
	deadline_stop(&s->wall);
	s->events.opened(s->events.arg, err);
}

static void on_open_late(uv_timer_t *timer)
{
	struct err err;
	err_fail(&err, ERR_GONE, "check what the modules of --preload do when they are imported",
		"the session was not ready within %d s", OPEN_MS / 1000);
	session_opened(timer->data, &err);
}

static void stdin_copy_closed(struct stdin_copy *f)
{
	session_handle_gone(container_of(f, struct session, stdin_copy));
}

/* Make the driver's stdin. *@theirs becomes the reading end of a pipe, or -1 if there is no
 * input. The box never gets the caller's own descriptor. */
int session_open_stdin(struct session *s, int *theirs, struct err *err)
{
	int ends[2];
	*theirs = -1;
	if (s->stdin_fd < 0 || !s->is_once)
		return 0;
	int r = box_pipe(ends, err);
	if (r < 0)
		return r;
	*theirs = ends[0];
	s->stdin_copy.closed = stdin_copy_closed;
	r = stdin_copy_start(&s->stdin_copy, s->engine->loop, s->stdin_fd, ends[1], err);
	s->has_stdin_copy = s->stdin_copy.n_open > 0;
	s->n_handles += s->has_stdin_copy;
	return r;
}

static int begin_in_box(struct session *s, struct err *err)
{
	struct session_driver *p;
	workspace_done(&s->before);
	int r = workspace_scan(&s->before, s->box->workspace_fd, err);
	s->is_shadow_due = true;
	if (r == 0)
		r = session_driver_start(s, s->order->runtime, &p, err);
	if (r == 0 && !s->is_once)
		r = session_driver_setup(p, s->is_template ? SETUP_NAME : SETUP_GUARD, err);
	if (r == 0)
		save_state_begin(s);
	if (r == 0)
		networking_begin(s);
	return r;
}

static void on_made(void *arg, const struct err *err)
{
	struct session *s = arg;
	struct err error;
	if (!err && begin_in_box(s, &error) < 0)
		err = &error;
	if (err && s->state == SESSION_OPEN) {
		struct err why = *err;
		session_lose_box(s);
		s->end.why_code = why.code;
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, why.msg);
	} else if (err) {
		struct err why = *err;
		session_lose_box(s);
		session_opened(s, &why);
	} else if (s->is_once) {
		/* Do not wait for READY: the socket keeps the STEP frame until the driver reads
		 * it. */
		session_opened(s, NULL);
	} else if (s->state == SESSION_OPEN) {
		step_proceed(s);
	}
}

/*
 * Begin to use a box that was branched from a stem. Its driver can run a step at once.
 *
 * - If the session is open already, a step may wait for the box. Let this step proceed.
 * - If the session is not open and has no seed, open it.
 * - If the session is not open and has a seed, do not open it yet. With a seed, a step must have
 *   the same effect in each run, so the driver must always have prepared before the first step.
 *   on_branched() has sent SETUP, which makes the driver prepare. The response to SETUP opens the
 *   session.
 */
static void begin_as_branch(struct session *s)
{
	s->idle_ns = uv_hrtime();
	timer_start(&s->idle, session_on_idle, WARM_MS, 0);
	if (s->state == SESSION_OPEN)
		step_proceed(s);
	else if (!s->order->has_seed)
		session_opened(s, NULL);
}

/*
 * Handle a failure to branch the next box. Another attempt would fail as well if the driver or the
 * stem has died, if the files cannot be copied, or after REFUSALS_MAX failures. Then the state is
 * lost, and the registry can run the session's steps again.
 */
static void not_branched(struct session *s, const struct err *err)
{
	bool is_of_files = err->sys == ENAMETOOLONG || err->code == ERR_NO_SPACE;
	bool is_hopeless = err->code == ERR_GONE || is_of_files || s->n_refused >= REFUSALS_MAX ||
		!s->stem || stem_is_dead(s->stem);
	s->is_lost |= is_hopeless;
	if (is_hopeless && s->is_continuation && step_give_back(s))
		return;
	s->end.why_code = err->code;
	step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, err->msg);
}

static void on_branched(void *arg, struct driver *d, const struct err *err)
{
	struct session *s = arg;
	struct err error;
	s->branching = NULL;
	int r = 0;
	if (d) {
		session_touch(s);
		s->base = take_ptr(s->stem);
		s->box = box_hold(d->box);
		struct session_driver *p = session_driver_adopt(s, d);
		loss_say(s->notice, &d->loss);
		/* The usage counters of a new box start at 0. */
		s->last_cpu_us = s->last_ooms = s->base_cpu_us = s->base_ooms = 0;
		workspace_done(&s->before);
		r = workspace_scan(&s->before, s->box->workspace_fd, &error);
		s->is_shadow_due = true;
		if (r == 0 && s->order->has_seed)
			r = session_driver_setup(p, SETUP_WARM, &error);
		if (r == 0)
			save_state_begin(s);
		if (r == 0)
			networking_begin(s);
	}
	if (r < 0) {
		session_lose_box(s);
		err = &error;
	}
	s->n_refused = err ? s->n_refused + 1 : 0;
	if (err && s->state == SESSION_OPEN) {
		not_branched(s, err);
	} else if (err) {
		session_opened(s, err);
	} else {
		begin_as_branch(s);
	}
}

static int fail_stem(struct err *err)
{
	err_set(err, ERR_GONE, "the driver to be branched has died");
	return err_hint(err, STEM_DEATH_HINT);
}

static int get_box(struct session *s, struct err *err)
{
	const struct order_checked *o = s->order;
	/* If the stem is dead, only this call fails. The next call makes a new box. */
	if (s->stem && stem_is_dead(s->stem)) {
		stem_let_go(take_ptr(s->stem));
		return fail_stem(err);
	}
	s->is_continuation = s->state == SESSION_OPEN && (!s->is_rewound || s->is_continuation);
	s->is_rewound = false;
	if (!s->stem) {
		const struct warden_box what = {.limits = &s->limits,
			.binds = o->binds,
			.n_binds = s->is_template ? o->n_template : o->n_binds,
			.uid = o->uid,
			.gid = o->gid};
		uint32_t flags = s->is_once ? 0 : WARDEN_BRANCHABLE;
		flags |= order_host_bind(o) ? 0 : WARDEN_OWN_FILES;
		s->box = box_create(s->engine, flags, &what, on_made, s);
		return 0;
	}
	/*
	 * The new driver prepares for its first step at one of three times:
	 *
	 * - If the session has a seed, the driver prepares when it gets SETUP from on_branched().
	 * - If the engine has urgent work, the driver prepares later, in warm().
	 * - In all other cases, the driver prepares as soon as it is branched (is_warm).
	 */
	s->is_warm_due = !o->has_seed && s->engine->n_urgent > 0;
	const struct branch_order order = {.limits = s->limits,
		.binds = order_branch_binds(o),
		.n_binds = order_n_branch_binds(o),
		.is_continuation = s->is_continuation,
		.is_warm = !o->has_seed && !s->is_warm_due};
	s->branching = stem_branch(s->stem, &order, on_branched, s);
	return s->branching ? 0 : fail_stem(err);
}

void session_set_urgent(struct session *s, bool is_urgent)
{
	if (is_urgent && !s->is_urgent)
		s->engine->n_urgent++;
	else if (!is_urgent && s->is_urgent)
		s->engine->n_urgent--;
	s->is_urgent = is_urgent;
}

/* Return whether the session yields to urgent work of others, and if so, start a timer to check
 * again. A session yields for at most PATIENCE_NS. */
static bool must_wait(struct session *s)
{
	if (s->engine->n_urgent == 0 || s->state != SESSION_OPEN ||
		uv_hrtime() - s->idle_ns > PATIENCE_NS)
		return false;
	timer_start(&s->idle, session_on_idle, s->is_warm_due ? WARM_AGAIN_MS : AGAIN_MS, 0);
	return true;
}

/* Have the driver prepare for its first step, unless the engine has urgent work. */
static void warm(struct session *s)
{
	struct session_driver *python = python_driver(s);
	if (s->is_warm_due && python->driver && s->engine->n_urgent == 0) {
		s->is_warm_due = false;
		(void)session_driver_setup(python, SETUP_WARM, NULL);
	}
}

/* Use idle time. If the session has a stem instead of a box, branch its next box. If it has a
 * box, prepare the driver, make guards, save files, and replace drivers that have ended. */
void session_on_idle(uv_timer_t *timer)
{
	struct session *s = timer->data;
	struct err err;
	if (must_wait(s))
		return;
	if (s->state == SESSION_OPEN && s->stem && !s->box)
		(void)session_get_box(s, &err); /* ignore errors: the next step will try again */
	else if (session_is_idle(s)) {
		warm(s);
		save_state_done(s);
		(void)save_files_idle(s);
		session_notice(s);
	}
}

static struct session *new_session(const struct session_config *c)
{
	struct session *s = xnew(struct session);
	s->engine = c->engine;
	s->order = c->order;
	s->preload = c->preload;
	s->is_once = c->is_once;
	s->is_template = c->is_template;
	s->limits = c->order->limits;
	if (c->order->net && !c->is_template) {
		s->net.rules = xnew(struct rules);
		*s->net.rules = *c->order->net;
	}
	if (c->order->secrets && !c->is_template) {
		s->net.secrets = xnew(struct secrets);
		secrets_copy(s->net.secrets, c->order->secrets, false);
	}
	s->stem = c->stem ? stem_hold(c->stem) : NULL;
	s->stdin_fd = c->stdin_fd;
	s->points.max = c->n_checkpoints ? c->n_checkpoints : CHECKPOINTS_DEFAULT;
	snprintf(s->id, sizeof s->id, "%s", c->id);
	uv_timer_t *timers[] = {
		&s->wall.timer, &s->meter, &s->idle, &s->back.timer, &s->processes.late.timer};
	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		(void)uv_timer_init(s->engine->loop, timers[i]);
		timers[i]->data = s;
		s->n_handles++;
	}
	engine_hold(s->engine);
	return s;
}

int session_open(struct session **out, const struct session_config *c,
	const struct session_events *events, struct err *err)
{
	struct session *s = new_session(c);
	s->events = *events;
	deadline_start(&s->wall, on_open_late, OPEN_MS);
	int r = get_box(s, err);
	if (r < 0) {
		s->events.closed = NULL;
		session_close(s);
		return r;
	}
	*out = s;
	return 0;
}

void session_silence(struct session *s, const struct session_events *events)
{
	s->events = *events;
}

void session_take(struct session *s, const char *id, const struct session_events *events)
{
	s->events = *events;
	s->net.lost[0] = '\0'; /* that was nobody's */
	snprintf(s->id, sizeof s->id, "%s", id);
	/*
	 * Tell the drivers the session's new name (its id):
	 *
	 * - If the session was idle for long, send SETUP with the name now. This wakes the
	 *   drivers before the first step arrives.
	 * - Otherwise the first step tells the driver the name (is_unnamed).
	 *
	 * If the session has a seed, the drivers never get the name.
	 */
	bool is_told = !s->order->has_seed && uv_hrtime() - s->idle_ns > WAITED_NS;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].driver && is_told)
			(void)session_driver_setup(&s->drivers[i], SETUP_WARM, NULL);
		else
			s->drivers[i].is_unnamed = true;
}

void session_let_go_box(struct session *s)
{
	struct box *box = take_ptr(s->box);
	s->marked = s->last_mark;
	s->processes.n_usual = 0;
	if (!box)
		return;
	processes_leave(s, box, s->state == SESSION_CLOSING ? PROCESS_CLOSED : PROCESS_BOX_LEFT);
	networking_leave(s);
	box->marked = NULL;
	box_forget(box);
	box_let_go(box);
}

/* Give up the box with its drivers and checkpoints. The step's output is read before. The next
 * step gets another box. */
void session_lose_box(struct session *s)
{
	if (s->step_driver && s->step_driver->driver)
		driver_drain(s->step_driver->driver);
	session_drivers_lose(s);
	checkpoints_cut(&s->points, 0);
	/* Other holders may keep the box, so stop its callbacks to this session. */
	if (s->box) {
		box_forget(s->box);
		s->box->ended = NULL;
	}
	session_let_go_box(s);
}

void session_set_head(struct session *s, const char *step)
{
	session_move_head(s, step);
	processes_step_named(s, step);
	save_state_committed(s);
}

/* Return whether the state is lost: Python or the box ended between two steps, or a step
 * destroyed it. */
bool session_is_lost(const struct session *s)
{
	const struct driver *python = s->drivers[runtime_index(runtime_by_name("python"))].driver;
	bool has_base =
		s->box ? !s->box->is_over : s->branching || (s->stem && !stem_is_dead(s->stem));
	if (s->state != SESSION_OPEN || is_rolling_back(s) || s->restoring)
		return false;
	return s->is_lost || !has_base || (python && python->is_over);
}

bool session_is_spent(const struct session *s)
{
	return s->is_spent;
}

bool session_is_live(const struct session *s, const struct runtime *runtime)
{
	return s->drivers[runtime_index(runtime)].is_live;
}

uint64_t session_asked_ns(const struct session *s)
{
	return s->asked_ns;
}

struct box *session_box(const struct session *s)
{
	return s->box && s->box->has_init ? s->box : NULL;
}

void session_renew(struct session *s, struct stem *stem)
{
	/* A pending branch has the state that is being dropped, so cancel it. */
	if (s->branching)
		branching_forget(take_ptr(s->branching));
	session_lose_box(s);
	shadow_let_go(take_ptr(s->shadow));
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		state_text_let_go(take_ptr(s->drivers[i].state));
	session_touch(s);
	if (s->stem)
		stem_let_go(take_ptr(s->stem));
	s->stem = stem ? stem_hold(stem) : NULL;
	s->last_cpu_us = s->last_ooms = 0;
	/* The next box gets new random numbers, like a new session. */
	s->is_rewound = true;
	s->is_continuation = false;
	s->n_refused = 0;
	s->is_lost = false;
	/* The first checkpoint in the next box is of the state before all steps. */
	s->head[0] = '\0';
	s->is_spent = false;
}

/* Copy the states that are saved as text from the session @of, of which @s is a new branch. The
 * memory of Python and the files came with the branched box, so they are not copied here. */
void session_inherit(struct session *s, const struct session *of)
{
	struct checkpoint *c = s->points.n ? s->points.v[s->points.n - 1] : NULL;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++) {
		if (s->drivers[i].state)
			continue;
		s->drivers[i].state = state_text_hold(of->drivers[i].state);
		if (c && !c->states[i])
			c->states[i] = state_text_hold(of->drivers[i].state);
	}
}

int session_workspace_fd(const struct session *s)
{
	return s->box ? s->box->workspace_fd : -1;
}

/* Request a box, unless the session has a box or a branch is already being made. */
int session_get_box(struct session *s, struct err *err)
{
	return s->box || s->branching ? 0 : get_box(s, err);
}

/* ---- closing a session ---- */

static void free_session(struct session *s)
{
	struct session_events events = s->events;
	struct engine *e = s->engine;
	if (s->has_record)
		record_done(&s->record);
	workspace_done(&s->before);
	for (size_t i = 0; i < RESTORE_SCRATCH; i++)
		workspace_done(&s->scratch[i]);
	shadow_let_go(s->shadow);
	shadow_let_go(s->kept);
	json_decref(s->lost);
	json_decref(s->processes.others);
	step_order_let_go(s->step);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		state_text_let_go(s->drivers[i].state);
	free(s);
	if (events.closed)
		events.closed(events.arg);
	engine_release(e);
}

void session_handle_gone(struct session *s)
{
	if (--s->n_handles == 0)
		free_session(s);
}

void session_close(struct session *s)
{
	if (s->state == SESSION_CLOSING)
		return;
	s->state = SESSION_CLOSING;
	s->step_state = STEP_NONE;
	s->listener = NULL;
	tool_calls_end(s);
	consent_withdraw(s);
	session_set_urgent(s, false);
	s->stemmed = NULL;
	s->rollback.undone = NULL;
	s->named = NULL;
	restore_cancel(s);
	change_cancel(s);
	if (s->rollback.target)
		checkpoint_let_go(take_ptr(s->rollback.target));
	if (s->branching)
		branching_forget(take_ptr(s->branching));
	session_end_loan(s);
	session_touch(s);
	if (s->stem)
		stem_let_go(take_ptr(s->stem));
	if (s->has_stdin_copy)
		stdin_copy_stop(&s->stdin_copy);
	if (s->box)
		s->box->made = NULL;
	session_lose_box(s);
	processes_close(s);
	networking_close(s);
	close_handle(s, &s->wall.timer);
	close_handle(s, &s->meter);
	close_handle(s, &s->idle);
	close_handle(s, &s->back.timer);
	close_handle(s, &s->processes.late.timer);
}
