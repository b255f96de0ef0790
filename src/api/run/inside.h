/*
 * Internal declarations of runs, for the files that implement them:
 *
 *   runs.c        the runs of each session, and their limits
 *   run_step.c    one run: its start, events and output
 *   waiter.c      callers that wait for a run
 *   run_ask.c     approvals of a run's tool calls
 *   run_behind.c  runs that wait behind one that reads its input
 *
 * The registry has a reference to a run while its step runs, and so has the list of its session.
 * Code that notifies a run's waiters holds a reference meanwhile, because a waiter may end the
 * session.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "api/row/param.h"
#include "api/run/run_ask.h"
#include "api/run/runs.h"
#include "api/text/event.h"
#include "base/buf.h"
#include "registry/history.h"

struct run {
	struct run *next, *prev; /* in the list of its session, if is_listed */
	struct runs *runs;
	struct registry *registry; /* the owner's view */
	unsigned n_holds;
	bool is_listed, is_done, is_dropped, has_started;
	bool is_told,
		is_reading; /* is_told: a client knows its id; is_reading: it waits for input */
	unsigned n_cancels; /* interrupts before the step began */
	char id[RUN_ID_BYTES];
	char session[REGISTRY_ID_BYTES];
	char runtime[16];
	uint64_t number, started_ns;
	struct step_order *order; /* a reference, until the run is dropped */
	json_t *record;		  /* record of the step when it is done; NULL: see `err` */
	struct err err;
	struct step_listener listener;
	struct event_rest rest[2];
	struct buf out[2];
	json_t *displays;
	size_t bytes; /* memory that run_count() has counted */
	struct waiter *waiters;
	struct waiter *starter; /* the waiter that gets events, or NULL */
	struct run_asking asking;
};

struct runs {
	uv_loop_t *loop;
	struct session_runs *sessions; /* one for each session */
	size_t n, max;
	size_t bytes;
	uint64_t last_number;
};

/* runs.c */
void run_hold(struct run *run);
void run_release(struct run *run);
/* Add a run to the list of its session. */
void run_list(struct run *run);
void run_unlist(struct run *run);
/* Count @bytes as the run's memory; older runs are dropped if this exceeds a limit. */
void run_count(struct run *run, size_t bytes);
size_t run_json_bytes(const json_t *json);
size_t run_bytes(const struct run *run);

/* run_step.c: send @event, whose reference is taken, to the waiter that started the run. */
void run_tell(struct run *run, json_t *event);
const struct run *run_ahead(
	const struct run *run); /* returns the run behind which @run waits to begin, or NULL */

/* waiter.c */
json_t *run_record(const struct run *run);
int waiter_hang(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err);
/* Answer all waiters. */
void waiters_tell(struct run *run);
void waiters_wake(struct run *run); /* if @run is stuck: those with a time limit */
