/* Long work in the thread of the event loop, done in slices. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * Work that reads thousands of rows of the journal would block the loop. So it is done in slices of
 * a few milliseconds, and the loop does other work between them. Works of one owner are done in
 * order. The next slice goes to the owner who has waited longest for one.
 *
 * A part that cannot be divided may be done by a thread, if it uses no data that belongs to the
 * loop.
 *
 * Embed the struct in the data of the work. sliced_work_begin() takes ownership of that data, and
 * `end` frees it.
 */
enum { SLICED_WORK_AWAY = 2 };

struct sliced_work {
	struct sliced_work *next;
	uv_work_t thread;
	struct registry *registry;
	/*
	 * Do a small part of the work in the thread of the loop.
	 * Returns:
	 * - 1: more parts are left;
	 * - SLICED_WORK_AWAY: the next part is too long for the loop: a thread must call away();
	 * - 0: this was the last part;
	 * - negative errno: the work has failed, and @err says why.
	 */
	int (*part)(struct sliced_work *work, struct err *err);
	/* Do one part of the work in a thread. away() must use nothing but the work's own data. It
	 * may be NULL if part() never returns SLICED_WORK_AWAY. */
	void (*away)(struct sliced_work *work);
	/*
	 * End the work and free it.
	 * - @is_good true: all parts were done. Return the answer, or NULL if memory is exhausted.
	 * - @is_good false: the work was refused, stopped, or has failed. The result is ignored.
	 * Owns: the caller decrefs the result.
	 */
	json_t *(*end)(struct sliced_work *work, bool is_good);
	registry_done_fn *done;
	void *arg;
};

void sliced_work_begin(struct sliced_work *work);

/* sliced_work_open(): make the queue. sliced_work_stop(): answer all unfinished works with
 * ERR_GONE. */
void sliced_work_open(struct session_table *table), sliced_work_stop(struct session_table *table);
