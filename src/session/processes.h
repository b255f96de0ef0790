/* The programs that clients started in a session (process/process.h), and all other processes of
 * its box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/process/process.h"

struct session;

/* PROCESSES_MAX: processes of a session that run at the same time. OVER_MAX: processes that are
 * over and whose output is still kept. OUTPUT_BYTES: bytes that are kept of all streams together.
 */
enum {
	PROCESSES_MAX = WIRE_PROGRAMS_MAX,
	PROCESSES_OVER_MAX = 32,
	PROCESSES_OUTPUT_BYTES = 128 << 20
};

/* Called once, when the process runs (@err NULL; @p is borrowed) or could not be started. */
typedef void session_process_fn(void *arg, struct process *p, const struct err *err);

/* Return whether a process can be started now. False while the session has no box, or is about to
 * leave it: while it rolls back, and while it becomes a stem. */
bool session_may_start(struct session *s);

/* Start a process. session_may_start() must be true. @done may be called during this call.
 * Errors, passed to @done: as process_start(); ERR_LIMIT, ERR_USAGE: the name is in use. */
void session_start_process(
	struct session *s, const struct process_order *order, session_process_fn *done, void *arg);

/* Find a process by its id, the unique beginning of its id, or its name. If several have the name,
 * the one that runs is meant, or the newest. Returns: borrowed; NULL and @err: ERR_NOT_FOUND. */
struct process *session_find_process(const struct session *s, const char *name, struct err *err);

/* Return the environment of a program: that of the session's drivers, with @more (NAME=VALUE,
 * NULL-terminated) in addition. Owns: the caller, who calls session_free_environment(). Errors:
 * ERR_LIMIT: more than PROCESS_SIDE_MAX variables; as order_start(). */
char **session_environment(const struct session *s, const char *const *more, struct err *err);
void session_free_environment(char **environment);

/* Return whether a process runs that counts as use of the session, or that any process runs. */
bool session_is_in_use(const struct session *s);
bool session_has_processes(const struct session *s);

/* Return the processes of clients that have ended since @since_ns (uv_hrtime()) because the session
 * gave up their box. Returns: a new array, or NULL if there are none. */
json_t *session_ended_processes(const struct session *s, uint64_t since_ns);

/* List all processes of the box: those that clients started, also those that are over, their
 * descendants, and those that steps have left running. @done gets an array of objects, which it may
 * keep, or NULL and the error. */
typedef void session_listed_fn(void *arg, json_t *processes, const struct err *err);
void session_list_processes(struct session *s, session_listed_fn *done, void *arg);
/* Forget all requests with this @arg. */
void session_unlist_processes(struct session *s, const void *arg);
