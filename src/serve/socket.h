/* The engine's JSON-RPC server on a unix socket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/err.h"

#include <uv.h>

enum { SOCKET_CLIENTS_MAX = 128 };

struct socket_server;

/*
 * Create a unix socket at @path with mode 0600, and serve processes of this user in the network
 * namespace of the socket. A process of another user, such as root, or of another network
 * namespace, such as a box, receives an error. A socket file on which no process listens is
 * replaced.
 *
 * Limits:  SOCKET_CLIENTS_MAX clients; further clients wait until one disconnects.
 * Errors:  ERR_USAGE if the path is too long or is not a socket, ERR_LIMIT if an engine listens
 *          there, ERR_ACCESS, ERR_NOT_FOUND. *@out is NULL after an error.
 */
int socket_open(struct socket_server **out, uv_loop_t *loop, const char *path,
	const struct operation_context *context, struct err *err);

/* Serve clients at @fd, a listening unix socket that a service manager created. The server does not
 * unlink its path. It owns @fd, also on failure. Errors: ERR_INTERNAL. */
int socket_adopt(struct socket_server **out, uv_loop_t *loop, int fd,
	const struct operation_context *context, struct err *err);

/* Accept no more clients, and read no more requests of connected clients. */
void socket_drain(struct socket_server *s);
/* Return the number of unanswered requests of all clients. */
unsigned socket_n_running(const struct socket_server *s);
/* Cancel the running requests of all clients: their steps are interrupted. Each request still
 * receives a response. */
void socket_interrupt(struct socket_server *s);

/* Remove the socket file and close all connections. When all are closed, @s is freed and `closed`
 * is called from the loop. */
void socket_close(struct socket_server *s, void (*closed)(void *arg), void *arg);
