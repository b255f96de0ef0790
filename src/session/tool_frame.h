/* A call of a tool as a driver writes it, honest or not. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/tool_call.h"

#include <stddef.h>
#include <stdint.h>

/* Values, members and containers of the arguments: bounds what a hostile call costs to hold, about
 * 250 bytes each at most. */
enum { TOOL_PARTS_MAX = 100000 };

struct tool_frame {
	uint64_t step, number;
	json_t *json;  /* owned; the rest borrows from it. NULL: it cannot be taken, and */
	json_t *error; /* this is the answer; owned */
	const char *name;
	const json_t *arguments;
	size_t bytes, parts; /* what it costs to hold */
};

/*
 * Read the payload of a TOOL frame.
 *
 * Shape:   {"id": "step", "call": number > 0, "name": text, "arguments": object}, nothing else, id
 * and call first: so that a call that cannot be taken is answered all the same. Returns: 0, *out
 * filled; tool_frame_done() frees it. Errors:  ERR_PROTOCOL: it does not say which call it is; or
 * its name or arguments are none. Source:  docs/reference/protocol.md.
 */
int tool_frame_read(struct tool_frame *out, const char *data, size_t bytes, struct err *err);
void tool_frame_done(struct tool_frame *f);
