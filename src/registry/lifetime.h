/* Lifetimes of sessions: a maximum age, and a maximum time without use. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * A session with a time to live (ttl_ms) ends at that age, whatever runs in it. A session with an
 * idle limit (idle_ms) ends when it had no job or request for that time. Its steps stay in the
 * journal, and later requests for it get an error that says why it ended.
 *
 * The idle time of a session that is only in the journal begins when the journal is opened.
 */

/* Reasons why a session ended, as the journal stores them. */
#define LIFETIME_TTL  "ttl"
#define LIFETIME_IDLE "idle"

/* Initialize the timers of lifetimes and pruning, and begin to check lifetimes. registry_close()
 * ends them. */
void lifetime_open(struct session_table *table);

/* Set the lifetimes of the new session @e to @ttl_ms and @idle_ms; 0 stands for the engine's
 * default. For sessions of an owner, the default is also the maximum; the operator may choose
 * more. */
void lifetime_choose(const struct registry *r, struct entry *e, uint64_t ttl_ms, uint64_t idle_ms);

/*
 * Set the timer for the end of the session @e. Call this function in two cases:
 * - @e was written to the journal, or opened from the journal. When the session has expired, the
 *   timer ends the session.
 * - @e becomes ENDING. The session may stay open in the journal. When the session has expired, the
 *   timer closes the session in the journal.
 */
void lifetime_watch(struct entry *e);
/* Note that @e is used, so that its idle time begins again. */
void lifetime_use(struct entry *e);
/* The callback `used` of a session: @arg is its entry. */
void lifetime_on_used(void *arg);
/* Add ttl_ms, idle_ms and expires_ms to the description @row, each only if it applies. */
void lifetime_tell(const struct entry *e, json_t *row);
void lifetime_tell_stored(
	const struct session_table *table, const struct journal_session *s, json_t *row);

/* Explain in @err why the closed session @s cannot be used. Returns: negative errno. */
int lifetime_why(const struct journal_session *s, struct err *err);
