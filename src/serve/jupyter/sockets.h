/* The five sockets of a kernel, through ZeroMQ on the event loop. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/jupyter/connection_file.h"
#include "serve/jupyter/kernel.h"

#include <uv.h>

struct sockets;

/*
 * Open the sockets of @connection. Nothing is read before sockets_serve().
 * Owns:   the caller ends *@out with sockets_stop(), a run of the loop, and sockets_free().
 * Errors: ERR_NOT_FOUND: libzmq is missing; ERR_BUSY: an address is in use; ERR_USAGE: an address
 * is not one of this host; ERR_ACCESS, ERR_NO_MEMORY, ERR_IO.
 */
int sockets_open(struct sockets **out, const struct connection_file *connection, struct err *err);

/* Give what arrives to @kernel, from the loop. Messages that jupyter_read() refuses are reported on
 * stderr, the first ones. */
int sockets_serve(struct sockets *s, uv_loop_t *loop, struct kernel *kernel, struct err *err);

/* Send a message, as `send` of struct kernel_config. */
void sockets_send(struct sockets *s, enum jupyter_channel channel, const struct jupyter_route *to,
	const char *topic, const json_t *const parts[SIGNED_PARTS]);

/* Stop reading. */
void sockets_stop(struct sockets *s);
/* Blocks: until what was sent has gone out, LINGER_MS at most. */
void sockets_free(struct sockets *s);
