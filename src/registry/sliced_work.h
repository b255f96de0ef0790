/* Long work in the loop's thread, slice by slice. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/find.h"

/*
 * What reads thousands of rows of the journal would keep the loop from everybody else. So it is
 * done in slices of a few milliseconds, with turns of the loop between them: one work of an owner
 * after the other, and the owner is first who was served least recently.
 *
 * What takes long in one piece is done in a thread meanwhile, if it needs nothing of the loop's.
 *
 * Embedded, as the first member, in what is made: slices_begin() takes it, and `end` frees it.
 */
enum { SLICES_AWAY = 2 };

struct slices_work {
	struct slices_work *next;
	uv_work_t thread;
	struct registry *registry;
	/* A small part. Returns: 1 when there is more, SLICES_AWAY when `away` comes next, 0 when
	 * it was the last, or negative errno. */
	int (*part)(struct slices_work *work, struct err *err);
	void (*away)(struct slices_work *work); /* in a thread; touches nothing but the work */
	/* Owns: the caller decrefs. Returns: the answer, or NULL: no memory. @is_good: no part
	 * failed. */
	json_t *(*end)(struct slices_work *work, bool is_good);
	registry_done_fn *done;
	void *arg;
};

void slices_begin(struct slices_work *work);

/* From now on; and not any more: what is under way is answered ERR_GONE. */
void slices_open(struct roll *roll), slices_stop(struct roll *roll);
