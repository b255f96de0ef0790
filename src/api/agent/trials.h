/* The branches in which an agent tries the candidates for a step. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/run/runs.h"
#include "registry/trial.h"

struct trials;

/*
 * Callbacks, called from the loop or from within a function of this file. @place is the number of
 * the trial, from 1.
 *
 * branched  The work of trials_branch() has ended. @err NULL: the trial has a branch now. Otherwise
 *           @err says why the branch could not be made.
 * event     A step in the branch of the trial has sent @event, which is borrowed.
 * ran       The step that trials_run() started has ended. @record: the record of the step,
 *           borrowed. @record NULL: @err says why the step could not be run.
 * adopted   The work of trials_adopt() has ended. @err NULL: it succeeded. Otherwise @err says why
 *           the session could not adopt the branch.
 * gone      All branches have ended, after trials_end() returned true.
 */
struct trials_hooks {
	void *arg;
	void (*branched)(void *arg, unsigned place, const struct err *err);
	void (*event)(void *arg, unsigned place, const json_t *event);
	void (*ran)(void *arg, unsigned place, const json_t *record, const struct err *err);
	void (*adopted)(void *arg, const struct err *err);
	void (*gone)(void *arg);
};

/* Create @n trials, which have no branches yet. @registry and @runs are borrowed. */
struct trials *trials_new(
	struct registry *registry, struct runs *runs, unsigned n, const struct trials_hooks *hooks);

/* Begin to branch @session, for the trial at @place. The callback `branched` reports the result.
 * The branch ends by itself @ttl_ms after it was made. */
void trials_branch(struct trials *t, unsigned place, const char *session, uint64_t ttl_ms);

/* Run a step in the branch of a trial. @params: parameters of step.run, without the session;
 * borrowed. The callback `ran` reports the end of the step, unless trials_run() returns an error.
 */
int trials_run(struct trials *t, unsigned place, json_t *params, struct err *err);

/* Interrupt the steps in all branches. A second call kills them. */
void trials_interrupt(struct trials *t);

/* Give @session the state of the branch at @place, and end the other branches. @place 0: end all
 * branches, and leave the state of @session as it is. The callback `adopted` reports the result. */
void trials_adopt(struct trials *t, unsigned place, const char *session);

/* End all branches and free @t. No other callback than `gone` is called afterwards. @t NULL: do
 * nothing. Returns: false if nothing is left to do, so that `gone` is not called; true if the
 * registry has not answered all requests yet, so that `gone` is called later. */
bool trials_end(struct trials *t);
