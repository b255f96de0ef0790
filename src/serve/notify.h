/* What a service manager hands over and hears: sockets, readiness, signs of life.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdint.h>
#include <stdbool.h>
#include <uv.h>

enum { NOTIFY_SOCKETS_MAX = 16 };

/* Listening sockets: of this user's clients, and for HTTP. */
struct notify_sockets {
	int unix_fd; /* or -1 */
	int inet_fd[NOTIFY_SOCKETS_MAX];
	size_t n_inet;
};

/*
 * Take the sockets of LISTEN_FDS, if it is for this process; the variables are gone then. To be
 * called before any process is started.
 * Source:  sd_listen_fds(3).
 * Owns:    the caller closes them.
 * Errors:  ERR_USAGE for what is no listening stream socket.
 */
int notify_take_sockets(struct notify_sockets *out, struct err *err);

/* Tell @state ("READY=1") to NOTIFY_SOCKET, if there is one. Source: sd_notify(3). */
void notify_send(const char *state);

/* "WATCHDOG=1" from @loop, twice in the time of WATCHDOG_USEC; without that, never. */
struct notify_watchdog {
	uv_timer_t timer;
	bool is_on;
};
void notify_watchdog_start(struct notify_watchdog *w, uv_loop_t *loop);
/* To be followed by turns of the loop. */
void notify_watchdog_stop(struct notify_watchdog *w);
