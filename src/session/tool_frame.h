/* Parses a TOOL frame of a driver, which is not trusted. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/tool_call.h"

#include <stddef.h>
#include <stdint.h>

/* Limit of values, members and containers in the arguments: a call costs about 250 bytes of memory
 * for each. */
enum { TOOL_PARTS_MAX = 100000 };

struct tool_frame {
	uint64_t step, number;
	json_t *json;  /* owned: name and arguments point into it; NULL if @error is set */
	json_t *error; /* response to a call that cannot be made, owned; or NULL */
	const char *name;
	const json_t *arguments;
	size_t bytes, parts; /* size of the payload; number of its JSON parts */
};

/*
 * Read the payload of a TOOL frame.
 *
 * Shape:   {"id": "step", "call": number > 0, "name": text, "arguments": object}, no other members;
 *          `id` and `call` first, so that an error can be sent even if the rest is invalid.
 * Returns: 0, *out filled; tool_frame_done() frees it.
 * Errors:  ERR_PROTOCOL: `id` and `call` are not first, or members have wrong types.
 * Source:  docs/reference/protocol.md.
 */
int tool_frame_read(struct tool_frame *out, const char *data, size_t bytes, struct err *err);
void tool_frame_done(struct tool_frame *f);
