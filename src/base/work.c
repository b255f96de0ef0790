/* SPDX-License-Identifier: Apache-2.0 */
#include "base/work.h"

#include "base/attr.h"

#include <stdbool.h>

/* Leave one of libuv's four threads free for work outside of this queue. */
enum { AT_ONCE = 3 };

/* The queue is static, because libuv has one thread pool per process. */
static struct {
	unsigned n_running;
	struct work *first[WORK_KIND_END_];
} line;

static void pump(void);

static void perform(uv_work_t *request)
{
	struct work *work = container_of(request, struct work, request);
	work->perform(work);
}

static void done(uv_work_t *request, int status)
{
	struct work *work = container_of(request, struct work, request);
	(void)status;
	work->done(work);
	line.n_running--;
	pump();
}

static struct work *take_first(void)
{
	for (size_t i = 0; i < WORK_KIND_END_; i++)
		if (line.first[i]) {
			struct work *work = line.first[i];
			line.first[i] = work->next;
			return work;
		}
	return NULL;
}

static void pump(void)
{
	struct work *work;
	while (line.n_running < AT_ONCE && (work = take_first())) {
		line.n_running++;
		if (uv_queue_work(work->loop, &work->request, perform, done) == 0)
			continue;
		work->perform(work);
		done(&work->request, 0);
	}
}

void work_begin(uv_loop_t *loop, enum work_kind kind, struct work *work,
	void (*perform_it)(struct work *work), void (*done_with)(struct work *work))
{
	*work = (struct work){.loop = loop, .perform = perform_it, .done = done_with};
	if (!loop) {
		perform_it(work);
		done_with(work);
		return;
	}
	struct work **last = &line.first[kind];
	while (*last)
		last = &(*last)->next;
	*last = work;
	pump();
}
