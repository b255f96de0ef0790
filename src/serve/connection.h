/* One client on a socket: its requests, and what is owed to it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "api/operation/operation.h"

#include <uv.h>

/*
 * Of one client. Above SOFT of what it has not taken yet, its requests are not read, and output of
 * its steps is no longer told (the result has it all the same). Above HARD an answer becomes an
 * error, and a client that does not take even that is gone.
 */
enum {
	CONNECTION_CALLS_MAX = 64,
	CONNECTION_SOFT_BYTES = 1 << 20,
	CONNECTION_HARD_BYTES = 256 << 20,
};

struct connection;

struct connection_config {
	uv_loop_t *loop;
	const struct operation_context *context;
	void *arg;
	void (*closed)(void *arg, struct connection *c); /* the last that is heard of it */
};

/*
 * Serve @fd, which is taken over in any case. Requests are answered as they are done, not in their
 * order. At the end of what the client sends, what is owed is still written; when the client is
 * gone, its steps are interrupted, but for those with `detach`. "$/cancel" {"id"} stops the step
 * that was asked for with that id.
 *
 * Returns: NULL without memory.
 */
struct connection *connection_open(int fd, const struct connection_config *config);

/* Close it now; `closed` follows. Calls that are not done lose their listener. */
void connection_close(struct connection *c);

/* Take no more requests; it closes when what runs has been answered. */
void connection_drain(struct connection *c);
/* Requests that are not answered, and one for what is not written yet. */
unsigned connection_n_running(const struct connection *c);
/* Interrupt the steps it runs; they are answered. */
void connection_interrupt(struct connection *c);

/* Look whether a client that sends no more is still there; to be called now and then. */
void connection_check(struct connection *c);
