/* What is asked of a box while it runs. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/box.h"

/* Ask for its books, one question at a time. Returns: false while another is under way. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Whoever asked for books or a clearing does not hear the answer. */
void box_forget(struct box *b);

/* Are there exactly @n processes and threads in it? Told by its cgroup; without one: no. */
bool box_has_just(struct box *b, uint64_t n);

/* Change a file of the workspace; `filed` hears how it went. Returns: 0, or negative errno. */
int box_file(struct box *b, const struct init_file *file);

/*
 * An end to all of its processes but init and the driver @d. Unless @is_forced, only if there are
 * no others than drivers and the guards @pids. @cleared follows: with 0, how many there are of
 * those, or less than 0 when some would not end, or the box is over.
 */
void box_clear(struct box *b, const struct driver *d, const int32_t *pids, size_t n_pids,
	bool is_forced, box_cleared_fn *cleared, void *arg);
