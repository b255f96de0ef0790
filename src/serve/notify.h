/* The protocol between services and a service manager such as systemd: inherited sockets,
 * readiness, and the watchdog. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>
#include <stdbool.h>
#include <uv.h>

enum { NOTIFY_SOCKETS_MAX = 16 };

/* The listening sockets that the service manager passed: at most one unix socket for JSON-RPC, and
 * several TCP sockets for HTTP. */
struct notify_sockets {
	int unix_fd; /* -1 if the service manager passed no unix socket */
	int inet_fd[NOTIFY_SOCKETS_MAX];
	size_t n_inet;
};

/*
 * Take the sockets that LISTEN_FDS announces, if LISTEN_PID is this process, and unset the
 * variables. Must be called before any process is started, which would inherit the sockets.
 * Source:  sd_listen_fds(3).
 * Owns:    the caller closes the sockets.
 * Errors:  ERR_USAGE if a descriptor is not a listening stream socket, or if there are too many.
 */
int notify_take_sockets(struct notify_sockets *out, struct err *err);

/* Send @state, such as "READY=1", to the socket that NOTIFY_SOCKET names. Do nothing if the
 * variable is unset. Source: sd_notify(3). */
void notify_send(const char *state);

/* A timer that sends "WATCHDOG=1" from the loop, twice per period of WATCHDOG_USEC. Without that
 * variable it does not run. */
struct notify_watchdog {
	uv_timer_t timer;
	bool is_on;
};
void notify_watchdog_start(struct notify_watchdog *w, uv_loop_t *loop);
/* Stop the timer. The loop must run afterwards, to close its handle. */
void notify_watchdog_stop(struct notify_watchdog *w);
