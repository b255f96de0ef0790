/*
 * The driver's end of the channel to the engine, which carries frames with JSON in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "runtime/frame.h"

#include <jansson.h>
#include <stdbool.h>

/* Frame types: docs/reference/protocol.md. */
struct channel {
	int fd;
	int passed_fd; /* file descriptor that came with the last frame, or -1 */
	struct buf in;
};

/*
 * Take over @fd: duplicate it to a high number, close-on-exec, and close the original. Returns: 0,
 * or negative errno.
 */
int channel_open(struct channel *ch, int fd);

/*
 * Receive the next frame.
 *
 * Blocks:  until a frame has arrived, or the engine has closed its end.
 * Owns:    the caller owns *@message, which is NULL if the payload is empty or is not a JSON
 * object.
 * Returns: the frame's type; 0 at the end of the stream; or negative errno.
 */
int channel_receive(struct channel *ch, json_t **message);

/* Return the file descriptor that came with the last frame, or -1. The caller owns it. */
int channel_take_fd(struct channel *ch);

/* Send @message and release it. Returns: 0, or negative errno; -ENOMEM if @message is NULL. */
int channel_send(struct channel *ch, enum frame_type type, json_t *message);

/* Return @text as a JSON string, with invalid UTF-8 replaced, or NULL when out of memory. */
json_t *channel_text(const char *text, size_t bytes);
