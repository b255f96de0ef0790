/* Parses a TOOL frame of a driver, which is not trusted. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/tool_call.h"

#include <stddef.h>
#include <stdint.h>

/* Limit of the number of JSON values and member names in the arguments of a call. Each of them
 * costs about 250 bytes of memory while the call is pending. */
enum { TOOL_PARTS_MAX = 100000 };

struct tool_frame {
	uint64_t step, number;
	/* The parsed frame, owned. @name and @arguments point into it. NULL if @error is set. */
	json_t *json;
	/* Error response, owned. It is set if the call cannot be made, and is NULL otherwise. */
	json_t *error;
	const char *name;
	const json_t *arguments;
	/* @bytes: size of the payload. @parts: number of its JSON values and member names. */
	size_t bytes, parts;
};

/*
 * Read the payload of a TOOL frame.
 *
 * Shape:   {"id": "step", "call": number > 0, "name": text, "arguments": object}, no other members;
 *          `id` and `call` first, so that an error can be sent even if the rest is invalid.
 * Returns: 0, and fills *@out, which tool_frame_done() frees.
 * Errors:  ERR_PROTOCOL: `id` and `call` are not first, or members have wrong types.
 * Source:  docs/reference/protocol.md.
 */
int tool_frame_read(struct tool_frame *out, const char *data, size_t bytes, struct err *err);
void tool_frame_done(struct tool_frame *f);
