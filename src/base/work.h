/* Work for another thread than the loop's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <uv.h>

/*
 * A loop that many wait for does nothing that takes it long: parsing and writing a text of more
 * than so many bytes is long.
 */
enum { WORK_BYTES = 256 << 10 };

/* Embedded in what it is done for, which stays where it is until `done` has been called. */
struct work {
	uv_work_t request;
	void (*perform)(struct work *work);
	void (*done)(struct work *work);
};

static inline void work_perform(uv_work_t *request)
{
	struct work *work = container_of(request, struct work, request);
	work->perform(work);
}

static inline void work_done(uv_work_t *request, int status)
{
	struct work *work = container_of(request, struct work, request);
	(void)status;
	work->done(work);
}

/*
 * Have @perform called in a thread, then @done in the loop's; in any case, once each. What @perform
 * reads nobody may change meanwhile. A JSON value that is shared may be read, its references are
 * counted atomically.
 * Blocks: does both at once when there is no loop (NULL), or no thread.
 */
static inline void work_begin(uv_loop_t *loop, struct work *work,
	void (*perform)(struct work *work), void (*done)(struct work *work))
{
	*work = (struct work){.perform = perform, .done = done};
	if (loop && uv_queue_work(loop, &work->request, work_perform, work_done) == 0)
		return;
	perform(work);
	done(work);
}
