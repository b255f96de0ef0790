/* A port of a box, opened for clients outside. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/port/place.h"
#include "session/start/engine.h"

#include <stdint.h>

/* Connections of one port at a time. Others wait to be accepted, or get ERR_BUSY. */
enum { PORT_LINKS_MAX = 100 };

struct box;
struct port;
struct port_link;

struct port_config {
	struct engine *engine;
	uint16_t box_port;
	const struct place *place; /* borrowed for the call; NULL: only port_connect() is used */
	/* Return the box to which a new connection leads, borrowed; NULL: there is none now. */
	struct box *(*box)(void *arg);
	void *arg;
};

/*
 * Listen at a place of the host. Each connection there is joined to a new connection inside of the
 * box, to 127.0.0.1 or, if nothing listens there, to ::1. If nothing listens there either, it is
 * closed. A unix socket gets mode 0600, replaces an older file at its path, and closes connections
 * from other network namespaces, such as boxes.
 *
 * Errors: ERR_ACCESS, ERR_LIMIT (the place is taken), ERR_USAGE (it is not of this host), ERR_IO.
 */
int port_open(struct port **out, const struct port_config *config, struct err *err);

/* Who uses a connection into the box itself. */
struct port_user {
	/* Called once from the loop. Owns: the callee takes @fd; -1: see @err (dial.h). The callee
	 * may call port_disconnect(). */
	void (*connected)(void *arg, int fd, const struct err *err);
	/* Called at most once: the port was closed, so the user has to end the connection. The
	 * callee may call port_disconnect(). */
	void (*closed)(void *arg);
	void *arg;
};

/*
 * Connect to the port's program. @user is borrowed for the call.
 * Owns:    the caller ends the link with port_disconnect(), whether it was connected or not; after
 *          that, no callback is called.
 * Errors:  ERR_BUSY: PORT_LINKS_MAX is reached. NULL is returned then.
 */
struct port_link *port_connect(struct port *p, const struct port_user *user, struct err *err);
void port_disconnect(struct port_link *l);
/* Return where the user notes the time of uv_hrtime() when bytes have moved, valid until
 * port_disconnect(). */
uint64_t *port_link_time(struct port_link *l);

/* Stop to listen, and close all connections. What has arrived is passed on first (relay_stop()). @p
 * is freed when the loop has run; its callback is not called any more. A unix socket is removed. */
void port_close(struct port *p);

/* port_number(): the port in the box. port_place(): where it listens on the host, with the port
 * that the kernel has chosen; NULL if it does not listen. */
uint16_t port_number(const struct port *p);
const struct place *port_place(const struct port *p);

/* A list of ports, which owns them. port_next() returns the port after @p in its list, or NULL. */
struct port_list {
	struct port *first;
	unsigned n;
};
void port_list_add(struct port_list *list, struct port *p);
struct port *port_next(const struct port *p);
/* Return when bytes have moved last through one of the ports, as uv_hrtime(); 0: never. */
uint64_t port_list_time(const struct port_list *list);
/* Close all ports of @list on @box_port, or all if @box_port is 0. Returns: how many. */
unsigned port_list_close(struct port_list *list, uint16_t box_port);
