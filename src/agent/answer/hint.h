/* Hints after failed steps, from one table for all kinds of readers. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* Who reads the hint: a model in our own loop, a model of an MCP client, a program that uses
 * JSON-RPC, or a person at `retort run`, `retort session exec` or `retort repl`. */
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
	bool was_lost; /* the session's state was rebuilt, and may differ from the state before */
	const char *packages; /* installed packages, as package_list() writes them, or NULL */
};

enum { HINT_BYTES = 1024 };

/*
 * Append one or two sentences that help with the error in @record. A hint is given only if the
 * record shows clearly what went wrong: by the status of the step, such as "timeout", by the
 * exception that ended the step, or by a known message in its output, such as one of pip.
 * Returns: whether a hint was appended.
 */
bool hint_find(struct buf *out, const json_t *record, const struct hint_about *about);
