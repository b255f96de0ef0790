/*
 * Internal declarations of runs, for the files that implement them:
 *
 *   runs.c        the runs of each session, and their limits
 *   run_step.c    one run: its start, events and output
 *   waiter.c      callers that wait for a run
 *   run_ask.c     approvals of a run's tool calls
 *   run_behind.c  runs that wait behind a run that waits for input
 *
 * Runs are reference-counted. The list of a session holds a reference to each of its runs. The
 * registry holds one while the step of the run runs. Code that notifies the waiters of a run holds
 * one meanwhile, because a waiter may end the session.
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
	struct run *next, *prev; /* links in the list of its session, if is_listed */
	struct runs *runs;
	struct registry *registry; /* the registry as the run's owner sees it */
	unsigned n_holds;
	bool is_listed, is_done, is_dropped, has_started;
	/* is_told: a client knows the id of the run. is_reading: the step waits for input. */
	bool is_told, is_reading;
	unsigned n_cancels; /* number of interrupts before the step began */
	char id[RUN_ID_BYTES];
	char session[REGISTRY_ID_BYTES];
	char runtime[16];
	uint64_t number, started_ns;
	struct step_order *order; /* reference to the step's order; NULL: the run was dropped */
	json_t *record;		  /* record of the step, once it is done; NULL: see `err` */
	struct err err;
	struct step_listener listener;
	struct event_rest rest[2];
	struct buf out[2];
	json_t *displays;
	size_t bytes; /* memory of the run, as last given to run_count() */
	struct waiter *waiters;
	struct waiter *starter; /* the waiter that started the run, if it still waits; or NULL */
	struct run_asking asking;
};

struct runs {
	uv_loop_t *loop;
	struct session_runs *sessions; /* an element for each session */
	size_t n, max;
	size_t bytes;
	uint64_t last_number;
};

/* runs.c */
void run_hold(struct run *run);
void run_release(struct run *run);
/* Append a run to the list of its session. */
void run_list(struct run *run);
void run_unlist(struct run *run);
/* Set the run's memory to @bytes. If it has grown beyond a limit, drop older runs. */
void run_count(struct run *run, size_t bytes);
size_t run_json_bytes(const json_t *json);
size_t run_bytes(const struct run *run);

/* run_step.c: send @event to the waiter that started the run. The reference is taken. */
void run_tell(struct run *run, json_t *event);
/* Return the run for which @run waits: the oldest run of its session that was started before
 * @run and has not ended. Return NULL if @run does not wait. */
const struct run *run_ahead(const struct run *run);

/* waiter.c */
json_t *run_record(const struct run *run);
int waiter_hang(struct waiter *waiter, struct run *run, uint64_t wait_ms, struct err *err);
/* Answer all waiters. */
void waiters_tell(struct run *run);
/* If @run cannot continue by itself, answer the waiters that have a time limit. */
void waiters_wake(struct run *run);
