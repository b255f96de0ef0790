/* Runs: every requested step gets an id, and is remembered while it runs and for some time after.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/run/waiter.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct gate;
struct stdin_queue;
struct registry;

/* The runs that an engine remembers. For each session, the newest RUNS_PER_SESSION runs are kept,
 * with about RUNS_SESSION_BYTES of output; for all sessions together, RUNS_TOTAL_BYTES. The oldest
 * done runs are dropped first, beginning with those of the caller who needs the room. Runs are
 * deleted with their session. */
struct runs;

enum {
	RUN_ID_BYTES = 32,
	RUNS_PER_SESSION = 32,
	RUNS_SESSION_BYTES = 32 << 20,
	RUNS_TOTAL_BYTES = 64 << 20,
	RUN_LIVE_BYTES = 8 << 20, /* output of one stream while the step runs */
};

/* Open the runs of an engine. @loop: NULL if nobody will wait with a time limit. */
struct runs *runs_open(uv_loop_t *loop);
/* Close the runs, after the registry, which ends running steps. NULL: does nothing. */
void runs_close(struct runs *r);
/* Delete the runs of @session, which has ended. For `ended` of a registry. */
void runs_forget(void *runs, const char *session);

/* The arguments of runs_start(). @registry: the caller's view. @params: of step.run, checked;
 * borrowed for the call. */
struct run_order {
	struct registry *registry;
	struct gate *gate; /* or NULL */
	const json_t *params;
};

/* Start a run, and wait for it. @waiter->done may be called before this returns. Errors: those of
 * registry_identify(), ERR_RUNTIME, ERR_NO_MEMORY; then `done` is never called. */
int runs_start(
	struct runs *r, const struct run_order *order, struct waiter *waiter, struct err *err);

/* Find the run with this id; or the newest run of @session whose step's id begins with @step. Only
 * runs of sessions in the view @registry are found. Errors: ERR_NOT_FOUND. */
struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err);
struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err);

/* Interrupt the run as a limit would; a second time, or with @is_kill, stop it at once. A run that
 * waits in the queue is withdrawn. A run that is done is unchanged. */
void run_interrupt(struct run *run, bool is_kill);

/* Find the input of a run that was started with stdin_open. Returns: the queue to write to; or NULL
 * and ERR_USAGE or ERR_GONE. */
struct stdin_queue *run_stdin_queue(struct run *run, struct err *err);

/* Has the run ended? Its id is "r-" and random characters. */
bool run_is_done(const struct run *run);
const char *run_id(const struct run *run);

/*
 * Get the run's output until now ("stdout" or "stderr"), its "value" as text, or its "code".
 * Borrowed, and valid until the loop runs again. Errors: ERR_GONE: the run was dropped;
 * ERR_NOT_FOUND: the step gave no value.
 */
int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err);
