/* How long sessions live: altogether, and unused. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/*
 * A session that has a time to live ends when it is over, whatever runs in it. One with an idle
 * limit ends when so long nobody has used it: nothing ran, nothing was asked for. Its steps stay in
 * the journal, and whoever names it later is told why it ended.
 *
 * Sessions that are only in the journal are unused from when it was opened.
 */

/* The words of the journal. */
#define LIFETIME_TTL  "ttl"
#define LIFETIME_IDLE "idle"

/* The timer is a handle of the loop, which the session table closes. */
void lifetime_open(struct session_table *table);

/* What a session of @r gets that asks for @ttl_ms and @idle_ms, 0 for the usual. */
void lifetime_choose(const struct registry *r, struct entry *e, uint64_t ttl_ms, uint64_t idle_ms);

/* @e is kept now, and has its lifetimes; or, not live any more, is only in the journal. */
void lifetime_watch(struct entry *e);
/* Something is asked for in it, or was done. */
void lifetime_use(struct entry *e);
/* Add ttl_ms, idle_ms and expires_ms to what is told of it, as far as it has them. */
void lifetime_tell(const struct entry *e, json_t *row);
void lifetime_tell_stored(
	const struct session_table *table, const struct journal_session *s, json_t *row);

/* Why a session of the journal that is closed cannot be used. Returns: negative errno. */
int lifetime_why(const struct journal_session *s, struct err *err);
