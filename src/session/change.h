/* Changes to a session's files by a client, between two steps.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/init.h"
#include "session/session.h"

/*
 * Have init write or remove a file, so that the box's user owns it; a missing box is made first.
 * The session must be idle. @file is borrowed for the call. @done follows from the loop, unless the
 * session is closed first. Errors, at once or by @done: ERR_GONE, ERR_BUSY, ERR_NOT_FOUND,
 * ERR_NO_SPACE, ERR_ACCESS.
 */
typedef void session_changed_fn(void *arg, const struct err *err);
int session_change(struct session *s, const struct init_file *file, session_changed_fn *done,
	void *arg, struct err *err);

/* Make a box if the session has none. @done follows, possibly during the call. Errors: as above. */
int session_await_box(struct session *s, session_changed_fn *done, void *arg, struct err *err);

/* Treat the change as a step named @step, with a checkpoint of its own. */
void session_changed(struct session *s, const char *step);

/* Add the change to the state after the last step, so that a rollback of the next step keeps it. */
void session_files_changed(struct session *s);

/* Convert init's @status for @path to an error. Returns: 0, or negative errno. */
int change_judge(int status, const char *path, struct err *err);
