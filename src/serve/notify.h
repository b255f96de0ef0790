/* The protocol of service managers: inherited sockets, readiness, watchdog.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>
#include <stdbool.h>
#include <uv.h>

enum { NOTIFY_SOCKETS_MAX = 16 };

/* Inherited listening sockets: at most one unix socket, and several for HTTP. */
struct notify_sockets {
	int unix_fd; /* the unix socket, or -1 */
	int inet_fd[NOTIFY_SOCKETS_MAX];
	size_t n_inet;
};

/*
 * Take the sockets of LISTEN_FDS, if the variable is meant for this process, and unset the
 * variables. Must be called before any process is started.
 * Source:  sd_listen_fds(3).
 * Owns:    the caller closes them.
 * Errors:  ERR_USAGE: a descriptor is not a listening stream socket.
 */
int notify_take_sockets(struct notify_sockets *out, struct err *err);

/* Send @state ("READY=1") to NOTIFY_SOCKET, if it is set. Source: sd_notify(3). */
void notify_send(const char *state);

/* Timer that sends "WATCHDOG=1" from @loop, twice per WATCHDOG_USEC; never without the variable. */
struct notify_watchdog {
	uv_timer_t timer;
	bool is_on;
};
void notify_watchdog_start(struct notify_watchdog *w, uv_loop_t *loop);
/* Stop the timer; the loop has to run afterwards. */
void notify_watchdog_stop(struct notify_watchdog *w);
