/* Messages of Jupyter on a WebSocket, as bytes and back. Without effects. Source: jupyter_server,
 * "WebSocket kernel wire protocols". SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "serve/jupyter/connection_file.h"
#include "serve/jupyter/message.h"

/* The subprotocol whose messages are binary. Without it they are JSON. */
#define SERVER_MESSAGE_V1 "v1.kernel.websocket.jupyter.org"

/* SERVER_MESSAGE_BYTES: maximum of a message that comes. SERVER_MESSAGE_OUT: of one that is sent.
 */
enum { SERVER_MESSAGE_BYTES = 10 << 20, SERVER_MESSAGE_OUT = 512 << 20 };

/*
 * Read a message. *@channel: JUPYTER_SHELL, JUPYTER_CONTROL or JUPYTER_STDIN; a message that names
 * no channel is for JUPYTER_SHELL. Buffers are left out.
 * Owns:   the caller ends *@out with jupyter_done().
 * Errors: ERR_PROTOCOL: it is no message; ERR_LIMIT; ERR_NOT_FOUND: it names another channel.
 */
int server_message_read(struct jupyter_message *out, enum jupyter_channel *channel, bool is_v1,
	bool is_text, struct signed_part message, struct err *err);

/* Append a message to @out. A part that is NULL is {}. Returns: 0; -ENOMEM, -E2BIG. */
int server_message_write(struct buf *out, bool is_v1, enum jupyter_channel channel,
	const json_t *const parts[SIGNED_PARTS]);
