/* Long work in the loop's thread, slice by slice. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * What reads thousands of rows of the journal would keep the loop from everybody else. So it is
 * done in slices of a few milliseconds, with turns of the loop between them: one work of an owner
 * after the other, and the owner is first who was served least recently.
 *
 * What takes long in one piece is done in a thread meanwhile, if it needs nothing of the loop's.
 *
 * Embedded, as the first member, in what is made: sliced_work_begin() takes it, and `end` frees it.
 */
enum { SLICED_WORK_AWAY = 2 };

struct sliced_work {
	struct sliced_work *next;
	uv_work_t thread;
	struct registry *registry;
	/* A small part. Returns: 1 when there is more, SLICED_WORK_AWAY when `away` comes next, 0
	 * when it was the last, or negative errno. */
	int (*part)(struct sliced_work *work, struct err *err);
	void (*away)(struct sliced_work *work); /* in a thread; touches nothing but the work */
	/* Owns: the caller decrefs. Returns: the answer, or NULL: no memory. @is_good: no part
	 * failed. */
	json_t *(*end)(struct sliced_work *work, bool is_good);
	registry_done_fn *done;
	void *arg;
};

void sliced_work_begin(struct sliced_work *work);

/* From now on; and not any more: what is under way is answered ERR_GONE. */
void sliced_work_open(struct session_table *table), sliced_work_stop(struct session_table *table);
