/* The secrets of a session, with their values, as long as the engine runs. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/rule/secret.h"
#include "registry/entry.h"

/* Keep a copy of @secrets, NULL or empty: there are none; without the values if @has_values is
 * false. */
void entry_keep_secrets(struct entry *e, const struct secrets *secrets, bool has_values);
/* Check that the session has the secrets of @values, with or without a value. Errors: ERR_USAGE: it
 * has no such secret. */
int entry_check_values(struct entry *e, const struct secrets *values, struct err *err);
/* Take @values, which entry_check_values() has checked, and give them to the session. Those of a
 * session that has ended since then are not taken. */
void entry_take_values(struct entry *e, const struct secrets *values);
/* Wipe and free them. */
void entry_drop_secrets(struct entry *e);
