/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/sliced_work.h"

#include "base/timer.h"

#include <stdlib.h>

/* In line, of one owner: each is a caller who waits, or went away. */
enum { WORKS_MAX = 256, PAUSE_MS = 1, LONG_MS = 10 };
static const uint64_t SLICE_NS = 5000000;

struct slices {
	uv_timer_t timer;
	struct slices_work *first; /* the oldest */
	struct slices_work *away;  /* in a thread */
	uint64_t n_served;
};

static void answer(struct slices_work *work, const struct err *why)
{
	registry_done_fn *done = work->done;
	void *arg = work->arg;
	struct err err;
	json_t *out = work->end(work, !why);
	if (!why && !out)
		err_set(&err, ERR_NO_MEMORY, "no memory for the answer");
	done(arg, why ? NULL : out, why ? why : &err);
	json_decref(out);
}

static void take_out(struct slices_work **at, struct slices_work *work)
{
	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
}

static void on_turn(uv_timer_t *timer);

static void put_last(struct slices *s, struct slices_work *work)
{
	struct slices_work **last = &s->first;
	while (*last)
		last = &(*last)->next;
	work->next = NULL;
	*last = work;
	if (!uv_is_active((uv_handle_t *)&s->timer))
		timer_start(&s->timer, on_turn, PAUSE_MS, 0);
}

static void do_away(uv_work_t *thread)
{
	struct slices_work *work = thread->data;
	work->away(work);
}

static void on_back(uv_work_t *thread, int status)
{
	struct slices_work *work = thread->data;
	(void)status;	   /* it is never cancelled */
	if (!work->done) { /* it was answered when the engine stopped */
		json_decref(work->end(work, false));
		return;
	}
	struct slices *s = work->registry->roll->slices;
	take_out(&s->away, work);
	put_last(s, work);
}

static int send_away(struct slices_work *work)
{
	struct slices *s = work->registry->roll->slices;
	work->thread.data = work;
	int r = uv_queue_work(s->timer.loop, &work->thread, do_away, on_back);
	if (r == 0) {
		work->next = s->away;
		s->away = work;
	}
	return r;
}

/* Returns: 1 when there is more, SLICES_AWAY, or 0 or less when it was answered. */
static int do_slice(struct slices *s, struct slices_work *work)
{
	uint64_t began_ns = uv_hrtime();
	struct err err;
	int r;
	work->registry->n_slice = ++s->n_served;
	do
		r = work->part(work, &err);
	while (r == 1 && uv_hrtime() - began_ns < SLICE_NS);
	if (r == SLICES_AWAY && send_away(work) < 0) {
		err_set(&err, ERR_NO_MEMORY, "no memory for a thread");
		r = -ENOMEM;
	}
	if (r <= 0)
		answer(work, r < 0 ? &err : NULL);
	return r;
}

static void put_back(struct slices *s, struct slices_work *work)
{
	work->next = s->first;
	s->first = work;
}

static void on_turn(uv_timer_t *timer)
{
	struct slices *s = timer->data;
	struct slices_work *next = s->first;
	uint64_t began_ms = timer_now(), pause_ms;
	for (struct slices_work *w = s->first; w; w = w->next)
		if (w->registry->n_slice < next->registry->n_slice)
			next = w;
	if (next) {
		take_out(&s->first,
			next); /* an answer may lead to other work, or to the end of all */
		if (do_slice(s, next) == 1)
			put_back(s, next);
	}
	/* Another's request needs more turns than one: after a slice that was long, because a step
	 * is large, the loop is free for as long. */
	pause_ms = timer_now() - began_ms;
	if (s->first)
		timer_start(&s->timer, on_turn, pause_ms > LONG_MS ? pause_ms : PAUSE_MS, 0);
}

static int check(const struct slices *s, const struct slices_work *work, struct err *err)
{
	size_t n = 0;
	if (!s)
		return err_set(err, ERR_GONE, "the engine is stopping");
	for (const struct slices_work *w = s->first; w; w = w->next)
		n += w->registry == work->registry;
	for (const struct slices_work *w = s->away; w; w = w->next)
		n += w->registry == work->registry;
	if (n < WORKS_MAX)
		return 0;
	err_set(err, ERR_QUOTA, "lists: %d are being made already", WORKS_MAX);
	return err_hint(err, "ask again when one of them is there");
}

void slices_begin(struct slices_work *work)
{
	struct slices *s = work->registry->roll->slices;
	struct err err;
	if (check(s, work, &err) < 0) {
		answer(work, &err);
		return;
	}
	if (!s->first && do_slice(s, work) != 1)
		return;
	put_last(s, work);
}

void slices_open(struct roll *roll)
{
	struct slices *s = calloc(1, sizeof *s);
	if (!s)
		return;
	s->timer.data = s;
	(void)uv_timer_init(roll->engine->loop, &s->timer);
	roll->slices = s;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void slices_stop(struct roll *roll)
{
	struct slices *s = take_ptr(roll->slices);
	struct err err;
	if (!s)
		return;
	err_set(&err, ERR_GONE, "the engine is stopping");
	while (s->first) {
		struct slices_work *work = s->first;
		s->first = work->next;
		answer(work, &err);
	}
	/* Those in a thread are freed when they are back. */
	while (s->away) {
		struct slices_work *work = s->away;
		s->away = work->next;
		registry_done_fn *done = take_ptr(work->done);
		done(work->arg, NULL, &err);
	}
	uv_close((uv_handle_t *)&s->timer, on_closed);
}
