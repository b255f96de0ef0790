/* The branches in which an agent tries the candidates for a step. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/run/runs.h"
#include "registry/trial.h"

struct trials;

/*
 * Callbacks, from the loop or from within a call; places count from 1.
 *
 * branched: the branch exists, or @err. event: of a step that runs there, borrowed. ran: as
 * waiter's `done`. adopted: the session has the state of the branch, or @err. gone: all branches
 * have ended, after trials_end().
 */
struct trials_hooks {
	void *arg;
	void (*branched)(void *arg, unsigned place, const struct err *err);
	void (*event)(void *arg, unsigned place, const json_t *event);
	void (*ran)(void *arg, unsigned place, const json_t *record, const struct err *err);
	void (*adopted)(void *arg, const struct err *err);
	void (*gone)(void *arg);
};

/* @registry, @runs: borrowed. */
struct trials *trials_new(
	struct registry *registry, struct runs *runs, unsigned n, const struct trials_hooks *hooks);

/* Branch @session; `branched` follows. The branch ends by itself after @ttl_ms. */
void trials_branch(struct trials *t, unsigned place, const char *session, uint64_t ttl_ms);

/* Run a step in a branch, with the parameters of step.run; `ran` follows, except after an error.
 * @params is borrowed. */
int trials_run(struct trials *t, unsigned place, json_t *params, struct err *err);

/* Interrupt the steps in all branches; a second call kills them. */
void trials_interrupt(struct trials *t);

/* Give @session the state of that branch (0: leave it as it is), and end the others. `adopted`
 * follows. */
void trials_adopt(struct trials *t, unsigned place, const char *session);

/*
 * End all branches. No callback comes any more but `gone`, once no branch is being made.
 * Owns:    the trials; they are freed before `gone`. NULL is nothing: `gone` does not come.
 * Returns: whether `gone` follows; else all is over already.
 */
bool trials_end(struct trials *t);
