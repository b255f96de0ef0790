/* What is asked of a box while it runs. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box.h"

/* Ask for its books, one question at a time. Returns: false while another is under way. */
bool box_ask_usage(struct box *b, box_usage_fn *used, void *arg);
/* Whoever asked for books or a clearing does not hear the answer. */
void box_forget(struct box *b);

/* Change a file of the workspace; `filed` hears how it went. Returns: 0, or negative errno. */
int box_file(struct box *b, const struct init_file *file);

/*
 * Processes that are neither init, nor drivers, nor the guards @pids: how many, and an end to them
 * if @is_forced; @cleared follows, with -1 when the box is over.
 */
void box_clear(struct box *b, const int32_t *pids, size_t n_pids, bool is_forced,
	box_cleared_fn *cleared, void *arg);
