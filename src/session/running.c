/*
 * Runs a step: the actions of the table in step/step.c, and the clocks.
 *
 * session_run() requests a step. The step waits until the session has a box, no rollback is in
 * progress and the files are saved (try_send()). Then its code is sent to the driver in a STEP
 * frame. The driver responds with BEGIN when the code is about to run. If the driver is certainly
 * waiting for a frame, the step counts as begun when STEP is sent. Everything that happens
 * afterwards is an event for step_advance(), and step_event() performs the action that the table
 * returns.
 *
 * Three clocks end a step. The wall clock starts at BEGIN. It pauses while the step waits for a
 * tool or for stdin; with the pauses, a step may take up to ten times the limit. CPU time is
 * measured and, without a cgroup, so are memory and the number of processes. set_meter() chooses
 * the interval so that a limit cannot be exceeded by much. When time has run out, the step gets
 * SIGINT and a second of grace.
 *
 * The end has three parts. do_settle() stops the clocks and has transaction.c commit or roll back.
 * do_name() judges how the step ended, and has complete_record.c list files and compute the name.
 * do_finish() fills in what only the session knows, and calls `done`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "session/consent.h"
#include "session/inside.h"

#include "base/fd.h"
#include "base/json.h"
#include "session/box/lost_files.h"
#include "session/complete_record.h"
#include "session/module_near.h"
#include "session/step_frame.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	GRACE_MS = 1000, /* time from SIGINT until the step is killed */
	/* Time from SIGINT until the tool calls that are still pending get an error as response.
	 * SIGINT itself makes most calls end before that. */
	REFUSE_MS = 100,
	/* Interval between two measurements of the box's usage if the engine enforces the limit
	 * of memory. */
	MEMORY_WATCH_MS = 20,
	CPU_WATCH_MIN_MS = 10,
	/* Interval between two measurements of the box's usage while the session has earlier
	 * checkpoints, because old checkpoints must be dropped before memory runs out. */
	GUARD_WATCH_MS = 50,
};
_Static_assert(1 + 2 * RUNTIMES_MAX + CHECKPOINTS_MAX <= SPAWN_OWN, "init, drivers, guards");

/* ---- actions of the step table ---- */

void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why)
{
	if (s->step_state == STEP_NONE) {
		if (event == STEP_BROKEN)
			change_proceed(s, why);
		return;
	}
	if (s->end.cause == STEP_CAUSE_NONE && !step_is_over(s->step_state)) {
		snprintf(s->why, sizeof s->why, "%s", why ? why : "");
		s->end.cause = cause;
		s->end.why = s->why;
	}
	step_event(s, event);
}

static void on_wall(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->step_state != STEP_STOPPING) {
		step_stop(s, s->wall_cause, STEP_LIMIT, NULL);
	} else if (s->calls.first) {
		deadline_start_limit(&s->wall, on_wall, GRACE_MS - REFUSE_MS);
		tool_calls_refuse(s);
	} else {
		step_event(s, STEP_GRACE);
	}
}

static void start_wall(struct session *s, uint64_t ms, enum step_cause cause)
{
	s->wall_cause = cause;
	if (cause == STEP_CAUSE_WAIT)
		deadline_start(&s->wall, on_wall, ms);
	else
		deadline_start_limit(&s->wall, on_wall, ms);
}

/*
 * Start the wall clock, which stops the step after @ms. The clock also sets the cause of the stop:
 *
 * - Usually the cause is the limit of wall time.
 * - If the step has a `stop_ms`, the step has run before, and a caller interrupted it after that
 *   time. Now the step runs again. So it is stopped after the same time, and the cause is again an
 *   interrupt by a caller.
 */
static void start_own_wall(struct session *s, uint64_t ms)
{
	start_wall(s, ms, s->step->stop_ms ? STEP_CAUSE_CALLER : STEP_CAUSE_WALL);
}

/* The wall clock of a step can be paused, for example while the step waits for a tool call. With
 * its pauses, a step may take at most WALL_TIMES its limit of wall time. Return how many
 * milliseconds of this longest time remain. */
static uint64_t left_ms(const struct session *s)
{
	uint64_t limit_ms = s->record.limits.value[LIMIT_timeout_ms];
	uint64_t all_ms = MIN(limit_ms, UINT64_MAX / WALL_TIMES) * WALL_TIMES;
	uint64_t gone_ms = (uv_hrtime() - s->began_ns) / 1000000;
	return all_ms - MIN(gone_ms, all_ms);
}

void step_pause(struct session *s)
{
	s->paused_ns = uv_hrtime();
	s->wall_left_ms = uv_timer_get_due_in(&s->wall.timer);
	start_wall(s, left_ms(s), STEP_CAUSE_WAIT);
}

void step_resume(struct session *s)
{
	uint64_t left = left_ms(s);
	s->record.waited_ms += (double)(uv_hrtime() - s->paused_ns) / 1e6;
	if (s->step_state != STEP_RUNNING)
		return;
	if (s->wall_left_ms <= left)
		start_own_wall(s, s->wall_left_ms);
	else
		start_wall(s, left, STEP_CAUSE_WAIT);
}

static void send_interrupt(struct session *s)
{
	s->step_driver->is_interrupted = true;
	driver_signal(s->step_driver->driver, SIGINT);
}

void step_interrupt_again(struct session *s)
{
	if (s->step_driver && s->step_driver->driver && s->step_driver->is_interrupted)
		send_interrupt(s);
}

/* Measure the usage of the box before the code of the step runs. The step is not charged for
 * this usage. The start of an interpreter and the processes of earlier steps have caused it. */
static void take_base(struct session *s)
{
	s->is_base_due = true;
	/* If another measurement is pending, box_ask_usage() does not begin a second one. Then
	 * the pending measurement sets base_cpu_us. */
	if (s->box)
		(void)box_ask_usage(s->box, step_measured, s);
}

void step_began(struct session *s)
{
	if (s->began_ns || (s->step_state != STEP_RUNNING && s->step_state != STEP_STOPPING))
		return;
	uint64_t limit_ms = s->record.limits.value[LIMIT_timeout_ms];
	s->began_ns = uv_hrtime();
	/* Until now, the wall clock was for the start of the interpreter. Start it again, so
	 * that the step gets its full limit. */
	if (s->step_state == STEP_RUNNING)
		start_own_wall(s, s->step->stop_ms ? MIN(s->step->stop_ms, limit_ms) : limit_ms);
	else if (!s->is_once)
		send_interrupt(s);
	if (s->is_once)
		take_base(s);
	processes_step_began(s);
	/* Make the JSON of the record's limits while the driver works. */
	record_say_limits(&s->record);
	consent_begin(s);
	if (s->events.begin)
		s->events.begin(s->events.arg);
}

static void do_interrupt(struct session *s)
{
	bool is_waiting = tool_calls_stop(s);
	consent_withdraw(s);
	if (!s->step_driver || !s->step_driver->driver)
		step_event(s, STEP_GRACE); /* no driver has the code, so end the step at once */
	else if (s->began_ns || s->is_once)
		/* The code has begun, or the session is in `once` mode, so send SIGINT now. In
		 * other cases step_began() will send SIGINT when the code begins. */
		send_interrupt(s);
	if (s->step_state == STEP_STOPPING)
		deadline_start_limit(&s->wall, on_wall, is_waiting ? REFUSE_MS : GRACE_MS);
}

/* Record the times of the step first, because to settle the step takes time. Then settle it:
 * stop its clocks, and have transaction.c commit the step or roll it back. */
static void do_settle(struct session *s)
{
	uint64_t now = uv_hrtime();
	s->record.wall_ms = (double)(now - (s->began_ns ? s->began_ns : s->asked_ns)) / 1e6;
	s->record.queued_ms = s->began_ns ? (double)(s->began_ns - s->asked_ns) / 1e6 : 0;
	tool_calls_end(s);
	consent_forget(s);
	deadline_stop(&s->wall);
	(void)uv_timer_stop(&s->meter);
	transaction_settle(s);
}

static void add_notice(struct session *s, const char *text)
{
	size_t at = strlen(s->told);
	snprintf(s->told + at, sizeof s->told - at, "%s%s", at && text[0] ? "; " : "", text);
}

/* Move the notices into the record: that leftover processes were killed, that processes of clients
 * ended with their box, and what the state has lost. Before the first step no state can be lost, so
 * then the last notice is dropped. */
static void say_notice(struct session *s)
{
	char ended[LOSS_BYTES] = "", lost[LOSS_BYTES];
	unsigned n = s->step->is_again ? 0 : s->processes.n_ended;
	if (n > 0)
		snprintf(ended, sizeof ended,
			"ended with their box: %u process%s that clients had started", n,
			n == 1 ? "" : "es");
	s->told[0] = '\0';
	add_notice(s, s->idle_limits.said_now ? s->idle_limits.said_now : "");
	add_notice(s, ended);
	networking_tell(s, lost, sizeof lost);
	add_notice(s, lost);
	add_notice(s, s->head[0] ? s->notice : "");
	s->processes.n_ended -= n;
	s->notice[0] = '\0';
	s->record.notice = s->told[0] ? s->told : NULL;
	if (!s->record.reason)
		s->record.reason = s->record.notice;
}

static void do_name(struct session *s)
{
	step_judge(&s->record, &s->end);
	step_order_note_written(s->step);
	complete_record(s);
}

static void forget_step(struct session *s)
{
	s->step_driver = NULL;
	s->listener = NULL;
	step_order_let_go(take_ptr(s->step));
	session_set_urgent(s, false);
}

static void do_finish(struct session *s)
{
	module_near_tell(s);
	s->record.checkpoint = save_state_checkpoint(s);
	s->record.files_lost = s->end.outcome == RECORD_ROLLED_BACK || s->end.outcome == RECORD_LOST
		? s->lost
		: NULL;
	if (s->record.outcome == RECORD_ROLLED_BACK && s->record.tools.tools)
		s->record.reason = "effects of its tool calls outside the box are not undone";
	if (s->idle_limits.said_now && s->record.outcome == RECORD_COMMITTED)
		s->record.reason = s->idle_limits.said_now;
	else if (s->no_guard[0] && (!s->record.reason || s->record.outcome == RECORD_LOST))
		s->record.reason = s->no_guard;
	say_notice(s);
	processes_tell(s);
	forget_step(s);
	s->idle_ns = uv_hrtime();
	idle_limits_watch(s);
	s->events.done(s->events.arg, &s->record);
	/* `done` may have started the next step or closed the session. */
	if (s->step_state != STEP_NONE || s->state != SESSION_OPEN)
		return;
	record_renew(&s->record, &s->limits); /* free the output, which can be large */
	timer_start(&s->idle, session_on_idle, 0, 0);
}

void step_event(struct session *s, enum step_event event)
{
	struct step_move move = step_advance(s->step_state, event);
	/* Output that is still in the pipes belongs to the step, so read it first. */
	if (move.action == STEP_NAME && s->step_driver && s->step_driver->driver)
		driver_drain(s->step_driver->driver);
	s->step_state = move.next;
	switch (move.action) {
	case STEP_IGNORE:
		break;
	case STEP_INTERRUPT:
		do_interrupt(s);
		break;
	case STEP_SETTLE:
		do_settle(s);
		break;
	case STEP_NAME:
		networking_report(s, do_name);
		break;
	case STEP_FINISH:
		do_finish(s);
		break;
	}
}

void step_take_output(struct session *s, int stream, const char *data, size_t bytes)
{
	if (!s->has_record || s->step_state == STEP_NONE || s->step_state == STEP_NAMING)
		return;
	int64_t n_head = capture_add(&s->record.out[stream], data, bytes);
	if (n_head < 0)
		step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, "the host has no memory for its output");
	else if (n_head > 0 && s->listener && s->listener->output)
		s->listener->output(s->listener->arg, stream, data, (size_t)n_head);
}

/* ---- resource usage of the box ---- */

void step_note_uncounted(struct session *s, const struct box_usage *u)
{
	if (u->is_uncounted && s->record.by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		s->record.by[LIMIT_memory_bytes] = LIMIT_BY_NONE;
}

static void on_meter(uv_timer_t *timer);

/* Schedule the next measurement so early that a limit cannot be exceeded by much until then. */
static void set_meter(struct session *s, uint64_t cpu_us)
{
	uint64_t limit_us = s->record.limits.value[LIMIT_cpu_ms] * 1000;
	uint64_t left_us = cpu_us < limit_us ? limit_us - cpu_us : 0;
	uint64_t n_cpus = MAX(s->limits.value[LIMIT_cpu_milli] / 1000, 1);
	uint64_t delay_ms = MAX(left_us / n_cpus / 1000, (uint64_t)CPU_WATCH_MIN_MS);
	if (!s->box || s->box->by[LIMIT_cpu_milli] == LIMIT_BY_NONE)
		delay_ms = MIN(delay_ms, 100);
	if (s->points.n > 1)
		delay_ms = MIN(delay_ms, (uint64_t)GUARD_WATCH_MS);
	if (s->box && s->box->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE)
		delay_ms = MIN(delay_ms, (uint64_t)MEMORY_WATCH_MS);
	timer_start(&s->meter, on_meter, delay_ms, 0);
}

void step_measured(void *arg, const struct box_usage *u)
{
	struct session *s = arg;
	uint64_t limit = s->limits.value[LIMIT_memory_bytes];
	if (u)
		step_note_uncounted(s, u);
	if (u && s->is_base_due) {
		s->is_base_due = false;
		s->base_cpu_us = u->cpu_us;
	}
	if (!u || s->step_state == STEP_NONE || step_is_over(s->step_state))
		return;
	uint64_t cpu_us = u->cpu_us - MIN(u->cpu_us, s->base_cpu_us);
	uint64_t slack_us = s->end.is_cpu_following ? CPU_SLACK_US : 0;
	/* Drop old checkpoints, because the step needs their memory more. */
	if (u->memory_bytes > limit / 4 * 3)
		checkpoints_evict(&s->points, 1);
	/* If there are too many processes, memory is not measured (see proc_usage_read()), so
	 * check their number first. */
	if (s->box->by[LIMIT_pids] == LIMIT_BY_ENGINE &&
		u->n_pids > s->limits.value[LIMIT_pids] + SPAWN_OWN)
		step_stop(s, STEP_CAUSE_PIDS, STEP_MEMORY, NULL);
	else if (s->box->by[LIMIT_memory_bytes] == LIMIT_BY_ENGINE && u->memory_bytes > limit)
		step_stop(s, STEP_CAUSE_MEMORY, STEP_MEMORY, NULL);
	else if (cpu_us >= s->record.limits.value[LIMIT_cpu_ms] * 1000 + slack_us &&
		session_has_processes(s))
		processes_stop_step(s);
	else if (cpu_us >= s->record.limits.value[LIMIT_cpu_ms] * 1000 + slack_us)
		step_stop(s, STEP_CAUSE_CPU, STEP_LIMIT, NULL);
	if (s->step_state != STEP_NONE && !step_is_over(s->step_state))
		set_meter(s, cpu_us);
}

static void on_meter(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->box)
		(void)box_ask_usage(s->box, step_measured, s);
}

/* ---- requesting a step, and sending it ---- */

static int send_step(struct session *s, struct session_driver *p, struct err *err)
{
	uint64_t id = ++s->last_id;
	bool is_begun = session_driver_is_waiting(p);
	json_t *step = step_frame_make(s, id, err);
	if (!step)
		return -EINVAL;
	if (is_begun)
		(void)json_object_set_new(step, "begun", json_true());
	if (!s->is_once && !s->step->is_script && s->points.max > 0)
		(void)json_object_set_new(step, "checkpoint", json_true());
	if (p->is_unnamed && p->runtime->carry == CARRY_MEMORY && !s->order->has_seed &&
		!s->is_once)
		(void)json_object_set_new(step, "session", json_string(s->id));
	p->is_unnamed = s->is_warm_due = false;
	s->is_spent = s->step->is_script;
#define TELL(member, name, is_told, help)                                                          \
	if ((is_told) && s->step->member)                                                          \
		(void)json_object_set_new(step, name, json_true());
	STEP_FLAGS(TELL)
#undef TELL
	s->sent_ns = lost_files_now_ns();
	int r = step_frame_add_stdin(s, p->runtime, step, err);
	if (r == 0)
		r = driver_send_fd(p->driver, FRAME_STEP, step, s->step->stdin_fd, err);
	fd_close(&s->step->stdin_fd);
	json_decref(step);
	s->step_id = id;
	p->is_interrupted = false;
	memcpy(s->no_guard, p->no_guard, sizeof s->no_guard);
	if (r == 0 && is_begun)
		step_began(s);
	return r;
}

/* Return whether the driver of another runtime is making a guard. If so, the step must wait. A
 * rollback ends all processes that started during the step, so it would also end a guard that
 * was made during the step. */
static bool has_other_due(const struct session *s, const struct runtime *runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].due_id && s->drivers[i].runtime != runtime)
			return true;
	return false;
}

/* Send the requested step. Returns: 0; 1 if the step has to wait; negative errno. */
static int try_send(struct session *s, struct err *err)
{
	const struct runtime *runtime = s->step->runtime ? s->step->runtime : s->order->runtime;
	save_state_done(s);
	if (s->restoring || is_rolling_back(s) || has_other_due(s, runtime) ||
		!save_state_is_marked(s, runtime))
		return 1;
	if (!session_box(s)) { /* the box is missing or being made */
		int r = session_get_box(s, err);
		return r < 0 ? r : 1;
	}
	/* The driver has ended while the step waited. A new one would lack the state. */
	if (s->was_live && !session_is_live(s, runtime) && step_give_back(s))
		return 1;
	/* Save the files before the step can change them. */
	if (!save_files_before(s))
		return 1;
	int r = networking_await(s, err);
	if (r != 0)
		return r;
	memcpy(s->record.by, s->box->by, sizeof s->record.by);
	consent_forget(s);
	step_event(s, STEP_SENT);
	session_touch(s);
	r = session_driver_ensure(s, runtime, &s->step_driver, err);
	if (r == 0)
		r = send_step(s, s->step_driver, err);
	if (r == 0 && !s->is_once)
		take_base(s);
	if (r == 0)
		set_meter(s, 0);
	return r;
}

void step_proceed(struct session *s)
{
	struct err err;
	change_proceed(s, NULL);
	int r = s->step_state == STEP_ASKED ? try_send(s, &err) : 0;
	if (r >= 0)
		return;
	s->end.why_code = err.code;
	step_stop(s, STEP_CAUSE_BOX, STEP_BROKEN, err.msg);
}

static void withdraw(struct session *s)
{
	deadline_stop(&s->wall);
	s->step_state = STEP_NONE;
	forget_step(s);
}

bool step_give_back(struct session *s)
{
	if (s->step_state != STEP_ASKED || s->step->is_again || !s->events.unbegun)
		return false;
	withdraw(s);
	s->events.unbegun(s->events.arg);
	return true;
}

bool session_is_idle(const struct session *s)
{
	return s->state == SESSION_OPEN && s->step_state == STEP_NONE && !s->restoring &&
		!is_rolling_back(s) && !s->loan;
}

int session_refuse_spent(struct err *err)
{
	return err_fail(err, ERR_GONE, "make a new session",
		"the session's last step was a script: only its files are left");
}

int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err)
{
	const struct runtime *runtime = order->runtime ? order->runtime : s->order->runtime;
	struct fence fence;
	if (s->is_spent)
		return session_refuse_spent(err);
	if (s->state != SESSION_OPEN || s->step_state != STEP_NONE ||
		is_rolling_back_for(s, ROLLBACK_UNDO) ||
		(s->restoring && !is_rolling_back_for(s, ROLLBACK_REVIVE)))
		return err_set(err, ERR_GONE, "the session is not open and idle");
	int r = fence_find(order, runtime, &fence, err);
	if (r < 0)
		return r;
	if (s->has_record)
		record_renew(&s->record, &s->limits);
	else
		record_init(&s->record, &s->limits);
	s->step = step_order_hold(order);
	s->listener = listener;
	s->fence = fence;
	s->end = (struct step_end){
		.is_session = !s->is_once, .is_cpu_following = s->limits.value[LIMIT_cpu_ms] == 0};
	s->began_ns = 0;
	s->calls = (struct tool_calls){0};
	s->asked_ns = uv_hrtime();
	s->base_cpu_us = s->last_cpu_us;
	s->base_ooms = s->last_ooms;
	s->has_record = true;
	s->is_base_due = s->is_shared_seen = false;
	idle_limits_tell(s);
	s->no_guard[0] = '\0';
	s->record.runtime = runtime->name;
	if (order->timeout_ms)
		s->record.limits.value[LIMIT_timeout_ms] = order->timeout_ms;
	limits_settle(&s->record.limits);
	memcpy(s->record.session, s->id, sizeof s->id);
	s->step_state = STEP_ASKED;
	s->was_live = runtime->carry == CARRY_REPLAY && session_is_live(s, runtime);
	session_set_urgent(s, true);
	start_wall(s, s->record.limits.value[LIMIT_timeout_ms], STEP_CAUSE_WALL);
	r = try_send(s, err);
	if (r >= 0)
		return 0;
	withdraw(s);
	return r;
}

void session_interrupt(struct session *s)
{
	/* A second interrupt ends the grace at once. */
	if (s->step_state == STEP_STOPPING && s->end.cause == STEP_CAUSE_CALLER)
		step_event(s, STEP_GRACE);
	else
		step_stop(s, STEP_CAUSE_CALLER, STEP_LIMIT, NULL);
}
