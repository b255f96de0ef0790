/* The branches in which an agent tries the candidates for a step. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/run/runs.h"
#include "registry/trial.h"

struct trials;

/*
 * What is heard of them, from the loop or from within a call; places count from 1.
 *
 * branched  there is a branch, or @err.
 * event     of a step that runs there, borrowed.
 * ran       as waiter's `done`.
 * adopted   the session has moved, or @err.
 * gone      none is left, after trials_end().
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

/* Branch @session; `branched` follows. It ends @ttl_ms later, should nobody end it. */
void trials_branch(struct trials *t, unsigned place, const char *session, uint64_t ttl_ms);

/* Run in a branch, as step.run says; `ran` follows, not after an error. @params is borrowed. */
int trials_run(struct trials *t, unsigned place, json_t *params, struct err *err);

/* Stop what runs in any; asked again: at once. */
void trials_interrupt(struct trials *t);

/* @session goes on as that branch, or, 0, as it is; the others are ended. `adopted` follows. */
void trials_adopt(struct trials *t, unsigned place, const char *session);

/*
 * End all, whatever they do: nothing is heard any more but `gone`, once no branch is being made.
 * Owns:    the trials; they are freed before `gone`. NULL is none: `gone` never comes.
 * Returns: whether `gone` follows: else it is all over already.
 */
bool trials_end(struct trials *t);
