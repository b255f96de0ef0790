/* One client on a socket: its requests and its answers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"

#include <uv.h>

/* Limits of output that one client has not read yet. Above SOFT, its requests are not read, and
 * output of its steps is not sent (the result has it all the same). Above HARD, an answer becomes
 * an error; if there is no room even for that, the connection is closed. */
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
 * Serve @fd, which is taken over in any case. Requests are answered when they are done, in any
 * order. If the client shuts down its side, it still gets its answers; if it is gone, its steps are
 * interrupted, except those with `detach`. "$/cancel" {"id"} cancels the request with that id.
 *
 * Returns: NULL without memory.
 */
struct connection *connection_open(int fd, const struct connection_config *config);

/* Close it now; `closed` follows. Unfinished calls lose their listener. */
void connection_close(struct connection *c);

/* Take no more requests, and close when the running ones are answered. */
void connection_drain(struct connection *c);
/* Unanswered requests, plus one if output is not written yet. */
unsigned connection_n_running(const struct connection *c);
/* Interrupt the client's steps; they are answered. */
void connection_interrupt(struct connection *c);

/* Is a client that has shut down its side still there? To be called periodically. */
void connection_check(struct connection *c);
