/* Trials: branches to try something in, of which one may be adopted. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/registry.h"

/*
 * Branch @session into a trial. That is a session like any other, but its programs see the id of
 * @session, and it ends @ttl_ms after it was made, even if the engine is restarted meanwhile.
 * Errors: those of registry_branch(); ERR_USAGE: @session can write to files of the host, in a
 * workspace or volume.
 */
void registry_try(struct registry *r, const char *session, uint64_t ttl_ms, registry_done_fn *done,
	void *arg);

/*
 * Let @session continue from the state of its trial, with the trial's box and steps. No step is run
 * again. The trial and the former box of @session are closed.
 *
 * Result: as registry_get().
 * Errors: ERR_BUSY: @session has run steps since the trial was branched, or the trial is busy.
 * ERR_NOT_FOUND: @trial is not a trial of @session. Errors of the journal.
 */
void registry_adopt(struct registry *r, const char *session, const char *trial,
	registry_done_fn *done, void *arg);
