/* Lifetimes of sessions: maximum age, and maximum time without use. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * A session with a time to live ends at that age, whatever runs in it. A session with an idle limit
 * ends after that time without a job or request. Its steps stay in the journal, and later requests
 * for it get an error that says why it ended.
 *
 * The idle time of a session that is only in the journal begins when the journal is opened.
 */

/* Reasons of an end, as the journal stores them. */
#define LIFETIME_TTL  "ttl"
#define LIFETIME_IDLE "idle"

/* Initialize the timer, which registry_close() closes, and begin to check lifetimes. */
void lifetime_open(struct session_table *table);

/* Set the lifetimes of @e, made through @r with @ttl_ms and @idle_ms (0: the default). For an owner
 * the default is also the maximum. */
void lifetime_choose(const struct registry *r, struct entry *e, uint64_t ttl_ms, uint64_t idle_ms);

/* Schedule the end of @e, which is in the journal now; or, when @e is ENDING, the end of its row in
 * the journal. */
void lifetime_watch(struct entry *e);
/* Note that @e is used: its idle time begins again. */
void lifetime_use(struct entry *e);
/* Add ttl_ms, idle_ms and expires_ms, if they apply, to the description @row. */
void lifetime_tell(const struct entry *e, json_t *row);
void lifetime_tell_stored(
	const struct session_table *table, const struct journal_session *s, json_t *row);

/* Explain in @err why the closed session @s cannot be used. Returns: negative errno. */
int lifetime_why(const struct journal_session *s, struct err *err);
