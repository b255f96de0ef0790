/* A file of a session changed from outside, between two steps. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/init.h"
#include "session/session.h"

/*
 * Have the box's init write or remove a file, so that the box owns what it gets; a box is made
 * first when there is none. Nothing else may be under way. @file is borrowed for the call. @done
 * follows, from the loop; not when the session is closed.
 * Errors, at once or by @done: ERR_GONE, ERR_BUSY, ERR_NOT_FOUND, ERR_NO_SPACE, ERR_ACCESS.
 */
typedef void session_changed_fn(void *arg, const struct err *err);
int session_change(struct session *s, const struct init_file *file, session_changed_fn *done,
	void *arg, struct err *err);

/* There is a box: one is made when there is none. @done follows, or at once. Errors: as above. */
int session_await_box(struct session *s, session_changed_fn *done, void *arg, struct err *err);

/* What was changed is a step of its own: @step, which can be gone back to and behind. */
void session_changed(struct session *s, const char *step);

/* It is none: it belongs to the step before, and is kept when the next one fails. */
void session_files_changed(struct session *s);

/* What init answered, for @path. Returns: 0, or negative errno. */
int change_judge(int status, const char *path, struct err *err);
