/* Whoever runs the code that a loop's model writes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Borrowed for the call. */
struct loop_code {
	const char *runtime; /* NULL: the session's */
	const char *code;
	size_t bytes;
	unsigned place; /* 0: the session; else the branch of that candidate */
	bool is_check;
};

struct loop_hooks {
	void *arg;
	/* Run it; loop_ran() follows once, possibly before this returns. Not after an error. */
	int (*run)(void *arg, const struct loop_code *code, struct err *err);
	/* Stop what runs, wherever; asked again: at once. */
	void (*interrupt)(void *arg);
	/* {"text", "images"?: [{"mime", "data"}]}: how the model sees a record. Owned by the loop.
	 */
	json_t *(*observe)(void *arg, const json_t *record);
	/* {"event": "model.delta", …}, borrowed; docs/use/agent.md lists them. Or NULL. */
	void (*event)(void *arg, const json_t *event);
	/* Once: what came of it, borrowed. The loop may be freed. */
	void (*done)(void *arg, const json_t *result);
	/* Branch the session for a candidate, from 1 on: loop_branched() follows once, possibly
	 * before this returns. Not after an error. NULL: there are no branches, and one candidate.
	 */
	int (*branch)(void *arg, unsigned place, struct err *err);
	/* The session goes on as that branch, or as it is: 0; the other branches go. loop_adopted()
	 * follows once, possibly before this returns. */
	void (*adopt)(void *arg, unsigned place);
	/* All there is of it, borrowed, after every turn: to be kept. Or NULL. */
	void (*keep)(void *arg, const json_t *state);
};
