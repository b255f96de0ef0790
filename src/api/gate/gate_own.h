/* Calls that the gate answers itself: lists of tools. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "tool/catalog.h"

struct gate;

/* A name that the gate answers itself, once the servers' lists of tools are loaded. */
struct gate_own {
	const char *name;
	/* Make the answer. Returns: the value; NULL: @err, or no memory. */
	json_t *(*answer)(const struct gate *g, const json_t *arguments, struct err *err);
};
/* Find the row of @name. Returns: the row, or NULL. */
const struct gate_own *gate_own_find(const char *name);

/* Is the server visible to code in a box? Not if its name is "retort", which is reserved. */
bool gate_is_shown(const struct catalog_server *s);
