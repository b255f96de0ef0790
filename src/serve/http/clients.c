/* The connections of clients: accepting them, with limits, and closing those that are over or late.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "serve/http/inside.h"

#include "net/tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- accepting connections ---- */

void http_on_connection(void *arg, struct MHD_Connection *mhd, void **slot,
	enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = arg;
	struct http_connection *c = *slot;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		/* take_client() has just put this connection at the front of the list. */
		c = s->connections;
		c->mhd = mhd;
		*slot = c;
		return;
	}
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	s->n_connections--;
	http_count(s, METRICS_CONNECTIONS, -1);
	if (c->tls)
		tls_client_release(c->tls);
	free(c->target);
	free(c);
}

/* Count the connections from the host @peer, or all connections if @peer is NULL. */
static unsigned n_of(const struct http_server *s, const struct address *peer)
{
	unsigned n = 0;
	for (const struct http_connection *c = s->connections; c; c = c->next)
		n += !c->is_given_up && (!peer || address_is_same_host(&c->peer, peer));
	return n;
}

static void hang_up(const struct http_connection *c);

/* Close the oldest connection that has sent no valid token. If @peer is not NULL, consider only
 * connections from that host. So clients that merely connect cannot lock out clients with a
 * token. Returns: false if no such connection exists. */
static bool give_up_one(struct http_server *s, const struct address *peer)
{
	struct http_connection *oldest = NULL;
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (!c->is_proven && !c->is_given_up && !c->is_surplus &&
			(!peer || address_is_same_host(&c->peer, peer)))
			oldest = c;
	if (!oldest)
		return false;
	oldest->is_given_up = true;
	hang_up(oldest);
	return true;
}

static bool has_place(struct http_server *s, const struct address *peer)
{
	unsigned max = s->config.n_connections_max;
	return (n_of(s, peer) < (max + 1) / 2 || give_up_one(s, peer)) &&
		(n_of(s, NULL) < max || give_up_one(s, NULL));
}

static void take_client(struct http_server *s, int taken, const struct address *peer)
{
	struct tls_client *tls = NULL;
	bool is_surplus = !has_place(s, peer);
	tcp_set_options(taken);
	cleanup_fd int fd = s->tls ? tls_client_open(s->tls, taken, &tls) : taken;
	if (fd < 0)
		return;
	struct http_connection *c = xnew(struct http_connection);
	*c = (struct http_connection){.server = s,
		.fd = fd,
		.tls = tls,
		.peer = *peer,
		.next = s->connections,
		.link = &s->connections,
		.since_ms = timer_now(),
		.is_surplus = is_surplus};
	if (c->next)
		c->next->link = &c->next;
	s->connections = c;
	s->n_connections++;
	http_count(s, METRICS_CONNECTIONS, 1);
	if (s->lib.add_connection(s->mhd, take_fd(fd), &peer->any, peer->bytes) == MHD_YES)
		return;
	if (s->connections == c && !c->mhd) {
		s->connections = c->next;
		if (c->next)
			c->next->link = &s->connections;
		s->n_connections--;
		http_count(s, METRICS_CONNECTIONS, -1);
		if (tls)
			tls_client_release(tls);
		free(c);
	}
}

static bool may_accept(const struct http_server *s)
{
	return s->n_connections < s->config.n_connections_max + HTTP_SURPLUS_MAX;
}

void http_on_accept(uv_poll_t *poll, int status, int events)
{
	struct http_listener *l = poll->data;
	struct http_server *s = l->server;
	(void)status;
	(void)events;
	while (may_accept(s)) {
		struct address peer = {.bytes = sizeof peer.room};
		int fd = accept4(l->fd, &peer.any, &peer.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (fd < 0 && errno == EAGAIN)
			break;
		if (fd < 0) {
			/* Perhaps no descriptor is free. on_check() will watch the socket again. */
			(void)uv_poll_stop(&l->poll);
			return;
		}
		take_client(s, fd, &peer);
	}
	if (!may_accept(s))
		(void)uv_poll_stop(&l->poll);
	http_plan(s);
}

/* ---- periodic checks of connections ---- */

/* Shut down the socket; the library then notices the end and closes it. */
static void hang_up(const struct http_connection *c)
{
	(void)shutdown(c->fd, SHUT_RDWR);
}

/* Return whether the client has disconnected. The library may miss an end of input that arrives
 * together with data, so ask the kernel. When the kernel first reports the end, the client's
 * last request may still be unread. So two reports in a row are needed. */
static bool is_over(struct http_connection *c)
{
	bool had_left = c->has_left;
	c->has_left = tcp_has_left(c->fd);
	return had_left && c->has_left;
}

uint64_t http_heard_bytes(const struct http_connection *c)
{
	return c->tls ? tls_client_heard_bytes(c->tls) : tcp_heard_bytes(c->fd);
}

static bool is_late(struct http_connection *c)
{
	const struct http_config *config = &c->server->config;
	if (c->phase == HTTP_WAITING && !c->has_begun && http_heard_bytes(c) > c->heard_bytes) {
		c->has_begun = true;
		c->since_ms = timer_now();
	}
	uint64_t age = timer_since(c->since_ms);
	if (c->phase == HTTP_WAITING && c->has_begun)
		return age > config->request_ms;
	if (c->phase == HTTP_WAITING)
		return age > config->idle_ms;
	return c->phase == HTTP_READING && age > config->request_ms;
}

/* Return whether the handler works on a body of which more is to come. */
static bool is_receiving(const struct http_connection *c)
{
	const struct http_exchange *x = c->x;
	return c->phase == HTTP_BUSY && x && !x->is_body_over && !x->is_suspended && !x->upgrade;
}

void http_on_check(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	for (struct http_connection *c = s->connections; c; c = c->next) {
		bool is_waiting = c->phase == HTTP_BUSY && c->x && c->x->is_suspended;
		if (is_waiting && (tcp_has_left(c->fd) || http_check_stuck(c->x))) {
			struct http_exchange *x = c->x;
			http_lose(x);
			http_resume(x);
		} else if ((c->phase != HTTP_BUSY || is_receiving(c)) &&
			(is_over(c) || is_late(c))) {
			hang_up(c);
		} else if (c->x) {
			http_stream_beat(c->x);
		}
	}
	for (unsigned i = s->n_closed; i < s->n_listeners && may_accept(s); i++)
		(void)uv_poll_start(&s->listeners[i].poll, UV_READABLE, http_on_accept);
}
