/* Runs: every step that was asked for, by an id of its own, while it runs and for some time after.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct principal;
struct registry;

/*
 * What an engine remembers of its runs. Of each session the newest RUNS_PER_SESSION are kept, and
 * of what they printed RUNS_SESSION_BYTES; of all together RUNS_TOTAL_BYTES, about. The oldest that
 * are done give way: first those of the caller who needs the room. A run goes with its session, and
 * with the engine.
 */
struct runs;
struct run;

enum {
	RUN_ID_BYTES = 32,
	RUNS_PER_SESSION = 32,
	RUNS_SESSION_BYTES = 32 << 20,
	RUNS_TOTAL_BYTES = 64 << 20,
	RUN_LIVE_BYTES = 8 << 20, /* of a stream, while it runs */
};

/* @loop: NULL when nobody will wait with a limit of time. Errors: ERR_NO_MEMORY. */
int runs_open(struct runs **out, uv_loop_t *loop, struct err *err);
/* After the registry, which ends what runs. NULL is nothing. */
void runs_close(struct runs *r);
/* A session has ended, by its id: a registry's `ended`. */
void runs_forget(void *runs, const char *session);

/*
 * Who waits for a run. `done` comes once: with the record, borrowed, when it is over; with a record
 * of status "running" when the time is up; or with NULL and why the step was not run. `event` may
 * be NULL. The waiter must stay where it is until then.
 */
struct run_waiter {
	void *arg;
	void (*event)(void *arg, const json_t *event);
	void (*done)(void *arg, const json_t *record, const struct err *err);

	struct run *run; /* the rest is the run's; NULL: it waits for none */
	struct run_waiter *next;
	uv_timer_t *timer;
};

/* What to run: as registry_run() takes it. Borrowed for the time of the call. */
struct run_order {
	struct registry *registry;
	const struct principal *owner; /* NULL: the one who runs the engine */
	const json_t *params;	       /* of step.run, checked */
};

/*
 * Start a run, and wait for it. @waiter->done may come before this returns.
 * Errors: those of registry_get(), ERR_NO_MEMORY; then `done` never comes.
 */
int runs_start(
	struct runs *r, const struct run_order *order, struct run_waiter *waiter, struct err *err);

/*
 * The run of that id; the newest run of @session that made @step, an id or a start of one. What is
 * another principal's is not there. Errors: ERR_NOT_FOUND.
 */
struct run *runs_find(struct runs *r, const struct principal *who, const char *id, struct err *err);
struct run *runs_find_step(struct runs *r, const struct principal *who, const char *session,
	const char *step, struct err *err);

/* Wait @wait_ms at most (0: not at all). `done` may come before this returns. */
int run_await(struct run *run, struct run_waiter *waiter, uint64_t wait_ms, struct err *err);
/* Have the waiter's `done` now, with what there is. It may wait for none. */
void run_leave(struct run_waiter *waiter);

/* Stop it as a limit would, asked again or with @is_kill at once; one that waits in line as soon as
 * it begins. One that is done: nothing. */
void run_interrupt(struct run *run, bool is_kill);

bool run_is_done(const struct run *run);
const char *run_id(const struct run *run);

/*
 * What it printed to "stdout" or "stderr" until now, its "value" as text, its "code". Borrowed, and
 * valid until the loop runs again.
 * Errors: ERR_GONE: it had to give way; ERR_NOT_FOUND: it has no value.
 */
int run_text(const struct run *run, const char *stream, const char **text, size_t *bytes,
	struct err *err);
