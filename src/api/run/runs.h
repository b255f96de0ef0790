/* Runs. Every requested step is a run with an id, which is remembered for some time after its
 * end. SPDX-License-Identifier: Apache-2.0 */
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

/*
 * The runs that an engine remembers: the newest RUNS_PER_SESSION of each session. Runs are deleted
 * with their session.
 * The output of the runs is limited to RUNS_SESSION_BYTES in each session, and to RUNS_TOTAL_BYTES
 * in the engine. Beyond a limit, the output of the oldest run that is done is dropped.
 * RUNS_TOTAL_BYTES affects all callers, so the caller whose run has grown loses the output of its
 * own runs first.
 */
struct runs;

enum {
	RUN_ID_BYTES = 32,
	RUNS_PER_SESSION = 32,
	RUNS_SESSION_BYTES = 32 << 20,
	RUNS_TOTAL_BYTES = 64 << 20,
	RUN_LIVE_BYTES = 8 << 20, /* maximum of stored output of a stream while the step runs */
};

/* Open the runs of an engine. @loop NULL: a run can have neither a waiter with a time limit nor
 * an open standard input. */
struct runs *runs_open(uv_loop_t *loop);
/* Close the runs. Call this after the registry was closed, which ends all running steps. @r
 * NULL: do nothing. */
void runs_close(struct runs *r);
/* Delete the runs of @session, which has ended. The registry's callback `ended` calls it. */
void runs_forget(void *runs, const char *session);

/* The arguments of runs_start(). registry: the registry as the caller sees it. params: the
 * parameters of step.run, which param_check() has accepted; borrowed during the call. */
struct run_order {
	struct registry *registry;
	struct gate *gate; /* or NULL */
	const json_t *params;
};

/*
 * Start a run, and let @waiter wait for it. @waiter->done may be called before this returns.
 * Errors: those of registry_identify(), ERR_RUNTIME, ERR_NO_MEMORY. `done` is not called after an
 * error.
 */
int runs_start(
	struct runs *r, const struct run_order *order, struct waiter *waiter, struct err *err);

/* runs_find(): find the run with that id. runs_find_step(): find the newest run of @session
 * whose step has an id that begins with @step. Only sessions that @registry shows are searched.
 * Errors: ERR_NOT_FOUND. */
struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err);
struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err);

/*
 * Interrupt the step of a run in the way a time limit does. But stop the step at once if @is_kill
 * is true, or if this is the second call for the run.
 * If the step still waits in the queue, withdraw it instead. If the run is done, do nothing.
 */
void run_interrupt(struct run *run, bool is_kill);

/* Return the queue through which clients write the run's standard input. From now on, the run
 * does not count as waiting for input, because the caller is going to write to the queue.
 * Returns: the queue, or NULL. Errors: ERR_USAGE: the run was started without stdin_open;
 * ERR_GONE: the run is done. */
struct stdin_queue *run_stdin_queue(struct run *run, struct err *err);

/* run_is_done(): return whether the run has ended. run_id(): return its id, "r-" and random
 * characters. */
bool run_is_done(const struct run *run);
const char *run_id(const struct run *run);

/*
 * Get a text of the run.
 * @stream: "stdout" or "stderr" for the output until now, "value" for the value as text, or "code".
 * @text: becomes the text, which is borrowed and valid until the loop runs again.
 * Errors:
 * - ERR_GONE: the text was dropped.
 * - ERR_NOT_FOUND: the step has no value, or none yet.
 * - If the step could not be run: the error that the run ended with.
 */
int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err);
