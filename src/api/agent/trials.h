/* The branches in which an agent tries the candidates for a step. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/run/runs.h"
#include "registry/trial.h"

struct trials;

/*
 * Callbacks, from the loop or from within a call; places are numbered from 1.
 *
 * branched: the branch exists, or @err. event: a borrowed event of a step that runs in the branch.
 * ran: the step has ended, as `done` of struct waiter. adopted: the session has the state of the
 * branch, or @err. gone: all branches have ended, after trials_end().
 */
struct trials_hooks {
	void *arg;
	void (*branched)(void *arg, unsigned place, const struct err *err);
	void (*event)(void *arg, unsigned place, const json_t *event);
	void (*ran)(void *arg, unsigned place, const json_t *record, const struct err *err);
	void (*adopted)(void *arg, const struct err *err);
	void (*gone)(void *arg);
};

/* Create @n trials that are not branched yet. @registry and @runs are borrowed. */
struct trials *trials_new(
	struct registry *registry, struct runs *runs, unsigned n, const struct trials_hooks *hooks);

/* Branch @session; `branched` follows. The branch ends by itself after @ttl_ms. */
void trials_branch(struct trials *t, unsigned place, const char *session, uint64_t ttl_ms);

/* Run a step in a branch, with the parameters of step.run; `ran` follows, except after an error.
 * @params is borrowed. */
int trials_run(struct trials *t, unsigned place, json_t *params, struct err *err);

/* Interrupt the steps in all branches; a second call kills them. */
void trials_interrupt(struct trials *t);

/* Give @session the state of the branch at @place (0: leave its state as it is), and end the other
 * branches. `adopted` follows. */
void trials_adopt(struct trials *t, unsigned place, const char *session);

/*
 * End all branches. Afterwards only `gone` is called, when no branch is being made any more.
 * Owns: takes the trials, which are freed before `gone`. NULL: does nothing; `gone` is not called.
 * Returns: true if `gone` follows; false if all branches have ended already.
 */
bool trials_end(struct trials *t);
