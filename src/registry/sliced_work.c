/*
 * Cooperative scheduling of long reads.
 *
 * The engine has one loop. A list of ten thousand steps blocks it for 100 ms, in which no other
 * client is served. So such work is a `struct sliced_work`. Its part() does a small piece and is
 * called again and again, for SLICE_NS at most. Then other work in the loop gets PAUSE_MS at least.
 * If one part took very long, other work gets as much time as the slice took.
 *
 * Fairness: works of one owner are done in order. The next slice goes to the owner who has waited
 * longest for one; each view of the registry stores when it had its last slice (n_slice). So a
 * client who asks for a hundred lists waits long for the hundredth, but delays the first list of
 * another client by only one slice.
 *
 * A part that is slow in itself, such as writing out a large text, may be done by a thread
 * (SLICED_WORK_AWAY). Meanwhile the work is not in the queue; when the thread is done, the work is
 * appended to the queue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/sliced_work.h"

#include "base/alloc.h"
#include "base/timer.h"

#include <stdlib.h>

/* WORKS_MAX: limit on unfinished works of one owner. PAUSE_MS: pause after a slice. LONG_MS: if
 * a slice took longer than this, the pause is as long as the slice. */
enum { WORKS_MAX = 256, PAUSE_MS = 1, LONG_MS = 10 };
static const uint64_t SLICE_NS = 5000000;

struct sliced_works {
	uv_timer_t timer;
	struct sliced_work *first; /* the queue */
	struct sliced_work *away;  /* list of works that threads are doing */
	uint64_t n_served;
};

static void answer(struct sliced_work *work, const struct err *why)
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

static void take_out(struct sliced_work **at, struct sliced_work *work)
{
	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
}

static void on_turn(uv_timer_t *timer);

static void put_last(struct sliced_works *s, struct sliced_work *work)
{
	struct sliced_work **last = &s->first;
	while (*last)
		last = &(*last)->next;
	work->next = NULL;
	*last = work;
	if (!uv_is_active((uv_handle_t *)&s->timer))
		timer_start(&s->timer, on_turn, PAUSE_MS, 0);
}

static void do_away(uv_work_t *thread)
{
	struct sliced_work *work = thread->data;
	work->away(work);
}

static void on_back(uv_work_t *thread, int status)
{
	struct sliced_work *work = thread->data;
	(void)status; /* works are never cancelled */
	/* If `done` is NULL, sliced_work_stop() has told the client already that the engine
	 * stops. This happened while the thread was busy. So only free the work. */
	if (!work->done) {
		json_decref(work->end(work, false));
		return;
	}
	struct sliced_works *s = work->registry->table->sliced;
	take_out(&s->away, work);
	put_last(s, work);
}

static int send_away(struct sliced_work *work)
{
	struct sliced_works *s = work->registry->table->sliced;
	work->thread.data = work;
	int r = uv_queue_work(s->timer.loop, &work->thread, do_away, on_back);
	if (r == 0) {
		work->next = s->away;
		s->away = work;
	}
	return r;
}

/* Do parts of @work for at most SLICE_NS. Returns: 1 when parts are left; SLICED_WORK_AWAY when a
 * thread does the next part; 0 or less when @work was answered and freed. */
static int do_slice(struct sliced_works *s, struct sliced_work *work)
{
	uint64_t began_ns = uv_hrtime();
	struct err err;
	int r;
	work->registry->n_slice = ++s->n_served;
	do
		r = work->part(work, &err);
	while (r == 1 && uv_hrtime() - began_ns < SLICE_NS);
	if (r == SLICED_WORK_AWAY && send_away(work) < 0) {
		err_set(&err, ERR_NO_MEMORY, "no memory for a thread");
		r = -ENOMEM;
	}
	if (r <= 0)
		answer(work, r < 0 ? &err : NULL);
	return r;
}

static void put_back(struct sliced_works *s, struct sliced_work *work)
{
	work->next = s->first;
	s->first = work;
}

static void on_turn(uv_timer_t *timer)
{
	struct sliced_works *s = timer->data;
	struct sliced_work *next = s->first;
	uint64_t began_ms = timer_now(), pause_ms;
	for (struct sliced_work *w = s->first; w; w = w->next)
		if (w->registry->n_slice < next->registry->n_slice)
			next = w;
	if (next) {
		/* Take the work out of the queue before it is answered: the answer may begin
		 * other work, or close the registry. */
		take_out(&s->first, next);
		if (do_slice(s, next) == 1)
			put_back(s, next);
	}
	/*
	 * A slice takes long if one part of the work is large, such as a large step. After a long
	 * slice, pause for as long as the slice took.
	 *
	 * The reason: to answer a request of another client, the loop needs several turns. If the
	 * pause is too short, the next long slice begins between these turns, and delays the answer
	 * a second time.
	 */
	pause_ms = timer_since(began_ms);
	if (s->first)
		timer_start(&s->timer, on_turn, pause_ms > LONG_MS ? pause_ms : PAUSE_MS, 0);
}

static int check(const struct sliced_works *s, const struct sliced_work *work, struct err *err)
{
	size_t n = 0;
	if (!s)
		return err_set(err, ERR_GONE, "the engine is stopping");
	for (const struct sliced_work *w = s->first; w; w = w->next)
		n += w->registry == work->registry;
	for (const struct sliced_work *w = s->away; w; w = w->next)
		n += w->registry == work->registry;
	if (n < WORKS_MAX)
		return 0;
	return err_fail(err, ERR_QUOTA, "ask again when one of them is done",
		"lists: %d are in progress already", WORKS_MAX);
}

void sliced_work_begin(struct sliced_work *work)
{
	struct sliced_works *s = work->registry->table->sliced;
	struct err err;
	if (check(s, work, &err) < 0) {
		answer(work, &err);
		return;
	}
	if (!s->first && do_slice(s, work) != 1)
		return;
	put_last(s, work);
}

void sliced_work_open(struct session_table *table)
{
	struct sliced_works *s = xnew(struct sliced_works);
	s->timer.data = s;
	(void)uv_timer_init(table->engine->loop, &s->timer);
	table->sliced = s;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void sliced_work_stop(struct session_table *table)
{
	struct sliced_works *s = take_ptr(table->sliced);
	struct err err;
	if (!s)
		return;
	err_set(&err, ERR_GONE, "the engine is stopping");
	while (s->first) {
		struct sliced_work *work = s->first;
		s->first = work->next;
		answer(work, &err);
	}
	/* Other works are being done by threads. Answer the clients of these works now, without
	 * waiting for the threads. When a thread is done with its work, on_back() frees the
	 * work. */
	while (s->away) {
		struct sliced_work *work = s->away;
		s->away = work->next;
		registry_done_fn *done = take_ptr(work->done);
		done(work->arg, NULL, &err);
	}
	uv_close((uv_handle_t *)&s->timer, on_closed);
}
