/* A tool call as a driver writes it, honest or not. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/tool_call.h"

#include <stddef.h>
#include <stdint.h>

/* Bound of values, members and containers of the arguments: holding a hostile call costs about 250
 * bytes for each. */
enum { TOOL_PARTS_MAX = 100000 };

struct tool_frame {
	uint64_t step, number;
	json_t *json;  /* owned; name and arguments borrow from it. NULL: the call cannot be taken,
			  and */
	json_t *error; /* this is the answer; owned */
	const char *name;
	const json_t *arguments;
	size_t bytes, parts; /* the costs of holding it */
};

/*
 * Read the payload of a TOOL frame.
 *
 * Shape:   {"id": "step", "call": number > 0, "name": text, "arguments": object}, nothing else,
 * `id` and `call` first, so that a call that cannot be taken can be answered all the same. Returns:
 * 0, *out filled; tool_frame_done() frees it. Errors:  ERR_PROTOCOL: the frame does not say which
 * call it is, or its members have wrong types. Source:  docs/reference/protocol.md.
 */
int tool_frame_read(struct tool_frame *out, const char *data, size_t bytes, struct err *err);
void tool_frame_done(struct tool_frame *f);
