/* The processes of sessions, for operations. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"
#include "session/processes.h"

/*
 * Wait until a process can be started in the session: until it has a box, and is not about to leave
 * it. A running step is not waited for. @done gets an empty object, or NULL and the error. It may
 * be called during this call. registry_withdraw() ends the wait. Errors: ERR_NOT_FOUND, ERR_GONE,
 * ERR_QUOTA, ERR_BOX.
 */
void registry_await_process(
	struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Wait until the session is open: after a restart of the engine, its steps may have to run again.
 * Otherwise as registry_await_process(). */
void registry_await_opened(
	struct registry *r, const char *session, registry_done_fn *done, void *arg);

/* Return the live session, borrowed. Its use is noted. Errors: ERR_NOT_FOUND, ERR_GONE; ERR_BUSY:
 * it is being opened. */
struct session *registry_process_session(
	struct registry *r, const char *session, const char **id, struct err *err);

/* Find a process of the session. Errors: as registry_process_session() and session_find_process().
 */
struct process *registry_process(
	struct registry *r, const char *session, const char *process, struct err *err);
