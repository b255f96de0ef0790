/* The engine's server on a unix socket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/err.h"

#include <uv.h>

enum { SOCKET_CLIENTS_MAX = 128 };

struct socket_server;

/*
 * Listen at @path, mode 0600, and serve processes of this user; other users receive an error. A
 * socket without a listener is replaced.
 *
 * Limits:  SOCKET_CLIENTS_MAX; further clients wait until one disconnects.
 * Errors:  ERR_USAGE for a path that is too long, ERR_LIMIT when an engine listens there,
 *          ERR_ACCESS, ERR_NOT_FOUND. *@out is then NULL.
 */
int socket_open(struct socket_server **out, uv_loop_t *loop, const char *path,
	const struct operation_context *context, struct err *err);

/* Serve clients at @fd, which already listens and whose path belongs to a service manager. The
 * server owns @fd, also on failure. Errors: ERR_INTERNAL. */
int socket_adopt(struct socket_server **out, uv_loop_t *loop, int fd,
	const struct operation_context *context, struct err *err);

/* Accept no more clients and requests. */
void socket_drain(struct socket_server *s);
/* Return the number of requests without a response. */
unsigned socket_n_running(const struct socket_server *s);
/* Interrupt the clients' steps; their responses are still sent. */
void socket_interrupt(struct socket_server *s);

/* Remove the socket and close all clients. When all are closed, @s is freed and `closed` is called
 * from the loop. */
void socket_close(struct socket_server *s, void (*closed)(void *arg), void *arg);
