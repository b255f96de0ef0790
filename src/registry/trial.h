/* Branches to try something in, of which one may be kept. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/*
 * Branch a session into a trial: a session like any other, but its programs see the id of @session,
 * and it ends @ttl_ms after it was made, whatever became of the engine meanwhile.
 * Errors: those of registry_branch(); ERR_USAGE: it writes to the host, in a workspace or volume.
 */
void registry_try(struct registry *r, const char *session, uint64_t ttl_ms, registry_done_fn *done,
	void *arg);

/*
 * The session goes on where its trial stands: with its box, its state and its steps, nothing being
 * run again. The trial is no more; what the session's own box had since it was branched is gone.
 *
 * Result: as registry_get().
 * Errors: ERR_BUSY: the session has gone on itself since it was branched, or something is done in
 *         the trial; ERR_NOT_FOUND: @trial is none of @session; those of the journal.
 */
void registry_adopt(struct registry *r, const char *session, const char *trial,
	registry_done_fn *done, void *arg);
