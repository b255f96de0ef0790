/*
 * A connection to a program of a box.
 *
 *     OPENING     the warden makes a socket in the box's network namespace (box_open())
 *     CONNECTING  the socket connects to 127.0.0.1, or after that was refused, to ::1
 *
 * libcurl, which gets some of these sockets, calls connect() on them once more (7.88 does, although
 * it is told not to). This succeeds as long as nobody has called connect() a second time before.
 *
 * The socket cannot reach anything but the box: its network namespace has only a loopback.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/port/dial.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/relay.h"
#include "session/box/box.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct dial {
	struct box *box; /* counted reference */
	uint16_t port;
	int fd;
	bool is_v6, is_stopped;
	bool is_starting;      /* dial_start() has not returned */
	struct box_door *door; /* in OPENING */
	uv_poll_t poll;	       /* in CONNECTING */
	struct err err;
	struct dial_events events;
	bool is_done;
};

static void open_door(struct dial *d);

/* Report the socket, or -1 with d->err. */
static void finish(struct dial *d, int fd)
{
	fd_close(&d->fd);
	d->events.done(d->events.arg, fd, fd < 0 ? &d->err : NULL);
	box_let_go(d->box);
	d->is_done = true;
	if (!d->is_starting)
		free(d);
}

static void set_stopped(struct dial *d)
{
	err_set(&d->err, ERR_INTERRUPTED, "the connection to port %u was given up",
		(unsigned)d->port);
}

static void set_failed(struct dial *d, int sys)
{
	if (sys == ECONNREFUSED)
		err_fail(&d->err, ERR_NOT_FOUND,
			"start a server there: `port.list` shows the ports",
			"nothing listens on port %u of the session", (unsigned)d->port);
	else
		err_sys(&d->err, ERR_IO, sys, "connect to port %u of the session",
			(unsigned)d->port);
}

static bool is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof peer;
	return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0;
}

static void on_poll_closed(uv_handle_t *handle)
{
	struct dial *d = handle->data;
	if (is_connected(d->fd) && !fd_is_own_peer(d->fd)) {
		finish(d, take_fd(d->fd));
	} else {
		set_stopped(d);
		finish(d, -1);
	}
}

static void on_failed_closed(uv_handle_t *handle)
{
	finish(handle->data, -1);
}

/* Nothing listens at 127.0.0.1: try ::1. */
static void on_refused_closed(uv_handle_t *handle)
{
	struct dial *d = handle->data;
	fd_close(&d->fd);
	d->is_v6 = true;
	if (!d->is_stopped) {
		open_door(d);
		return;
	}
	set_stopped(d);
	finish(d, -1);
}

static void on_connected(uv_poll_t *poll, int status, int events)
{
	struct dial *d = poll->data;
	int failed = 0;
	socklen_t bytes = sizeof failed;
	(void)events;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &failed, &bytes) < 0)
		failed = errno;
	if (failed == 0 && status < 0)
		failed = -status;
	if (failed == 0 && fd_is_own_peer(d->fd))
		failed = ECONNREFUSED;
	if (failed != 0)
		set_failed(d, failed);
	uv_close((uv_handle_t *)poll,
		failed == 0				      ? on_poll_closed
			: failed == ECONNREFUSED && !d->is_v6 ? on_refused_closed
							      : on_failed_closed);
}

static int connect_to_box(const struct dial *d)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = htons(d->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(d->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r = d->is_v6 ? connect(d->fd, (const struct sockaddr *)&v6, sizeof v6)
			 : connect(d->fd, (const struct sockaddr *)&v4, sizeof v4);
	return r < 0 ? -errno : 0;
}

static void on_socket(void *arg, const int *fds, const struct err *err)
{
	struct dial *d = arg;
	d->door = NULL;
	if (!fds) {
		d->err = *err;
		finish(d, -1);
		return;
	}
	d->fd = fds[0];
	relay_set_options(d->fd);
	if (d->events.opened)
		d->events.opened(d->events.arg);
	int r = connect_to_box(d);
	if (r == -ECONNREFUSED && !d->is_v6) {
		fd_close(&d->fd);
		d->is_v6 = true;
		open_door(d);
		return;
	}
	if (r == -EINPROGRESS)
		r = 0;
	if (r == 0)
		r = uv_poll_init(d->box->engine->loop, &d->poll, d->fd);
	if (r < 0) {
		set_failed(d, -r);
		finish(d, -1);
		return;
	}
	d->poll.data = d;
	(void)uv_poll_start(&d->poll, UV_WRITABLE, on_connected);
}

static void open_door(struct dial *d)
{
	struct box_door *door = box_open(
		d->box, d->is_v6 ? WARDEN_DOOR_SOCKET6 : WARDEN_DOOR_SOCKET, NULL, on_socket, d);
	if (door) /* otherwise on_socket() was called */
		d->door = door;
}

struct dial *dial_start(struct box *b, uint16_t port, const struct dial_events *events)
{
	struct dial *d = xnew(struct dial);
	*d = (struct dial){
		.box = box_hold(b), .port = port, .fd = -1, .is_starting = true, .events = *events};
	open_door(d);
	d->is_starting = false;
	if (!d->is_done)
		return d;
	free(d);
	return NULL;
}

void dial_stop(struct dial *d)
{
	d->is_stopped = true;
	if (d->door) {
		box_open_forget(take_ptr(d->door));
		set_stopped(d);
		finish(d, -1);
	} else if (!uv_is_closing((uv_handle_t *)&d->poll)) {
		uv_close((uv_handle_t *)&d->poll, on_poll_closed);
	}
}
