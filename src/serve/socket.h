/* The engine on a unix socket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/err.h"

#include <uv.h>

enum { SOCKET_CLIENTS_MAX = 128 };

struct socket_server;

/*
 * Listen at @path, mode 0600, and serve the operations to processes of this user; others are told
 * so and refused. A socket that nobody listens at any more is replaced.
 *
 * Limits:  SOCKET_CLIENTS_MAX; one more waits until another has gone.
 * Errors:  ERR_USAGE for a path that is too long, ERR_LIMIT when an engine listens there,
 *          ERR_ACCESS, ERR_NOT_FOUND. *@out is then NULL.
 */
int socket_open(struct socket_server **out, uv_loop_t *loop, const char *path,
	const struct operation_context *context, struct err *err);

/* The same with @fd, which listens already and whose path is another's: it is taken over in any
 * case. Errors: ERR_NO_MEMORY, ERR_INTERNAL. */
int socket_adopt(struct socket_server **out, uv_loop_t *loop, int fd,
	const struct operation_context *context, struct err *err);

/* Take no more: neither clients nor requests. */
void socket_drain(struct socket_server *s);
/* Requests that are not answered. */
unsigned socket_n_running(const struct socket_server *s);
/* Interrupt the steps that clients run; they are answered. */
void socket_interrupt(struct socket_server *s);

/*
 * Remove the socket, close all clients; `closed` runs from the loop when it is done, and @s is
 * freed.
 */
void socket_close(struct socket_server *s, void (*closed)(void *arg), void *arg);
