/* Frames, the messages between engine and driver: parse and build them, without any input or
 * output. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Our drivers never send a frame longer than FRAME_MAX_BYTES, which is enough for a few
 * full-size plots. */
enum { FRAME_MAX_BYTES = 32 << 20, FRAME_HEAD_BYTES = 5 };

enum frame_type {
	FRAME_STEP = 1,
	FRAME_RESUME = 3,
	FRAME_TOOL_RESULT = 4,
	FRAME_BYE = 5,
	FRAME_BRANCH = 6,
	FRAME_SETUP = 7,
	FRAME_NAMES = 8,
	FRAME_CHECKPOINT = 9,
	FRAME_STEM = 10,
	FRAME_READY = 16,
	FRAME_BEGIN = 17,
	FRAME_GUARD = 18,
	FRAME_DISPLAY = 19,
	FRAME_TOOL = 20,
	FRAME_RESULT = 21,
	FRAME_BRANCHED = 22,
	FRAME_DONE = 23,
	FRAME_STATE = 24,
	FRAME_WAITING = 25,
};

struct frame {
	uint8_t type;
	const char *data;
	size_t bytes;
};

/*
 * Parse the first frame of @in, without consuming it.
 *
 * Shape:   u32 length of type and payload together, big-endian; u8 type; payload.
 * Limits:  FRAME_MAX_BYTES.
 * Owns:    nothing; @out->data borrows from @in until the next buf_consume().
 * Returns: bytes to consume (> 0), 0 when no whole frame has arrived, or negative errno.
 * Errors:  ERR_PROTOCOL: length zero or above the limit.
 * Source:  docs/reference/protocol.md.
 */
ssize_t frame_parse(const struct buf *in, struct frame *out, struct err *err);

/* Append one frame to @out. Returns: 0; -E2BIG if the frame is longer than FRAME_MAX_BYTES or
 * @out would exceed its maximum; -ENOMEM. */
int frame_write(struct buf *out, enum frame_type type, const void *data, size_t bytes);
