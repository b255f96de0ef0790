/* What the gate answers itself: which tools there are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "tool/catalog.h"

struct gate;

/* A call that is answered when it is known what servers have. */
struct gate_own {
	const char *name;
	/* Returns: the value; NULL: @err, or no memory. */
	json_t *(*answer)(const struct gate *g, const json_t *arguments, struct err *err);
};
/* Returns: NULL when there is none of that name. */
const struct gate_own *gate_own_find(const char *name);

/* What code in a box is told of a server by this name would be "retort.…", which is ours. */
bool gate_is_shown(const struct catalog_server *s);
