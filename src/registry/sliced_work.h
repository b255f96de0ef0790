/* Long work in the thread of the loop, done in slices. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * Work that reads thousands of rows of the journal would block the loop. So it is done in slices of
 * a few milliseconds, with turns of the loop between them. Works of one owner are done in order;
 * the owner who was served least recently is next.
 *
 * A part that cannot be divided may be done by a thread, if it uses no data of the loop.
 *
 * Embed the struct as the first member of the work's data: sliced_work_begin() takes ownership, and
 * `end` frees the data.
 */
enum { SLICED_WORK_AWAY = 2 };

struct sliced_work {
	struct sliced_work *next;
	uv_work_t thread;
	struct registry *registry;
	/* Do a small part. Returns: 1 when parts are left, SLICED_WORK_AWAY when `away` must be
	 * called next, 0 after the last part, or negative errno. */
	int (*part)(struct sliced_work *work, struct err *err);
	void (*away)(struct sliced_work *work); /* called in a thread; uses nothing but the work */
	/* Make the answer, and free the work. Owns: the caller decrefs. Returns: the answer, or
	 * NULL without memory. @is_good: no part failed; otherwise the answer is ignored. */
	json_t *(*end)(struct sliced_work *work, bool is_good);
	registry_done_fn *done;
	void *arg;
};

void sliced_work_begin(struct sliced_work *work);

/* Open the queue of works; stop it: unfinished works are answered with ERR_GONE. */
void sliced_work_open(struct session_table *table), sliced_work_stop(struct session_table *table);
