/* The engine on a unix socket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/err.h"

#include <uv.h>

enum { SOCKET_CLIENTS_MAX = 128 };

struct socket_server;

/*
 * Listen at @path, mode 0600, and serve processes of this user; others get an error. A socket at
 * which nobody listens is replaced.
 *
 * Limits:  SOCKET_CLIENTS_MAX; further clients wait until one is gone.
 * Errors:  ERR_USAGE for a path that is too long, ERR_LIMIT when an engine listens there,
 *          ERR_ACCESS, ERR_NOT_FOUND. *@out is then NULL.
 */
int socket_open(struct socket_server **out, uv_loop_t *loop, const char *path,
	const struct operation_context *context, struct err *err);

/* The same with @fd, which already listens and whose path belongs to a service manager; it is taken
 * over in any case. Errors: ERR_INTERNAL. */
int socket_adopt(struct socket_server **out, uv_loop_t *loop, int fd,
	const struct operation_context *context, struct err *err);

/* Take no more clients and requests. */
void socket_drain(struct socket_server *s);
/* The number of unanswered requests. */
unsigned socket_n_running(const struct socket_server *s);
/* Interrupt the clients' steps; they are answered. */
void socket_interrupt(struct socket_server *s);

/* Remove the socket and close all clients; `closed` is called from the loop when all is done, and
 * @s is freed. */
void socket_close(struct socket_server *s, void (*closed)(void *arg), void *arg);
