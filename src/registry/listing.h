/* Rows in lists of sessions. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"

/* Describe a session that is only in the journal, in the state @state. Owns: the caller decrefs. */
json_t *listing_row(
	struct session_table *table, const struct journal_session *s, const char *state);

/* Add the name of the owner to @row, if @r shows the sessions of all owners. Returns: @row. */
json_t *listing_owned(const struct registry *r, const char *owner, json_t *row);
