/*
 * Branches a stem: the engine's part.
 *
 * The warden prepares a box and replies with descriptors. One is the engine's end of init's socket.
 * The engine sends the others to the stem's driver in a BRANCH frame, because the first process of
 * the branch needs them. The frame also has the streams and the channel of the new driver. From
 * then on the driver and the warden work together: the driver clones itself into the new
 * namespaces, and the warden furnishes the box around the clone. The warden replies again when the
 * box is furnished, and the new driver sends READY on its own channel. When both have arrived, the
 * branch is complete.
 *
 * If something fails before the warden's second reply, the engine still waits for that reply. It
 * always comes, because the warden has a deadline for each of its waits. After that reply, the stem
 * has a deadline for READY.
 *
 * A stem makes one branch after the other. While the driver makes one, the warden already prepares
 * the next, so that the driver never waits for a BRANCH frame. The warden makes at most
 * WIRE_BRANCHINGS_MAX branches of all stems at the same time. A stem that needs one more waits in
 * the engine's list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/box/stem.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/timer.h"
#include "session/box/driver.h"
#include "session/box/deadline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LEAVE_MS = 20,
	LEAVE_TRIES = 10,
	PREPARED_FDS = 4,
	READY_MS = 10000, /* time limit for READY; the program's at-fork hooks run before it */
	LEAST_MS = 1000,
};

/* A queue of branches, in the order in which they were requested. */
struct queue {
	struct branching *first, **last;
	unsigned n;
};

struct stem {
	unsigned n_refs;
	struct driver *driver; /* NULL after the driver has died */
	struct queue wanted;
	/* Branches that were requested from the warden. The driver is making the first one; the
	 * warden prepares the others. */
	struct queue making;
	/* Branches whose box is complete (the warden has replied that it is furnished), but
	 * whose driver has not sent READY yet. */
	struct queue arriving;
	uint64_t last_id;
	struct engine *engine;
	struct stem *next_waiting; /* next stem in the engine's list of waiting stems */
	bool is_waiting;
	/* Deadline for READY of the first branch in @arriving. When the last reference to the
	 * stem has been dropped, the timer is used to delay the end of the driver. */
	struct deadline late;
	unsigned n_tries;
	bool is_loan;	    /* the driver is borrowed, see stem_borrow() */
	struct loss behind; /* what each branch lacks besides its own losses */
};

struct branching {
	struct branching *next;
	struct queue *queue; /* the stem's queue in which this branch is */
	struct stem *stem;   /* counted reference */
	uint64_t id;	     /* id in the BRANCH frame */
	uint64_t late_ms;    /* latest time for READY, on the clock of timer_now() */
	struct box *box;
	struct driver *driver;
	/* Descriptors for the new driver's process, until they are sent to the stem's driver. */
	struct driver_ends ends;
	struct branch_order order;
	bool is_furnished, is_ready;
	struct err err; /* first failure */
	stem_branched_fn *done;
	void *arg;
};

static void start_next(struct stem *s);

static void add(struct queue *q, struct branching *b)
{
	b->next = NULL;
	b->queue = q;
	*q->last = b;
	q->last = &b->next;
	q->n++;
}

static void take_out(struct branching *b)
{
	struct branching **at = &b->queue->first;
	b->queue->n--;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	if (b->queue->last == &b->next)
		b->queue->last = at;
}

static struct stem *hold(struct stem *s)
{
	s->n_refs++;
	return s;
}

struct stem *stem_hold(struct stem *s)
{
	return hold(s);
}

bool stem_is_dead(const struct stem *s)
{
	return !s->driver || driver_has_ended(s->driver);
}

static void free_stem(uv_handle_t *handle)
{
	struct stem *s = handle->data;
	struct engine *e = s->engine;
	free(s);
	engine_release(e);
}

static void leave(struct stem *s)
{
	struct driver *d = take_ptr(s->driver);
	if (d) {
		driver_signal(d, SIGKILL);
		driver_let_go(d);
	}
	uv_close((uv_handle_t *)&s->late.timer, free_stem);
}

static void on_leave(uv_timer_t *timer)
{
	struct stem *s = timer->data;
	if (s->engine->n_urgent == 0 || ++s->n_tries == LEAVE_TRIES)
		leave(s);
	else
		timer_start(&s->late.timer, on_leave, LEAVE_MS, 0);
}

/* Drop a reference to the stem. When the last reference is dropped, the stem's driver is killed.
 * The driver's box ends too, unless something else references the box. To end a driver and a box
 * takes as long as to make a branch. So while the engine has urgent work, the end is put off for
 * a short time. */
void stem_let_go(struct stem *s)
{
	if (--s->n_refs > 0)
		return;
	if (s->engine->n_urgent == 0)
		leave(s);
	else
		timer_start(&s->late.timer, on_leave, LEAVE_MS, 0);
}

/* ---- events of a new branch's driver ---- */

static void on_late(uv_timer_t *timer);

static void watch_arrivals(struct stem *s)
{
	const struct branching *b = s->arriving.first;
	uint64_t now_ms = timer_now();
	/* Wait at least LEAST_MS, because a READY that has arrived may not be read yet. */
	if (b)
		deadline_start(&s->late, on_late,
			b->late_ms > now_ms + LEAST_MS ? b->late_ms - now_ms : LEAST_MS);
	else
		deadline_stop(&s->late);
}

static void finish(struct branching *b)
{
	struct stem *s = b->stem;
	struct driver *d = take_ptr(b->driver);
	bool is_good = b->err.code == ERR_NONE;
	take_out(b);
	watch_arrivals(s);
	s->engine->n_urgent--;
	box_let_go(b->box);
	if (d && (!is_good || !b->done)) {
		driver_let_go(d);
		d = NULL;
	}
	if (b->done)
		b->done(b->arg, d, is_good ? NULL : &b->err);
	driver_ends_close(&b->ends);
	free(b);
	start_next(s);
	stem_let_go(s);
}

/* Record @err as the reason why the branch has failed, unless an earlier failure is recorded.
 * finish() reports the failure to the caller who requested the branch. If the warden has already
 * sent its second reply for this branch, finish() is called now. Otherwise it is called when
 * that reply arrives. */
static void fail(struct branching *b, const struct err *err)
{
	if (b->err.code == ERR_NONE)
		b->err = *err;
	if (b->is_furnished)
		finish(b);
}

static void on_late(uv_timer_t *timer)
{
	struct stem *s = timer->data;
	struct err err;
	err_set(&err, ERR_GONE, "the branch was not ready within %d s", READY_MS / 1000);
	err_hint(&err, STEM_DEATH_HINT);
	if (s->arriving.first)
		fail(s->arriving.first, &err);
}

static int on_branch_frame(void *arg, struct driver *d, const struct frame *frame, struct err *err)
{
	struct branching *b = arg;
	if (frame->type != FRAME_READY)
		return err_set(err, ERR_PROTOCOL, "a frame of type %u before READY", frame->type);
	cleanup_json json_t *said =
		json_loadb(frame->data, frame->bytes, JSON_REJECT_DUPLICATES, NULL);
	loss_parse(&d->loss, said);
	loss_add(&d->loss, &b->stem->behind);
	b->is_ready = true;
	if (b->is_furnished)
		finish(b);
	return 0;
}

static void on_branch_exited(void *arg, struct driver *d, int status)
{
	struct err err;
	(void)d;
	(void)status;
	err_fail(&err, ERR_GONE, "its limit of memory or of open files may be too low",
		"the branch's driver died at its start");
	fail(arg, &err);
}

static void on_branch_broken(void *arg, struct driver *d, const struct err *err)
{
	(void)d;
	fail(arg, err);
}

static const struct driver_events branch_events = {
	.frame = on_branch_frame, .exited = on_branch_exited, .broken = on_branch_broken};

/* ---- events of the stem's own driver ---- */

void stem_hear(struct stem *s, const struct frame *frame)
{
	cleanup_json json_t *said =
		json_loadb(frame->data, frame->bytes, JSON_REJECT_DUPLICATES, NULL);
	const char *id = json_string_value(json_object_get(said, "id"));
	const char *error = json_string_value(json_object_get(said, "error"));
	struct branching *b = s->making.first;
	while (b && id && strtoull(id, NULL, 10) != b->id)
		b = b->next;
	if (b && id && error)
		err_fail(&b->err, ERR_GONE, "end or close it, then branch",
			"cannot be branched: %.200s", error);
}

static int on_stem_frame(void *arg, struct driver *d, const struct frame *frame, struct err *err)
{
	(void)d;
	(void)err;
	/* Ignore a GUARD that was requested before the driver became a stem. */
	if (frame->type == FRAME_BRANCHED)
		stem_hear(arg, frame);
	return 0;
}

static void lose_driver(struct stem *s)
{
	struct driver *d = take_ptr(s->driver);
	if (d)
		driver_let_go(d);
	/* Without a driver, start_next() fails the branches in @wanted. */
	if (s->making.n == 0)
		start_next(s);
}

static void on_stem_exited(void *arg, struct driver *d, int status)
{
	(void)d;
	(void)status;
	lose_driver(arg);
}

static void on_stem_broken(void *arg, struct driver *d, const struct err *err)
{
	(void)d;
	(void)err;
	lose_driver(arg);
}

static const struct driver_events stem_events = {
	.frame = on_stem_frame, .exited = on_stem_exited, .broken = on_stem_broken};

static struct stem *make_stem(struct driver *d)
{
	struct stem *s = xnew(struct stem);
	s->n_refs = 1;
	s->driver = d;
	s->wanted.last = &s->wanted.first;
	s->making.last = &s->making.first;
	s->arriving.last = &s->arriving.first;
	s->engine = d->box->engine;
	(void)uv_timer_init(s->engine->loop, &s->late.timer);
	s->late.timer.data = s;
	engine_hold(s->engine);
	return s;
}

struct stem *stem_new(struct driver *d)
{
	struct stem *s = make_stem(d);
	driver_listen(d, &stem_events, s);
	driver_be_stem(d);
	return s;
}

struct stem *stem_borrow(struct driver *d)
{
	struct stem *s = make_stem(d);
	s->is_loan = true;
	return s;
}

void stem_give_back(struct stem *s)
{
	s->driver = NULL;
	stem_let_go(s);
}

struct stem *stem_of_loan(struct driver *d, unsigned n_processes)
{
	d->is_stem = true; /* it became a stem by itself, so driver_be_stem() need not tell it */
	struct stem *s = stem_new(d);
	s->behind = d->loss;
	s->behind.n_processes = n_processes;
	return s;
}

unsigned stem_n_missing(const struct stem *s)
{
	return s->behind.n_processes;
}

/* ---- requests for branches, and the warden's two replies to each ---- */

/* Make the new driver's channel and pipes while the warden prepares the box. */
static void make_driver(struct branching *b)
{
	if (driver_new(&b->driver, b->box, b->stem->driver->runtime, -1, &b->ends, &b->err) < 0)
		return;
	driver_listen(b->driver, &branch_events, b);
	b->driver->id = 1; /* init gives this id to the first process of a branch */
	b->box->last_id = 1;
}

static int send_branch(struct branching *b, const int *fds, size_t n_fds, struct err *err)
{
	int all[PREPARED_FDS + WIRE_SPAWN_FDS], n = 0;
	for (size_t i = 1; i < n_fds; i++)
		all[n++] = fds[i];
	for (int i = 0; i < WIRE_SPAWN_FDS; i++)
		all[n++] = b->ends.fds[i];
	char order[96];
	snprintf(order, sizeof order, "{\"id\":\"%llu\"%s%s%s}", (unsigned long long)b->id,
		b->order.is_continuation ? ",\"reseed\":false" : "",
		b->order.is_warm ? ",\"warm\":true" : "", b->stem->is_loan ? ",\"lend\":true" : "");
	int r = driver_send_fds(b->stem->driver, FRAME_BRANCH, order, all, (size_t)n, err);
	driver_ends_close(&b->ends);
	return r;
}

static void on_prepared(struct warden_call *call, const int *fds, size_t n_fds)
{
	struct box *box = container_of(call, struct box, call);
	struct branching *b = box->arg;
	struct err err = {0};
	int r = n_fds != PREPARED_FDS
		? err_set(&err, ERR_PROTOCOL, "the warden gave %zu descriptors", n_fds)
		: box_take_init(box, fds[0], &err);
	if (r == 0 && !b->stem->driver)
		r = err_set(&err, ERR_GONE, "the driver to be branched has died");
	if (r == 0)
		r = b->err.code == ERR_NONE ? send_branch(b, fds, n_fds, &err) : -1;
	for (size_t i = box->has_init ? 1 : 0; i < n_fds; i++)
		(void)close(fds[i]);
	/* If the branch has failed here, @fds were closed and not sent to the stem's driver. The
	 * warden notices that, and reports the failure of the branch in its second reply. */
	if (r < 0)
		fail(b, &err);
}

/*
 * Choose the error that explains the failure best. The first error is kept, for example the
 * driver's from a BRANCHED frame. But ERR_GONE often says only that a socket was closed, so any
 * other error of the warden replaces it.
 */
static void take_refusal(struct branching *b, const struct err *err)
{
	if (b->stem->driver)
		driver_look(b->stem->driver);
	if (b->err.code == ERR_NONE || (b->err.code == ERR_GONE && err->code != ERR_GONE))
		b->err = *err;
	if (b->err.code == ERR_GONE && !b->err.hint[0])
		err_hint(&b->err, STEM_DEATH_HINT);
}

/* Kill the stem's driver if it did not respond to BRANCH in time, because it would fail every
 * further branch as well. A borrowed driver belongs to its session, so it stays. */
static void end_hanging(struct stem *s, const struct err *err)
{
	if (err->sys != ETIMEDOUT || !s->driver || s->is_loan)
		return;
	driver_signal(s->driver, SIGKILL);
	lose_driver(s);
}

static void wait_for_turn(struct stem *s)
{
	struct stem **at = &s->engine->waiting;
	if (s->is_waiting)
		return;
	while (*at)
		at = &(*at)->next_waiting;
	*at = hold(s);
	s->is_waiting = true;
}

/* Start branches of the waiting stems. A stem that has just finished a branch gets its next turn
 * after them. */
static void give_turns(struct engine *e)
{
	while (e->waiting && e->n_branching < WIRE_BRANCHINGS_MAX) {
		struct stem *s = e->waiting;
		e->waiting = take_ptr(s->next_waiting);
		s->is_waiting = false;
		start_next(s);
		stem_let_go(s);
	}
}

static void on_furnished(struct warden_call *call, const struct warden_reply *reply, const int *fds)
{
	struct box *box = container_of(call, struct box, call);
	struct branching *b = box->arg;
	box->is_calling = false;
	b->is_furnished = true;
	box->engine->n_branching--;
	give_turns(box->engine);
	if (reply->status == 0 && fds) {
		box_take_reply(box, reply, fds);
	} else {
		if (reply->op == WARDEN_BRANCHED)
			box_take_number(box, reply);
		take_refusal(b, &reply->err);
		end_hanging(b->stem, &reply->err);
	}
	if (b->is_ready || b->err.code != ERR_NONE) {
		finish(b);
		return;
	}
	struct stem *s = b->stem;
	take_out(b);
	add(&s->arriving, b);
	b->late_ms = timer_now() + READY_MS;
	watch_arrivals(s);
	start_next(s);
}

/* Fail a branch that was not started, because the stem's driver has died. */
static void refuse(struct branching *b)
{
	struct stem *s = b->stem;
	err_set(&b->err, ERR_GONE, "the driver to be branched has died");
	/* Remove the branch from the queue before done() is called, since done() may request
	 * another branch. */
	take_out(b);
	if (b->done)
		b->done(b->arg, NULL, &b->err);
	box_let_go(b->box);
	free(b);
	stem_let_go(s);
}

static void start_one(struct branching *b)
{
	struct stem *s = b->stem;
	if (!s->driver) {
		refuse(b);
		return;
	}
	take_out(b);
	add(&s->making, b);
	s->engine->n_urgent++;
	s->engine->n_branching++;
	b->box->depth = s->driver->box->depth + 1;
	b->box->arg = b;
	b->box->is_calling = true;
	b->box->call.prepared = on_prepared;
	b->box->call.done = on_furnished;
	warden_branch(s->engine->warden, &b->box->call, s->driver->box->number, &b->box->limits,
		b->order.binds, b->order.n_binds);
	make_driver(b);
}

static void start_next(struct stem *s)
{
	hold(s);
	while (s->wanted.first && s->making.n < WIRE_AHEAD_MAX) {
		if (s->engine->n_branching == WIRE_BRANCHINGS_MAX) {
			wait_for_turn(s);
			break;
		}
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed has been taken out */
		start_one(s->wanted.first);
	}
	stem_let_go(s);
}

struct branching *stem_branch(
	struct stem *s, const struct branch_order *order, stem_branched_fn *done, void *arg)
{
	if (stem_is_dead(s))
		return NULL;
	struct branching *b = xnew(struct branching);
	*b = (struct branching){.stem = hold(s),
		.box = box_new(s->engine, &order->limits),
		.ends = {{-1, -1, -1, -1}},
		.order = *order,
		.id = ++s->last_id,
		.done = done,
		.arg = arg};
	add(&s->wanted, b);
	start_next(s);
	return b;
}

void branching_forget(struct branching *b)
{
	b->done = NULL;
}
