/* Trials: branches to try something in, of which one may be kept. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/registry.h"

/*
 * Branch a session into a trial: a session like any other, but its programs see the id of @session,
 * and it ends @ttl_ms after it was made, even if the engine is restarted meanwhile.
 * Errors: those of registry_branch(); ERR_USAGE: the session can write to a workspace or volume of
 * the host.
 */
void registry_try(struct registry *r, const char *session, uint64_t ttl_ms, registry_done_fn *done,
	void *arg);

/*
 * Let the session continue from the state of its trial, with the trial's box and steps; nothing is
 * run again. The trial and the session's former box are closed.
 *
 * Result: as registry_get().
 * Errors: ERR_BUSY: the session has run steps since the trial was branched, or the trial is busy;
 * ERR_NOT_FOUND: @trial is not a trial of @session; those of the journal.
 */
void registry_adopt(struct registry *r, const char *session, const char *trial,
	registry_done_fn *done, void *arg);
