/*
 * Makes checkpoints: the saved state after each step.
 *
 * A checkpoint has three parts. The memory of Python is saved as a guard, a frozen clone of its
 * process. The state of other runtimes is saved as texts that their drivers have sent. save_files.c
 * saves the workspace's files. A checkpoint costs little: guard and driver share memory until one
 * of them writes to it, all checkpoints share unchanged files, and a runtime that did not run keeps
 * its previous guard or text.
 *
 * In a box that was just branched, Python needs no guard until it runs a step: the stem has the
 * same state, and another branch of the stem restores it.
 *
 * A rollback has to end every process that is newer than a checkpoint. If the guard was made right
 * after its step, its age tells which ones are newer. For all other checkpoints, init is told to
 * set a mark before the next step begins, and the step waits for init's confirmation
 * (save_state_is_marked()).
 *
 * Most of the work is done after the result was sent: the checkpoint is added when the step is
 * committed, it gets its name when the record has one, and the clone is requested when no caller
 * waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "sandbox/rollback.h"
#include "session/box/lost_files.h"

#include <stdio.h>
#include <string.h>

enum { GUARD_TEXT_BYTES = 60, GUARD_DETAIL_BYTES = 160 };

static struct checkpoint *newest(const struct session *s)
{
	return s->points.n ? s->points.v[s->points.n - 1] : NULL;
}

/* Return the name of the checkpoint of the state before the step, or NULL if that state is not
 * saved. A driver sends GUARD before it reads the next step, so the answer is known when that step
 * ends. */
const char *save_state_checkpoint(struct session *s)
{
	const struct checkpoint *c = checkpoints_find(&s->points, s->head);
	const struct session_driver *python = python_driver(s);
	/* after a rollback, the guard of the resumed process is made again */
	bool is_due = c && python->due_id && c->guard == python->guard;
	bool is_kept = c && (!c->guard || c->guard->fd >= 0 || is_due);
	if (!c && !s->box && s->stem) /* a rollback has just given up the box for the stem */
		is_kept = !stem_is_dead(s->stem);
	if (!is_kept || s->is_once)
		return NULL;
	snprintf(s->checkpoint, sizeof s->checkpoint, "c-%.12s", s->head[0] ? s->head : "root");
	return s->checkpoint;
}

static void on_marked(void *arg, uint32_t mark)
{
	struct session *s = arg;
	/* in a box that has ended no mark will be set; the step will notice that */
	s->marked = s->box && s->box->is_over ? s->last_mark : mark;
	step_proceed(s);
}

/* Have init set a mark: processes that start afterwards are newer than the newest checkpoint. */
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

/* Are the newer processes known without a mark? They are newer than the guard or, in an unchanged
 * branch, all processes of the box. */
static bool tells_itself(const struct checkpoint *c)
{
	return c->is_guard_own || (c->stem && !c->guard);
}

/* Can init tell earlier processes from those of the next step? Without a mark it can if the step
 * runs in Python and the guard's age tells. */
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

/* Set the mark early, so that the next step need not wait for init's confirmation. */
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

/* The stem lacks the client's change, so a Python branched from it needs a guard of its own now. */
void save_state_changed(struct session *s)
{
	struct session_driver *python = python_driver(s);
	if (python->driver && !python->guard)
		want_guard(python, ++s->last_id);
	save_state_begin(s);
}

/* Make a checkpoint of the step. Its guard and its name follow later, after the result. */
void save_state_step(struct session *s)
{
	struct session_driver *p = s->step_driver;
	p->is_live = true;
	if (s->step->is_rebuild)
		return;
	p->version = s->step_id;
	p->due_id = s->step_id;
	p->is_due_said = false;
	/* The stem lacks the files that a step of another runtime left, so Python needs a guard. */
	struct session_driver *python = python_driver(s);
	if (p == python || (python->driver && !python->guard))
		want_guard(python, s->step_id);
	add(s, "?", s->step_id);
}

/* Evict checkpoints and ask for guards, after the result was sent: cloning and ending a clone take
 * more CPU time than a short step. */
void save_state_done(struct session *s)
{
	if (s->is_once)
		return;
	checkpoints_evict(&s->points, s->points.max + 1);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		session_driver_ask_guard(&s->drivers[i]);
}

/* Note why the driver cannot be branched: what prevents a clone prevents a branch too, except a
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
		return; /* the state of such a runtime is a text */
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
		/* the next step has begun already, without a checkpoint */
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
		c->mark = 0; /* drop the mark: it is older than the guard */
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

/* Name the step's checkpoint like the step. */
void save_state_committed(struct session *s)
{
	for (unsigned i = 0; i < s->points.n; i++)
		if (s->points.v[i]->id == s->step_id)
			snprintf(s->points.v[i]->step, DIGEST_BYTES, "%s", s->head);
}
