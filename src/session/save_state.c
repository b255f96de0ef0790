/*
 * Makes checkpoints: the saved state after each step.
 *
 * A checkpoint has three parts. The memory of Python is saved as a guard, a frozen clone of its
 * process. The state of each other runtime is saved as a text that its driver has sent.
 * save_files.c saves the workspace's files.
 *
 * A checkpoint costs little. Guard and driver share memory until one of them writes to it, all
 * checkpoints share unchanged files, and a runtime that did not run keeps its previous guard or
 * text.
 *
 * In a box that was just branched, Python needs no guard until it runs a step: the stem has the
 * same state, and another branch of the stem restores it.
 *
 * A rollback has to end every process that is newer than a checkpoint. If the guard was made right
 * after its step, these are the processes newer than the guard. For all other checkpoints, init is
 * told to set a mark before the next step begins, and the step waits for init's confirmation
 * (save_state_is_marked()).
 *
 * Most of the work is done after the result was sent. The checkpoint is added when the step is
 * committed, it gets its name when the record has one, and the clone is requested when no caller
 * waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "base/timer.h"
#include "sandbox/rollback.h"
#include "session/box/lost_files.h"

#include <stdio.h>
#include <string.h>

enum { GUARD_TEXT_BYTES = 60, GUARD_DETAIL_BYTES = 160 };

static struct checkpoint *newest(const struct session *s)
{
	return s->points.n ? s->points.v[s->points.n - 1] : NULL;
}

/*
 * Return the name of the checkpoint of the state before the current step. NULL if that state is not
 * saved.
 * This function is called when the step has ended. By then the driver has reported whether it made
 * a guard of that state: it sends its GUARD frame before it reads the next step.
 */
const char *save_state_checkpoint(struct session *s)
{
	const struct checkpoint *c = checkpoints_find(&s->points, s->head);
	const struct session_driver *python = python_driver(s);
	/* After a rollback, the driver that was resumed still has to make its new guard. Until
	 * then, the checkpoint counts as saved. */
	bool is_due = c && python->due_id && c->guard == python->guard;
	bool is_kept = c && (!c->guard || c->guard->fd >= 0 || is_due);
	/* If a rollback has just given up the box, the stem has the state. */
	if (!c && !s->box && s->stem)
		is_kept = !stem_is_dead(s->stem);
	if (!is_kept || s->is_once)
		return NULL;
	snprintf(s->checkpoint, sizeof s->checkpoint, "c-%.12s", s->head[0] ? s->head : "root");
	return s->checkpoint;
}

static void on_marked(void *arg, uint32_t mark)
{
	struct session *s = arg;
	/* If the box has ended, init will never set the mark for which the step waits. So
	 * pretend that the mark is set. The step will then notice that the box has ended. */
	s->marked = s->box && s->box->is_over ? s->last_mark : mark;
	step_proceed(s);
}

/* Have init set a mark. Then init knows that processes that start later are newer than the
 * newest checkpoint. */
static void mark(struct session *s)
{
	struct checkpoint *c = newest(s);
	if (!c || !s->box)
		return;
	c->mark = ++s->last_mark;
	s->box->marked = on_marked;
	s->box->marked_arg = s;
	init_mark(&s->box->init, c->mark);
}

/*
 * Return whether init needs no mark to find the processes that are newer than @c. There are two
 * such cases:
 *
 * - The guard of @c was made right after the step. The newer processes are those that started after
 *   the guard.
 * - @c has a stem and no guard. The session would return to @c in a new branch of the stem, so no
 *   process of the present box is kept.
 */
static bool tells_itself(const struct checkpoint *c)
{
	return c->is_guard_own || (c->stem && !c->guard);
}

/*
 * Return whether init can already distinguish the processes that exist now from the processes that
 * the next step will start. This is necessary because a rollback of the next step ends only the
 * latter.
 *
 * - If no rollback is possible, because there is no checkpoint, the result is true.
 * - If the step runs in Python and tells_itself() is true, init needs no mark: the result is true.
 * - In all other cases init needs a mark. That is the number of a moment that init remembers. If
 *   the newest checkpoint has no mark yet, this function has init set one. The result is true when
 *   init has confirmed the mark.
 */
bool save_state_is_marked(struct session *s, const struct runtime *runtime)
{
	const struct checkpoint *c = newest(s);
	if (s->is_once || !c || (runtime->carry == CARRY_MEMORY && tells_itself(c)))
		return true;
	if (!c->mark)
		mark(s);
	return s->marked == s->last_mark;
}

static bool has_due(const struct session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].due_id)
			return true;
	return false;
}

/* If the newest checkpoint needs a mark, have init set the mark now. Then the next step need not
 * wait until init has confirmed the mark. */
static void mark_early(struct session *s)
{
	const struct checkpoint *c = newest(s);
	if (c && !c->mark && !tells_itself(c) && !has_due(s))
		mark(s);
}

static void add(struct session *s, const char *step, uint64_t id)
{
	const struct session_driver *python = python_driver(s);
	struct checkpoint *c = checkpoint_new(step, id);
	c->made_ns = lost_files_now_ns();
	c->guard = guard_hold(python->guard);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++) {
		c->states[i] = state_text_hold(s->drivers[i].state);
		c->versions[i] = s->drivers[i].version;
	}
	checkpoints_add(&s->points, c);
	mark_early(s);
}

void save_state_begin(struct session *s)
{
	if (s->is_once || s->is_template)
		return;
	add(s, s->head, 0);
	if (s->base && s->points.n > 0)
		newest(s)->stem = stem_hold(s->base);
}

static void want_guard(struct session_driver *p, uint64_t id)
{
	guard_let_go(p->guard);
	p->guard = guard_new(p->session->box);
	p->due_id = id;
	p->is_due_said = false;
}

/* Make a checkpoint after a client has changed a file. If the Python driver has no guard, a
 * rollback to the checkpoint would need a branch of the session's stem. But the stem lacks the
 * change. So have the Python driver make a guard. */
void save_state_changed(struct session *s)
{
	struct session_driver *python = python_driver(s);
	if (python->driver && !python->guard)
		want_guard(python, ++s->last_id);
	save_state_begin(s);
}

/* A process of a client runs. If only a branch of a stem has the newest state, a rollback would
 * leave the box, and the process would end. So have the Python driver make a guard, unless a step
 * is changing the state now. */
void save_state_stay(struct session *s)
{
	struct session_driver *python = python_driver(s);
	struct checkpoint *c = newest(s);
	if (!session_is_idle(s) || !python->driver || python->guard || !c || c->guard)
		return;
	want_guard(python, ++s->last_id);
	c->guard = guard_hold(python->guard);
	timer_start(&s->idle, session_on_idle, 0, 0);
}

/* Make a checkpoint of the state after the step. Its guard and its name are added later, after
 * the result. */
void save_state_step(struct session *s)
{
	struct session_driver *p = s->step_driver;
	p->is_live = true;
	if (s->step->is_rebuild || s->is_spent)
		return;
	p->version = s->step_id;
	p->due_id = s->step_id;
	p->is_due_said = false;
	/* If the Python driver has no guard, a rollback to the new checkpoint would need a
	 * branch of the session's stem. But the stem lacks the files that this step has left. So
	 * have the Python driver make a guard, even if another runtime ran the step. */
	struct session_driver *python = python_driver(s);
	if (p == python || (python->driver && !python->guard))
		want_guard(python, s->step_id);
	add(s, "?", s->step_id);
}

/* Evict old checkpoints, and have the drivers make guards. This is done only after the result of
 * the step was sent: a guard is a clone of a process, and to make or to end such a clone takes
 * more CPU time than a short step. */
void save_state_done(struct session *s)
{
	if (s->is_once)
		return;
	checkpoints_evict(&s->points, s->points.max + 1);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		session_driver_ask_guard(&s->drivers[i]);
}

/* Note why the driver cannot be branched. What prevents a clone also prevents a branch, except a
 * lack of memory or processes. */
static void take_barred(struct session_driver *p, const json_t *guard)
{
	const char *said = json_string_value(json_object_get(guard, "barred"));
	const char *clone = strstr(p->no_guard, "the program has");
	const char *why = said && said[0] ? said : clone ? clone : "";
	snprintf(p->barred, sizeof p->barred, "%.*s", GUARD_DETAIL_BYTES, why);
}

static void take_guard(struct session_driver *p, const json_t *guard)
{
	static const struct {
		const char *word, *text;
	} reasons[] = {
		{"threads", "no checkpoint: the program has other threads"},
		{"uncopied",
			"no checkpoint: the program has memory that no copy gets (MADV_DONTFORK)"},
		{"memory", "no checkpoint: the program's memory is too large for a copy"},
		{"processes", "no checkpoint: the session has as many processes as --pids allows"},
	};
	struct checkpoint *c = newest(p->session);
	const char *reason = json_string_value(json_object_get(guard, "reason"));
	const char *detail = json_string_value(json_object_get(guard, "detail"));
	uint64_t due_id = p->due_id;
	p->due_id = 0;
	if (p->runtime->carry != CARRY_MEMORY)
		return; /* this runtime sends its state as text */
	int fd = p->guard ? fd_take(&p->guard->due_fd) : -1;
	const json_t *pid = json_object_get(guard, "pid");
	if (!pid)
		fd_close(&fd);
	if (fd < 0 || !p->guard) {
		bool has_detail = detail && detail[0] && strlen(detail) <= GUARD_DETAIL_BYTES;
		snprintf(p->no_guard, sizeof p->no_guard, "no checkpoint: %.*s", GUARD_TEXT_BYTES,
			reason ? reason : "the driver made none");
		for (size_t i = 0; reason && i < ARRAY_LEN(reasons); i++)
			if (strcmp(reason, reasons[i].word) == 0)
				snprintf(p->no_guard, sizeof p->no_guard, "%s%s%s", reasons[i].text,
					has_detail ? ": " : "", has_detail ? detail : "");
		struct session *s = p->session;
		/* The driver has made no guard of the state that its last step left. If its next
		 * step is already running, that is the state before the running step. Then the
		 * record of the running step reports the reason. */
		if (s->step_driver == p && s->step_state != STEP_NONE && due_id != s->step_id)
			memcpy(s->no_guard, p->no_guard, sizeof s->no_guard);
		return;
	}
	p->no_guard[0] = '\0';
	fd_close(&p->guard->fd);
	p->guard->fd = fd;
	p->guard->pid = (int32_t)json_integer_value(pid);
	loss_parse(&p->guard->loss, guard);
	if (c && c->guard == p->guard) {
		c->is_guard_own = true;
		/* Delete the mark of the checkpoint. Init set the mark before the guard's
		 * process started. So a rollback to the moment of the mark would end the guard.
		 * A rollback without a mark ends only the processes that started after the
		 * guard. */
		c->mark = 0;
	}
}

void save_state_guard(struct session_driver *p, json_t *guard)
{
	struct session *s = p->session;
	take_guard(p, guard);
	take_barred(p, guard);
	mark_early(s);
	session_count(s);
	step_proceed(s);
}

/* Give the step's checkpoint the name of the step, which is known now. */
void save_state_committed(struct session *s)
{
	for (unsigned i = 0; i < s->points.n; i++)
		if (s->points.v[i]->id == s->step_id)
			snprintf(s->points.v[i]->step, DIGEST_BYTES, "%s", s->head);
}
