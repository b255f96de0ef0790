/* The driver's end of the channel: frames of JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "runtime/frame.h"

#include <jansson.h>
#include <stdbool.h>

/* Frame types: docs/reference/protocol.md. */
struct channel {
	int fd;
	int passed_fd; /* the descriptor that came with the last frame, or -1 */
	struct buf in;
};

/*
 * Take over @fd: move it to a high number and make it close-on-exec. Returns: 0, or negative
 * errno.
 */
int channel_open(struct channel *ch, int fd);

/*
 * Wait for the next frame.
 *
 * Blocks:  until one is there, or the other end is closed.
 * Owns:    the caller owns *@message (NULL when the payload is empty or no JSON object).
 * Returns: its type, 0 at the end of the stream, or negative errno.
 */
int channel_receive(struct channel *ch, json_t **message);

/* The descriptor that came with the last frame, or -1. Owns: the caller. */
int channel_take_fd(struct channel *ch);

/* Send @message and release it (NULL: out of memory). Returns: 0, or negative errno. */
int channel_send(struct channel *ch, enum frame_type type, json_t *message);

/* A JSON string of @text, with invalid UTF-8 replaced. Returns: NULL when out of memory. */
json_t *channel_text(const char *text, size_t bytes);
