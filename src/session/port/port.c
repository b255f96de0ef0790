/*
 * A port of a box, opened for clients outside.
 *
 * A port may listen at one place of the host. For each connection that it accepts there it makes a
 * link: it dials into the box (dial.c), and then copies bytes both ways (base/relay.h). A port that
 * does not listen only has links of users, which are dialled for port_connect() and then used by
 * the caller.
 *
 * A link that is closed while it is dialled may still be connected: the program can have answered
 * and ended already, and what has arrived is still passed on.
 *
 * When a port has PORT_LINKS_MAX links, or OPENING_MAX that are being opened, it accepts no more
 * for now, and the links of users wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/port/port.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/netns.h"
#include "base/relay.h"
#include "base/timer.h"
#include "session/box/box.h"
#include "session/port/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* OPENING_MAX: links for which the warden makes a socket at the same time. */
enum { OPENING_MAX = 4, BACKLOG = 128, AGAIN_MS = 100 };

struct port_link {
	struct port_link *next, **link;
	struct port *port;
	int host_fd;	       /* of a link that will be relayed, until then */
	struct dial *dial;     /* while it is dialled */
	struct relay *relay;   /* afterwards, unless a user has it */
	uint64_t time_ns;      /* when bytes have moved last, or 0 */
	struct port_user user; /* `connected` is NULL if the link is relayed */
	bool is_waiting;       /* for its turn to be dialled */
	bool is_opening;       /* the warden makes its socket */
	bool is_closing;       /* the port was closed */
	bool is_left;	       /* the user has called port_disconnect() */
};

struct port {
	struct port *next;
	struct engine *engine;
	uint16_t box_port;
	bool is_listening; /* at `place`; else only users connect */
	struct place place;
	struct stat made; /* identity of our unix socket */
	struct box *(*box)(void *arg);
	void *arg;
	int fd;
	uv_poll_t poll;
	uv_timer_t again; /* after accept() has failed */
	int n_handles;	  /* those of the two that are not closed yet */
	bool is_watching, is_closing;
	char *scratch;	  /* of all relays */
	uint64_t time_ns; /* as that of links, of those that are gone */
	struct port_link *links;
	unsigned n_links, n_opening;
};

/* Go on with what waits: accept connections if there is room, and dial for users. go_on_later()
 * does so from the loop. */
static void go_on(struct port *p);

static void on_again(uv_timer_t *timer)
{
	go_on(timer->data);
}

static void go_on_later(struct port *p)
{
	if (!p->is_closing)
		timer_start(&p->again, on_again, 0, 0);
}

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

static void end_opening(struct port_link *l)
{
	l->port->n_opening -= l->is_opening;
	l->is_opening = false;
}

static void free_link(struct port_link *l)
{
	struct port *p = l->port;
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
	p->n_links--;
	p->time_ns = MAX(p->time_ns, l->time_ns);
	end_opening(l);
	fd_close(&l->host_fd);
	free(l);
	go_on_later(p);
	maybe_free(p);
}

static void on_relayed(void *arg)
{
	free_link(arg);
}

static void on_opened(void *arg)
{
	struct port_link *l = arg;
	end_opening(l);
	go_on(l->port);
}

static void start_relay(struct port_link *l, int fd)
{
	struct port *p = l->port;
	l->relay = relay_start(p->engine->loop, take_fd(l->host_fd), fd, p->scratch, on_relayed, l);
	if (l->relay)
		relay_note_time(l->relay, &l->time_ns);
	if (!l->relay)
		free_link(l);
	else if (l->is_closing) /* the program may have answered and ended already */
		relay_stop(l->relay);
}

static void on_dialled(void *arg, int taken, const struct err *err)
{
	struct port_link *l = arg;
	cleanup_fd int fd = taken;
	l->dial = NULL;
	end_opening(l);
	if (l->user.connected && !l->is_left)
		l->user.connected(l->user.arg, take_fd(fd), err);
	else if (fd < 0 || l->is_left)
		free_link(l);
	else
		start_relay(l, take_fd(fd));
}

static void dial(struct port_link *l)
{
	static const struct err gone = {.code = ERR_GONE, .msg = "the session has no box"};
	struct port *p = l->port;
	struct box *box = p->box(p->arg);
	const struct dial_events events = {.opened = on_opened, .done = on_dialled, .arg = l};
	l->is_waiting = false;
	l->is_opening = true;
	p->n_opening++;
	if (!box) {
		on_dialled(l, -1, &gone);
		return;
	}
	struct dial *d = dial_start(box, p->box_port, &events);
	if (d) /* otherwise on_dialled() has freed the link */
		l->dial = d;
}

static struct port_link *new_link(struct port *p, int host_fd)
{
	struct port_link *l = xnew(struct port_link);
	*l = (struct port_link){.next = p->links,
		.link = &p->links,
		.port = p,
		.host_fd = host_fd,
		.is_waiting = true};
	if (l->next)
		l->next->link = &l->next;
	p->links = l;
	p->n_links++;
	return l;
}

/* End a link, for port_close(). The user of a link is told, and disconnects it when it likes. */
static void close_link(struct port_link *l)
{
	l->is_closing = true;
	if (l->user.connected)
		l->user.closed(l->user.arg);
	else if (l->relay)
		relay_stop(l->relay);
	else if (l->dial)
		dial_stop(l->dial);
	else
		free_link(l);
}

/* ---- users ---- */

struct port_link *port_connect(struct port *p, const struct port_user *user, struct err *err)
{
	if (p->n_links >= PORT_LINKS_MAX) {
		err_fail(err, ERR_BUSY, "try again in a moment",
			"port %u of the session has %d connections already", (unsigned)p->box_port,
			PORT_LINKS_MAX);
		return NULL;
	}
	struct port_link *l = new_link(p, -1);
	l->user = *user;
	go_on_later(p);
	return l;
}

void port_disconnect(struct port_link *l)
{
	l->is_left = true;
	if (l->dial)
		dial_stop(l->dial); /* on_dialled() frees the link */
	else
		free_link(l);
}

uint64_t *port_link_time(struct port_link *l)
{
	return &l->time_ns;
}

/* ---- listening on the host ---- */

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
	/* A program of a box can see the socket in a directory of the host, but boxes do not reach
	 * each other. Other users than ours cannot open it. */
	if (place_is_path(&p->place) && !netns_is_same(fd, p->fd)) {
		(void)close(fd);
		return;
	}
	relay_set_options(fd);
	(void)new_link(p, fd);
	go_on(p);
}

static void accept_more(struct port *p)
{
	bool is_wanted =
		p->is_listening && p->n_links < PORT_LINKS_MAX && p->n_opening < OPENING_MAX;
	if (is_wanted == p->is_watching)
		return;
	p->is_watching = is_wanted;
	if (is_wanted)
		(void)uv_poll_start(&p->poll, UV_READABLE, on_listener);
	else
		(void)uv_poll_stop(&p->poll);
}

static struct port_link *find_waiting(struct port *p)
{
	struct port_link *oldest = NULL;
	for (struct port_link *l = p->links; l; l = l->next)
		if (l->is_waiting)
			oldest = l;
	return oldest;
}

static void go_on(struct port *p)
{
	struct port_link *l = p->is_closing ? NULL : find_waiting(p);
	if (p->is_closing)
		return;
	accept_more(p);
	if (!l || p->n_opening >= OPENING_MAX)
		return;
	go_on_later(p); /* there may be more, or now too many to accept others */
	dial(l);
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
	if (!p->is_listening || !place_is_path(&p->place) || p->made.st_ino == 0)
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
		.is_listening = config->place != NULL,
		.box = config->box,
		.arg = config->arg,
		.fd = -1};
	if (p->is_listening)
		p->place = *config->place;
	int r = p->is_listening ? listen_at(p, err) : 0;
	if (r < 0) {
		free(p);
		return r;
	}
	p->scratch = p->is_listening ? xcalloc(1, RELAY_BYTES) : NULL;
	(void)uv_timer_init(p->engine->loop, &p->again);
	p->poll.data = p->again.data = p;
	p->n_handles = 1 + p->is_listening;
	engine_hold(p->engine);
	go_on(p);
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
	for (struct port_link *l = p->links, *next; l; l = next) {
		next = l->next;
		close_link(l);
	}
	if (p->is_listening)
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
	return p->is_listening ? &p->place : NULL;
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

uint64_t port_list_time(const struct port_list *list)
{
	uint64_t last = 0;
	for (const struct port *p = list->first; p; p = p->next) {
		last = MAX(last, p->time_ns);
		for (const struct port_link *l = p->links; l; l = l->next)
			last = MAX(last, l->time_ns);
	}
	return last;
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
