/*
 * Runs from the inside: shared by the files that carry them, seen by no other.
 *
 *   runs.c        the runs of each session, their bounds, finding one
 *   run_step.c    one run: started, heard of, read
 *   waiter.c      who waits for it
 *   run_ask.c     approvals that its calls of tools ask for
 *   run_behind.c  runs that wait behind one that reads its input
 *
 * A run is held by the registry while its step runs, and by the list of its session. Code that
 * tells a run's waiters holds it meanwhile, because a waiter may end the session.
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
	struct run *next, *prev; /* of its of, when it is on it */
	struct runs *runs;
	struct registry *registry; /* as the owner sees it */
	unsigned n_holds;
	bool is_listed, is_done, is_dropped, has_started;
	bool is_told,
		is_reading; /* is_told: a client knows its id; is_reading: it waits for input */
	unsigned n_cancels; /* asked for before the step began */
	char id[RUN_ID_BYTES];
	char session[REGISTRY_ID_BYTES];
	char runtime[16];
	uint64_t number, started_ns;
	struct step_order *order; /* held until its text is dropped */
	json_t *record;		  /* of the step, when it is done; or `err` */
	struct err err;
	struct step_listener listener;
	struct event_rest rest[2];
	struct buf out[2];
	json_t *displays;
	size_t bytes; /* what is counted of it */
	struct waiter *waiters;
	struct waiter *starter; /* who hears of events; or NULL */
	struct run_asking asking;
};

struct runs {
	uv_loop_t *loop;
	struct session_runs *sessions; /* of each session */
	size_t n, max;
	size_t bytes;
	uint64_t last_number;
};

/* runs.c */
void run_hold(struct run *run);
void run_release(struct run *run);
/* Put it into the list of its session. */
void run_list(struct run *run);
void run_unlist(struct run *run);
/* The run now holds @bytes of memory; older runs that exceed the bounds are dropped. */
void run_count(struct run *run, size_t bytes);
size_t run_json_bytes(const json_t *json);
size_t run_bytes(const struct run *run);

/* run_step.c: tell @event, whose reference is taken, to the one who started the run. */
void run_tell(struct run *run, json_t *event);
const struct run *run_ahead(
	const struct run *run); /* the run behind which @run waits to begin, or NULL */

/* waiter.c */
json_t *run_record(const struct run *run);
int waiter_hang(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err);
/* Everybody who waits is told. */
void waiters_tell(struct run *run);
void waiters_wake(struct run *run); /* the same for those who wait with a limit of time */
