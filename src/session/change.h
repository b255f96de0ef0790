/* Changes that a client makes to a session's files, between two steps.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/init.h"
#include "session/session.h"

/*
 * Have init write or remove a file, so that the file belongs to the box's user. If the session has
 * no box, one is made first. The session must be idle. @file is borrowed for the call. @done is
 * called from the loop, unless the session is closed first. Errors, returned or passed to @done:
 * ERR_GONE, ERR_BUSY, ERR_NOT_FOUND, ERR_NO_SPACE, ERR_ACCESS.
 */
typedef void session_changed_fn(void *arg, const struct err *err);
int session_change(struct session *s, const struct init_file *file, session_changed_fn *done,
	void *arg, struct err *err);

/* Make a box if the session has none. Then @done is called, possibly during this call. Errors:
 * as session_change(). */
int session_await_box(struct session *s, session_changed_fn *done, void *arg, struct err *err);

/* Treat the client's last change as a step with the name @step, and make a checkpoint of the
 * state after it. */
void session_changed(struct session *s, const char *step);

/* Treat the client's last change as part of the state after the last step, so that a rollback of
 * the next step keeps it. */
void session_files_changed(struct session *s);

/* Convert the @status with which init replied for @path to an error. Returns: 0, or negative
 * errno. */
int change_judge(int status, const char *path, struct err *err);
