/* Runs: every step that was asked for, by an id of its own, while it runs and for some time after.
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

/*
 * What an engine remembers of its runs. Of each session the newest RUNS_PER_SESSION are kept, and
 * of what they printed RUNS_SESSION_BYTES; of all together RUNS_TOTAL_BYTES, about. The oldest that
 * are done give way: first those of the caller who needs the room. A run goes with its session, and
 * with the engine.
 */
struct runs;

enum {
	RUN_ID_BYTES = 32,
	RUNS_PER_SESSION = 32,
	RUNS_SESSION_BYTES = 32 << 20,
	RUNS_TOTAL_BYTES = 64 << 20,
	RUN_LIVE_BYTES = 8 << 20, /* of a stream, while it runs */
};

/* @loop: NULL when nobody will wait with a limit of time. */
struct runs *runs_open(uv_loop_t *loop);
/* After the registry, which ends what runs. NULL is nothing. */
void runs_close(struct runs *r);
/* A session has ended, by its id: a registry's `ended`. */
void runs_forget(void *runs, const char *session);

/* @registry: as the caller sees it. @params: of step.run, checked; borrowed for the call. */
struct run_order {
	struct registry *registry;
	struct gate *gate; /* or NULL */
	const json_t *params;
};

/* Start a run, and wait for it. @waiter->done may be called before this returns. Errors: those of
 * registry_identify(), ERR_RUNTIME, ERR_NO_MEMORY; then `done` is never called. */
int runs_start(
	struct runs *r, const struct run_order *order, struct waiter *waiter, struct err *err);

/* The run of that id; or the newest run of @session that made the step whose id is or begins with
 * @step. Only runs of sessions that @registry shows are found. Errors: ERR_NOT_FOUND. */
struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err);
struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err);

/* Stop the run as a limit would; if asked again, or with @is_kill, at once. A run that waits in
 * line is withdrawn. A run that is done stays as it is. */
void run_interrupt(struct run *run, bool is_kill);

/* The input of a run that was started with stdin_open, to be written to. Returns: NULL and
 * ERR_USAGE or ERR_GONE. */
struct stdin_queue *run_stdin_queue(struct run *run, struct err *err);

/* Its id is "r-" and random letters. */
bool run_is_done(const struct run *run);
const char *run_id(const struct run *run);

/*
 * What it printed to "stdout" or "stderr" until now, its "value" as text, its "code". Borrowed, and
 * valid until the loop runs again.
 * Errors: ERR_GONE: it had to give way; ERR_NOT_FOUND: it has no value.
 */
int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err);
