/* What helps after a step that failed: one table for all who read of it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* Who reads it: a model in a loop of ours, a model of a client over MCP, a program over JSON-RPC, a
 * person at `retort run`, `retort session exec` or `retort repl`. */
enum hint_reader {
	HINT_AGENT,
	HINT_MCP,
	HINT_RPC,
	HINT_RUN,
	HINT_SESSION,
	HINT_REPL,
	HINT_READER_END_
};

struct hint_about {
	enum hint_reader reader;
	bool was_lost;	      /* the session's variables were lost since they were made */
	const char *packages; /* as package_list() has them, or NULL */
};

enum { HINT_BYTES = 1024 };

/*
 * A sentence or two for what the record says; nothing when nothing is known. It depends on what is
 * certain only: an exception that ended the step, or what pip says.
 * Returns: whether there is one in @out.
 */
bool hint_find(struct buf *out, const json_t *record, const struct hint_about *about);
