/* A connection to a program of a box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>

struct box;
struct dial;

/* The callbacks of an attempt. */
struct dial_events {
	/* Called when the warden has made the socket: it is being connected now. May be NULL. */
	void (*opened)(void *arg);
	/*
	 * Called once. @fd: the connected socket, non-blocking, which the callee owns; or -1, with
	 * @err. Errors: ERR_NOT_FOUND: nothing listens there; those of box_open(); ERR_INTERRUPTED:
	 * dial_stop() was called; ERR_IO.
	 */
	void (*done)(void *arg, int fd, const struct err *err);
	void *arg;
};

/*
 * Connect to @port of the box: to 127.0.0.1 or, if nothing listens there, to ::1. @b and @events
 * are borrowed for the call. Returns: the attempt, valid until `done` is called; or NULL if `done`
 * was called already.
 */
struct dial *dial_start(struct box *b, uint16_t port, const struct dial_events *events);

/* End the attempt. `done` follows, from the loop or during the call: still with a socket if the
 * program has accepted the connection meanwhile. */
void dial_stop(struct dial *d);
