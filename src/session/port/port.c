/*
 * A port of a box, opened on the host.
 *
 * A port listens at one place of the host. For each connection that it accepts there it makes a
 * link, which goes through these states:
 *
 *     OPENING     the warden makes a socket in the box's network namespace (box_open())
 *     CONNECTING  the socket connects to 127.0.0.1, or after that was refused, to ::1
 *     RELAYING    bytes are copied both ways (relay.c)
 *     CLOSING     its handles are being closed; what has arrived is still passed on
 *
 * The socket cannot reach anything but the box: its network namespace has only a loopback. When a
 * port has PORT_LINKS_MAX links, or OPENING_MAX that are being opened, it accepts no more for now.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/port/port.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "session/box/box.h"
#include "session/port/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* SOCKET_BYTES: buffers that the kernel may use for a connection, in each direction. It would take
 * several MiB otherwise. */
/* OPENING_MAX: links for which the warden makes a socket at the same time. */
enum { OPENING_MAX = 4 };
enum { BACKLOG = 128, SOCKET_BYTES = 256 << 10, AGAIN_MS = 100 };
enum link_state { LINK_OPENING, LINK_CONNECTING, LINK_RELAYING, LINK_CLOSING };

struct link {
	struct link *next;
	struct port *port;
	enum link_state state;
	int host_fd, box_fd;
	bool is_v6;
	struct box_door *door; /* in OPENING */
	uv_poll_t poll;	       /* in CONNECTING: of box_fd */
	struct relay *relay;   /* in RELAYING */
};

struct port {
	struct port *next;
	struct engine *engine;
	uint16_t box_port;
	struct place place;
	struct stat made; /* identity of our unix socket */
	struct box *(*box)(void *arg);
	void *arg;
	int fd;
	uv_poll_t poll;
	uv_timer_t again; /* after accept() has failed */
	int n_handles;	  /* those of the two that are not closed yet */
	bool is_watching, is_closing;
	char *scratch; /* of all relays */
	struct link *links;
	unsigned n_links, n_opening; /* links in OPENING are counted by both */
};

static void watch(struct port *p);

static void maybe_free(struct port *p)
{
	struct engine *e = p->engine;
	if (!p->is_closing || p->n_handles > 0 || p->links)
		return;
	free(p->scratch);
	free(p);
	engine_release(e);
}

/* ---- a link ---- */

static void free_link(struct link *l)
{
	struct port *p = l->port;
	struct link **at = &p->links;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	p->n_links--;
	fd_close(&l->host_fd);
	fd_close(&l->box_fd);
	free(l);
	if (!p->is_closing)
		watch(p);
	maybe_free(p);
}

static void set_state(struct link *l, enum link_state state)
{
	struct port *p = l->port;
	p->n_opening += (state == LINK_OPENING) - (l->state == LINK_OPENING);
	l->state = state;
	if (!p->is_closing)
		watch(p);
}

static void on_relayed(void *arg)
{
	free_link(arg);
}

static bool is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof peer;
	return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0;
}

static void close_link(struct link *l);

static void on_poll_closed(uv_handle_t *handle)
{
	struct link *l = handle->data;
	struct port *p = l->port;
	bool is_closing = l->state == LINK_CLOSING;
	if (is_closing && !is_connected(l->box_fd)) {
		free_link(l);
		return;
	}
	set_state(l, LINK_RELAYING);
	l->relay = relay_start(p->engine->loop, take_fd(l->host_fd), take_fd(l->box_fd), p->scratch,
		on_relayed, l);
	if (!l->relay)
		free_link(l);
	else if (is_closing) /* the program may have answered and ended already */
		close_link(l);
}

static void close_link(struct link *l)
{
	enum link_state state = l->state;
	set_state(l, LINK_CLOSING);
	if (state == LINK_RELAYING) {
		relay_stop(l->relay);
	} else if (state == LINK_CONNECTING) {
		if (!uv_is_closing((uv_handle_t *)&l->poll))
			uv_close((uv_handle_t *)&l->poll, on_poll_closed);
	} else if (state == LINK_OPENING) {
		if (l->door)
			box_open_forget(take_ptr(l->door));
		free_link(l);
	}
}

static void open_door(struct link *l);

/* Nothing listens at 127.0.0.1: try ::1. */
static void retry(struct link *l)
{
	fd_close(&l->box_fd);
	l->is_v6 = true;
	open_door(l);
}

static void on_retry_closed(uv_handle_t *handle)
{
	struct link *l = handle->data;
	if (l->state == LINK_CLOSING)
		free_link(l);
	else
		retry(l);
}

/* Return whether @fd is connected to itself. This can happen if nothing listens, and the kernel
 * gives the socket the very port that it connects to. */
static bool is_own_peer(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t n_own = sizeof own, n_peer = sizeof peer;
	return getsockname(fd, (struct sockaddr *)&own, &n_own) == 0 &&
		getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0 && n_own == n_peer &&
		memcmp(&own, &peer, n_own) == 0;
}

static void on_connected(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;
	int failed = 0;
	socklen_t bytes = sizeof failed;
	(void)events;
	if (getsockopt(l->box_fd, SOL_SOCKET, SO_ERROR, &failed, &bytes) < 0)
		failed = errno;
	if (failed == 0 && status < 0)
		failed = -status;
	if (failed == 0 && is_own_peer(l->box_fd))
		failed = ECONNREFUSED;
	if (failed == 0)
		uv_close((uv_handle_t *)poll, on_poll_closed);
	else if (failed == ECONNREFUSED && !l->is_v6)
		uv_close((uv_handle_t *)poll, on_retry_closed);
	else
		close_link(l);
}

static int connect_to_box(const struct link *l)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = htons(l->port->box_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(l->port->box_port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	return l->is_v6 ? connect(l->box_fd, (const struct sockaddr *)&v6, sizeof v6)
			: connect(l->box_fd, (const struct sockaddr *)&v4, sizeof v4);
}

static void set_options(int fd)
{
	const int bytes = SOCKET_BYTES, on = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void on_socket(void *arg, int fd, const struct err *err)
{
	struct link *l = arg;
	(void)err;
	l->door = NULL;
	if (fd < 0) {
		close_link(l);
		return;
	}
	l->box_fd = fd;
	set_options(fd);
	int failed = connect_to_box(l) < 0 ? errno : 0;
	if (failed == ECONNREFUSED && !l->is_v6) {
		retry(l);
		return;
	}
	if ((failed != 0 && failed != EINPROGRESS) ||
		uv_poll_init(l->port->engine->loop, &l->poll, l->box_fd) < 0) {
		close_link(l);
		return;
	}
	l->poll.data = l;
	set_state(l, LINK_CONNECTING);
	(void)uv_poll_start(&l->poll, UV_WRITABLE, on_connected);
}

static void open_door(struct link *l)
{
	struct port *p = l->port;
	struct box *box = p->is_closing ? NULL : p->box(p->arg);
	enum warden_door what = l->is_v6 ? WARDEN_DOOR_SOCKET6 : WARDEN_DOOR_SOCKET;
	set_state(l, LINK_OPENING);
	if (!box) {
		close_link(l);
		return;
	}
	struct box_door *door = box_open(box, what, on_socket, l);
	if (door) /* otherwise on_socket() has freed the link */
		l->door = door;
}

/* ---- listening on the host ---- */

static void on_again(uv_timer_t *timer)
{
	watch(timer->data);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct port *p = poll->data;
	(void)events;
	int fd = status < 0 ? -1 : accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int sys = status < 0 ? -status : errno;
	if (fd < 0 && sys != EAGAIN && sys != ECONNABORTED && sys != EINTR) {
		/* Too many open files: the connection waits, and so does the loop. */
		(void)uv_poll_stop(poll);
		p->is_watching = false;
		timer_start(&p->again, on_again, AGAIN_MS, 0);
	}
	if (fd < 0)
		return;
	set_options(fd);
	struct link *l = xnew(struct link);
	*l = (struct link){
		.next = p->links, .port = p, .state = LINK_OPENING, .host_fd = fd, .box_fd = -1};
	p->links = l;
	p->n_links++;
	p->n_opening++;
	watch(p);
	open_door(l);
}

static void watch(struct port *p)
{
	bool is_wanted = p->n_links < PORT_LINKS_MAX && p->n_opening < OPENING_MAX;
	if (is_wanted == p->is_watching)
		return;
	p->is_watching = is_wanted;
	if (is_wanted)
		(void)uv_poll_start(&p->poll, UV_READABLE, on_listener);
	else
		(void)uv_poll_stop(&p->poll);
}

static int listen_failed(const struct place *place, int sys, struct err *err)
{
	char text[PLACE_TEXT_BYTES];
	place_write(place, text);
	if (sys == EADDRINUSE)
		return err_fail(err, ERR_LIMIT, "choose another port, or 0 for a free one",
			"%s is taken already", text);
	if (sys == EADDRNOTAVAIL)
		return err_fail(err, ERR_USAGE, "give an address of this host, such as 127.0.0.1",
			"%s is not an address of this host", text);
	if (sys == EACCES)
		return err_fail(err, ERR_ACCESS, "choose a port from 1024 on",
			"the engine may not listen at %s", text);
	return err_sys(err, ERR_IO, sys, "listen at %s", text);
}

/* Bind the unix socket. A file that an engine left there when it was killed is replaced: the
 * directory is the engine's own. */
static int bind_path(struct port *p)
{
	struct sockaddr_un at;
	memcpy(&at, &p->place.address, sizeof at);
	(void)unlink(at.sun_path);
	mode_t before = umask(0177);
	int r = bind(p->fd, (const struct sockaddr *)&at, sizeof at);
	int sys = errno;
	(void)umask(before);
	if (r == 0 && lstat(at.sun_path, &p->made) < 0)
		return -errno;
	return r < 0 ? -sys : 0;
}

static int bind_place(struct port *p)
{
	const int on = 1;
	if (place_is_path(&p->place))
		return bind_path(p);
	/* for a port that another engine has just given up; two listeners are still refused */
	(void)setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (p->place.address.ss_family == AF_INET6)
		(void)setsockopt(p->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(p->fd, (const struct sockaddr *)&p->place.address, p->place.address_bytes) < 0)
		return -errno;
	p->place.address_bytes = sizeof p->place.address;
	return getsockname(p->fd, (struct sockaddr *)&p->place.address, &p->place.address_bytes) < 0
		? -errno
		: 0;
}

static void remove_path(const struct port *p)
{
	struct sockaddr_un at;
	struct stat st;
	if (!place_is_path(&p->place) || p->made.st_ino == 0)
		return;
	memcpy(&at, &p->place.address, sizeof at);
	if (lstat(at.sun_path, &st) == 0 && st.st_dev == p->made.st_dev &&
		st.st_ino == p->made.st_ino)
		(void)unlink(at.sun_path);
}

static int listen_at(struct port *p, struct err *err)
{
	p->fd = socket(p->place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = p->fd < 0 ? -errno : bind_place(p);
	if (r == 0 && listen(p->fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0)
		r = uv_poll_init(p->engine->loop, &p->poll, p->fd);
	if (r == 0)
		return 0;
	r = listen_failed(&p->place, -r, err);
	remove_path(p);
	fd_close(&p->fd);
	return r;
}

int port_open(struct port **out, const struct port_config *config, struct err *err)
{
	struct port *p = xnew(struct port);
	*p = (struct port){.engine = config->engine,
		.box_port = config->box_port,
		.place = *config->place,
		.box = config->box,
		.arg = config->arg};
	int r = listen_at(p, err);
	if (r < 0) {
		free(p);
		return r;
	}
	p->scratch = xcalloc(1, RELAY_BYTES);
	(void)uv_timer_init(p->engine->loop, &p->again);
	p->poll.data = p->again.data = p;
	p->n_handles = 2;
	engine_hold(p->engine);
	watch(p);
	*out = p;
	return 0;
}

static void on_port_closed(uv_handle_t *handle)
{
	struct port *p = handle->data;
	p->n_handles--;
	maybe_free(p);
}

void port_close(struct port *p)
{
	p->is_closing = true;
	p->box = NULL;
	remove_path(p);
	/* close_link() may free its link, but no other one. */
	for (struct link *l = p->links, *next; l; l = next) {
		next = l->next;
		close_link(l);
	}
	uv_close((uv_handle_t *)&p->poll, on_port_closed);
	fd_close(&p->fd); /* now, so that the place is free for another port */
	uv_close((uv_handle_t *)&p->again, on_port_closed);
}

uint16_t port_number(const struct port *p)
{
	return p->box_port;
}

const struct place *port_place(const struct port *p)
{
	return &p->place;
}

/* ---- lists ---- */

void port_list_add(struct port_list *list, struct port *p)
{
	p->next = list->first;
	list->first = p;
	list->n++;
}

struct port *port_next(const struct port *p)
{
	return p->next;
}

unsigned port_list_close(struct port_list *list, uint16_t box_port)
{
	unsigned n = 0;
	for (struct port **at = &list->first; *at;) {
		struct port *p = *at;
		if (box_port != 0 && p->box_port != box_port) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		list->n--;
		n++;
		port_close(p);
	}
	return n;
}
