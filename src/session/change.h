/* A file of a session changed from outside, between two steps. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/init.h"
#include "session/session.h"

/*
 * Have the box's init write or remove a file, so that the box's user owns it; if there is no box,
 * one is made first. Nothing else may be under way. @file is borrowed for the call. @done follows,
 * from the loop; not if the session is closed first. Errors, at once or by @done: ERR_GONE,
 * ERR_BUSY, ERR_NOT_FOUND, ERR_NO_SPACE, ERR_ACCESS.
 */
typedef void session_changed_fn(void *arg, const struct err *err);
int session_change(struct session *s, const struct init_file *file, session_changed_fn *done,
	void *arg, struct err *err);

/* Make a box, if there is none. @done follows, or is called at once. Errors: as above. */
int session_await_box(struct session *s, session_changed_fn *done, void *arg, struct err *err);

/* The change counts as a step of its own, @step: one can go back to it, and to before it. */
void session_changed(struct session *s, const char *step);

/* The change belongs to the step before, and stays when the next step fails. */
void session_files_changed(struct session *s);

/* Judge what init answered for @path. Returns: 0, or negative errno. */
int change_judge(int status, const char *path, struct err *err);
