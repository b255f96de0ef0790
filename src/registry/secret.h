/* The secrets of a session, with their values, as long as the engine runs. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/rule/secret.h"
#include "registry/entry.h"

/* Keep a copy of @secrets, NULL or empty: there are none; without the values if @has_values is
 * false. */
void entry_keep_secrets(struct entry *e, const struct secrets *secrets, bool has_values);
/* Take new values of secrets that the session has, also if their old ones are not known, and give
 * them to the session. Errors: ERR_USAGE: it has no such secret; then no value is taken. */
int entry_take_values(struct entry *e, const struct secrets *values, struct err *err);
/* Wipe and free them. */
void entry_drop_secrets(struct entry *e);
