/* One client of the engine on a unix socket, with its JSON-RPC requests and responses.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"

#include <uv.h>

/* Limits for one client. CALLS_MAX limits the requests that are not answered yet. SOFT and HARD
 * limit the bytes of output that the client has not read yet. Above SOFT, the engine reads no more
 * requests of the client, and drops the events of its steps. Nothing is lost, because the result of
 * a step repeats its output. A response that would exceed HARD is replaced by an error. If even the
 * error does not fit, the connection is closed. */
enum {
	CONNECTION_CALLS_MAX = 64,
	CONNECTION_SOFT_BYTES = 1 << 20,
	CONNECTION_HARD_BYTES = 256 << 20,
};

struct connection;

struct connection_config {
	uv_loop_t *loop;
	const struct operation_context *context;
	size_t hard_bytes; /* 0 stands for CONNECTION_HARD_BYTES */
	void *arg;
	/* Called once, when the connection is closed. No other callback follows. */
	void (*closed)(void *arg, struct connection *c);
};

/*
 * Serve the client at the socket @fd. The connection owns @fd, also on failure.
 * Each response is sent when its operation ends, so responses may come in any order. A client that
 * only shuts down its sending side still receives its responses. When a client disconnects, its
 * steps are interrupted, except steps with the parameter `detach`. The request "$/cancel" {"id"}
 * cancels the request with that id.
 *
 * Returns: NULL if memory is exhausted.
 */
struct connection *connection_open(int fd, const struct connection_config *config);

/* Close the connection. Its requests are cancelled, except steps with the parameter `detach`,
 * and nobody gets their responses. `closed` is called later, from the loop. */
void connection_close(struct connection *c);

/* Read no more input, and close the connection after the requests received so far were answered. */
void connection_drain(struct connection *c);
/* Return the number of unanswered requests, plus one if output is unsent. */
unsigned connection_n_running(const struct connection *c);
/* Cancel the running requests: their steps are interrupted. Each request still receives a
 * response. */
void connection_interrupt(struct connection *c);

/* Close the connection if the client has disconnected completely, not only shut down its sending
 * side. To be called periodically. */
void connection_check(struct connection *c);
