/* Calls that the gate answers itself. They list, search and describe tools.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "tool/catalog.h"

struct gate;

/* A call that the gate answers itself, once it has the servers' lists of tools. */
struct gate_own {
	const char *name;
	/* Compute the answer to a call with @arguments. Returns: the value of the answer; NULL on
	 * failure. The caller of `answer` sets @err to ERR_NO_MEMORY beforehand, so `answer` sets
	 * @err only for other errors. */
	json_t *(*answer)(const struct gate *g, const json_t *arguments, struct err *err);
};
/* Return the row whose `name` is @name, or NULL. */
const struct gate_own *gate_own_find(const char *name);

/* Return whether code in a box may see the server. The name "retort" is reserved, so a server of
 * that name is hidden. */
bool gate_is_shown(const struct catalog_server *s);
