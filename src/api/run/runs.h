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

/*
 * Start a run, and wait for it. @waiter->done may come before this returns.
 * Errors: those of registry_get(), ERR_NO_MEMORY; then `done` never comes.
 */
int runs_start(
	struct runs *r, const struct run_order *order, struct waiter *waiter, struct err *err);

/*
 * The run of that id; the newest run of @session that made @step, an id or a start of one. What
 * @registry does not show is not there. Errors: ERR_NOT_FOUND.
 */
struct run *runs_find(struct runs *r, struct registry *registry, const char *id, struct err *err);
struct run *runs_find_step(struct runs *r, struct registry *registry, const char *session,
	const char *step, struct err *err);

/* Stop it as a limit would, asked again or with @is_kill at once; one that waits in line is not
 * begun. One that is done: nothing. */
void run_interrupt(struct run *run, bool is_kill);

/* To write to: the input of a run that was started with stdin_open. Errors: ERR_USAGE, ERR_GONE:
 * NULL. */
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
