/* A client of the engine on a unix socket: its requests and its responses. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/operation/operation.h"

#include <uv.h>

/* Limits of the output that one client has not read yet. Above SOFT, requests of the client are not
 * read, and output of its steps is not sent (their results contain the output). Above HARD, a
 * response is replaced by an error; if not even the error fits, the connection is closed. */
enum {
	CONNECTION_CALLS_MAX = 64,
	CONNECTION_SOFT_BYTES = 1 << 20,
	CONNECTION_HARD_BYTES = 256 << 20,
};

struct connection;

struct connection_config {
	uv_loop_t *loop;
	const struct operation_context *context;
	size_t hard_bytes; /* 0: CONNECTION_HARD_BYTES */
	void *arg;
	void (*closed)(void *arg, struct connection *c); /* the last callback */
};

/*
 * Serve a client at @fd. The connection owns @fd, also on failure. Responses are sent when their
 * operations end, in any order. A client that shuts down its side still receives its responses;
 * when a client disconnects, its steps are interrupted, except those with `detach`. "$/cancel"
 * {"id"} cancels the request with that id.
 *
 * Returns: NULL without memory.
 */
struct connection *connection_open(int fd, const struct connection_config *config);

/* Close the connection now; `closed` is called later. Unfinished calls lose their listener. */
void connection_close(struct connection *c);

/* Take no more requests, and close once the running requests have their responses. */
void connection_drain(struct connection *c);
/* Return the number of requests without a response, plus one if output is not written yet. */
unsigned connection_n_running(const struct connection *c);
/* Interrupt the client's steps; their responses are still sent. */
void connection_interrupt(struct connection *c);

/* Close the connection if a client that has shut down its side has also closed the other. To be
 * called periodically. */
void connection_check(struct connection *c);
