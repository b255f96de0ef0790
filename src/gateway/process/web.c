/*
 * Theory of operation. There are two servers of libmicrohttpd, one with TLS and one without, for
 * all boxes. A connection is watched until its first byte tells which of them it is for; then its
 * socket is passed to that one. The library has an epoll descriptor, which our loop watches. What
 * name a connection is for follows from the address that it was opened to, and not from what is
 * written in it; a client of TLS that asks for another name is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/process/web.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "gateway/process/ask.h"
#include "gateway/process/leaf.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CHECK_MS = 1000, TLS_HANDSHAKE = 0x16, IDLE_RUNS = 1000 };
/* Descriptors of a client: its socket, and that to the server. The library makes two more for a
 * WebSocket over TLS. */
enum { CLIENT_FDS = 2 };

struct web_server {
	struct web *web;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
};

struct web {
	struct service *service;
	struct microhttpd lib;
	struct gnutls gnutls;
	struct leaves *leaves;
	struct web_server servers[2]; /* without and with TLS */
	uv_timer_t wake, check;
	uv_idle_t more;
	bool is_due;		     /* requests were resumed: the library must run again at once */
	unsigned n_idle;	     /* how often it ran since anything has happened */
	unsigned n_tunnels;	     /* what the library does for these is not seen */
	struct web_client *starting; /* which is being passed to the library */
	struct web_client **by_fd;
	size_t n_by_fd;
};

/* The callback for certificates gets no pointer of ours. */
static struct web *the_web;

const struct microhttpd *web_library(const struct web *w)
{
	return &w->lib;
}

/* ---- running the library ---- */

static void run(struct web *w);

static void on_wake(uv_timer_t *timer)
{
	run(timer->data);
}

/* Called once in each turn of the loop, so that others are served in between. */
static void on_more(uv_idle_t *more)
{
	(void)uv_idle_stop(more);
	run(more->data);
}

static void plan(struct web *w)
{
	unsigned long long least = UINT64_MAX, ms;
	for (size_t i = 0; i < ARRAY_LEN(w->servers); i++)
		if (w->lib.get_timeout(w->servers[i].mhd, &ms) == MHD_YES)
			least = MIN(least, ms);
	/* While a client of TLS does not answer, the library wants to run again and again. */
	if (w->is_due || (least == 0 && w->n_idle < IDLE_RUNS))
		(void)uv_idle_start(&w->more, on_more);
	else if (least < UINT64_MAX)
		timer_start(&w->wake, on_wake, MAX(least, 1), 0);
}

void web_progress(struct web *w)
{
	w->n_idle = 0;
}

static void run(struct web *w)
{
	w->is_due = false;
	w->n_idle += w->n_tunnels == 0;
	for (size_t i = 0; i < ARRAY_LEN(w->servers); i++)
		(void)w->lib.run(w->servers[i].mhd);
	plan(w);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct web_server *server = poll->data;
	(void)status;
	(void)events;
	web_progress(server->web);
	run(server->web);
}

void web_tunnels(struct web_client *c, int by)
{
	struct service *s = c->box->service;
	s->web->n_tunnels += (unsigned)by;
	s->n_fds += (size_t)(by * CLIENT_FDS * c->is_tls);
}

void web_kick(struct web_client *c)
{
	struct web *w = c->box->service->web;
	w->is_due = true;
	plan(w);
}

void web_resume(struct web_client *c)
{
	c->box->service->web->lib.resume_connection(c->mhd);
	web_kick(c);
}

static bool is_late(const struct web_client *c)
{
	return c->mhd && c->n_requests == 0 && timer_since(c->since_ms) > WEB_FIRST_MS;
}

/* The library does not watch the connections whose requests wait. */
static void on_check(uv_timer_t *timer)
{
	struct web *w = timer->data;
	bool has_clients = false;
	for (struct net_box *b = w->service->boxes; b; b = b->next)
		for (struct web_client *c = b->clients, *next; c; c = next) {
			next = c->next;
			has_clients = true;
			if (c->is_closing || is_late(c) ||
				(c->exchange && exchange_is_left(c->exchange)))
				web_hang_up(c);
			else if (c->exchange)
				ask_tick(c->exchange);
		}
	if (!has_clients)
		(void)uv_timer_stop(timer);
}

/* ---- the certificate ---- */

static bool is_for_other(gnutls_session_t session, const char *host, char other[RULE_HOST_BYTES])
{
	unsigned type;
	char got[RULE_HOST_BYTES];
	size_t bytes = sizeof got;
	int r = the_web->gnutls.server_name_get(session, got, &bytes, &type, 0);
	if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
		return false;
	bool is_name = r == 0 && rule_name(other, got, strnlen(got, sizeof got - 1));
	if (!is_name)
		snprintf(other, RULE_HOST_BYTES, "?");
	return !is_name || strcmp(other, host) != 0;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static int on_certificate(gnutls_session_t session, const gnutls_datum_t *rdn, int n,
	const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificate,
	unsigned *n_certificates, gnutls_privkey_t *key)
{
	enum { SHOWN = 100 };
	struct web *w = the_web;
	char other[RULE_HOST_BYTES], reason[GATEWAY_REASON_BYTES];
	int fd = w->gnutls.transport_get_int(session);
	struct web_client *c = fd >= 0 && (size_t)fd < w->n_by_fd ? w->by_fd[fd] : NULL;
	(void)rdn;
	(void)n;
	(void)algorithms;
	(void)n_algorithms;
	if (!c)
		return -1;
	if (is_for_other(session, c->name->host, other)) {
		snprintf(reason, sizeof reason, "TLS for another name (%.*s)", SHOWN, other);
		net_box_count(c->box, c->name->host, c->port, GATEWAY_REFUSED, reason);
		c->n_requests++; /* it has its row */
		return -1;
	}
	*n_certificates = 1;
	leaf_let_go(w->leaves, take_ptr(c->leaf));
	int r = leaves_get(w->leaves, c->name->host, &c->leaf);
	if (r < 0)
		return r;
	*certificate = &c->leaf->certificate;
	*key = c->leaf->key;
	return 0;
}

/* ---- opening ---- */

static void *keep_target(void *arg, const char *target, struct MHD_Connection *mhd)
{
	const struct web *w = arg;
	struct web_client *c =
		w->lib.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	free(c->target);
	c->target = strdup(target);
	return NULL;
}

static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **slot,
	enum MHD_ConnectionNotificationCode code);

/* The callback for certificates cannot be in an array of options. */
static struct MHD_Daemon *start(struct web *w, bool is_tls)
{
	const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
		MHD_ALLOW_UPGRADE | MHD_USE_SUPPRESS_DATE_NO_CLOCK | (is_tls ? MHD_USE_TLS : 0);
	return w->lib.start_daemon(flags, 0, NULL, NULL, exchange_on_request, w,
		MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed, w, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, w, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, keep_target, w, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_HEAD_BYTES,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)INT16_MAX,
		is_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, on_certificate,
		MHD_OPTION_END);
}

static int start_server(struct web *w, bool is_tls, struct err *err)
{
	struct web_server *server = &w->servers[is_tls];
	server->web = w;
	server->mhd = start(w, is_tls);
	const union MHD_DaemonInfo *info =
		server->mhd ? w->lib.get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info || uv_poll_init(w->service->loop, &server->poll, info->epoll_fd) < 0)
		return err_set(err, ERR_INTERNAL, "network: the gateway cannot serve HTTP");
	server->poll.data = server;
	(void)uv_poll_start(&server->poll, UV_READABLE, on_poll);
	return 0;
}

/* What was begun stays when this fails: a gateway without it cannot do what it is there for. */
int web_open(struct service *s, const char *certificate, const char *key, struct err *err)
{
	if (s->web)
		return 0;
	struct web *w = xnew(struct web);
	w->service = s;
	int r = microhttpd_load(&w->lib, err);
	if (r == 0)
		r = gnutls_load(&w->gnutls, err);
	if (r == 0)
		r = leaves_new(&w->leaves, &w->gnutls, certificate, key, err);
	if (r < 0) {
		free(w);
		return r;
	}
	the_web = w;
	(void)uv_timer_init(s->loop, &w->wake);
	(void)uv_timer_init(s->loop, &w->check);
	(void)uv_idle_init(s->loop, &w->more);
	w->more.data = w;
	w->wake.data = w->check.data = w;
	r = start_server(w, false, err);
	if (r == 0)
		r = start_server(w, true, err);
	if (r == 0)
		s->web = w;
	return r;
}

/* ---- clients ---- */

static void forget(struct web_client *c)
{
	struct net_box *b = c->box;
	struct web *w = b->service->web;
	if (w->by_fd[c->fd] == c)
		w->by_fd[c->fd] = NULL;
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	b->n_clients--;
	b->service->n_fds -= CLIENT_FDS;
	if (c->is_tls && c->n_requests == 0 && !c->is_ended)
		net_box_count(b, c->name->host, c->port, GATEWAY_FAILED,
			"it ended before a request: does it trust the sandbox's certificates, and speak "
			"HTTP/1.1?");
	free(c->target);
	leaf_let_go(w->leaves, c->leaf);
}

static void free_if_over(struct web_client *c)
{
	struct net_box *b = c->box;
	if (c->n_handles > 0 || c->fd >= 0)
		return;
	free(c);
	net_box_let_go(b);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct web_client *c = handle->data;
	c->n_handles--;
	free_if_over(c);
}

static void unwatch(struct web_client *c)
{
	if (!c->is_watched)
		return;
	c->is_watched = false;
	uv_close((uv_handle_t *)&c->poll, on_handle_closed);
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **slot,
	enum MHD_ConnectionNotificationCode code)
{
	struct web *w = arg;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*slot = w->starting;
		w->starting->mhd = mhd;
		w->starting = NULL;
		return;
	}
	struct web_client *c = *slot;
	forget(c);
	c->fd = -1; /* the library closes it */
	free_if_over(c);
}

/* End a client that the library has not got. */
static void drop(struct web_client *c)
{
	c->is_ended = true;
	forget(c);
	fd_close(&c->fd);
	unwatch(c);
	free_if_over(c);
}

static void pass(struct web_client *c)
{
	static const struct sockaddr_in nobody = {.sin_family = AF_INET};
	struct web *w = c->box->service->web;
	unwatch(c);
	c->since_ms = timer_now();
	w->starting = c;
	(void)w->lib.add_connection(
		w->servers[c->is_tls].mhd, c->fd, (const struct sockaddr *)&nobody, sizeof nobody);
	/* If it could not be added, the library has closed the socket. */
	if (w->starting) {
		w->starting = NULL;
		c->is_ended = true;
		forget(c);
		c->fd = -1;
		free_if_over(c);
	}
	w->is_due = true;
	plan(w);
}

static void on_first(uv_poll_t *poll, int status, int events)
{
	struct web_client *c = poll->data;
	char first[4] = "";
	(void)status;
	(void)events;
	ssize_t n = recv(c->fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->is_tls = first[0] == TLS_HANDSHAKE;
	/* The library answers this by itself. */
	if (memcmp(first, "PRI ", sizeof first) == 0)
		net_box_count(c->box, c->name->host, c->port, GATEWAY_REFUSED,
			"it speaks HTTP/2, and rules for requests are for HTTP/1.1");
	pass(c);
}

static void on_late(uv_timer_t *timer)
{
	struct web_client *c = timer->data;
	net_box_count(c->box, c->name->host, c->port, GATEWAY_REFUSED,
		"its first message did not come within 10 s");
	drop(c);
}

static void note_fd(struct web *w, struct web_client *c)
{
	size_t n = (size_t)c->fd + 1;
	if (n > w->n_by_fd) {
		struct web_client **more = xcalloc(2 * n, sizeof(struct web_client *));
		if (w->n_by_fd > 0)
			memcpy(more, w->by_fd, w->n_by_fd * sizeof(struct web_client *));
		free(w->by_fd);
		w->by_fd = more;
		w->n_by_fd = 2 * n;
	}
	w->by_fd[c->fd] = c;
}

void web_take(struct net_box *b, int fd, struct name *name, uint16_t port)
{
	struct service *s = b->service;
	struct web *w = s->web;
	struct web_client *c = xnew(struct web_client);
	*c = (struct web_client){.box = b,
		.fd = fd,
		.name = name,
		.port = port,
		.next = b->clients,
		.at = &b->clients,
		.n_handles = 2,
		.is_watched = true};
	if (uv_poll_init(s->loop, &c->poll, fd) < 0)
		xdie("a poll");
	(void)uv_timer_init(s->loop, &c->timer);
	c->poll.data = c->timer.data = c;
	if (c->next)
		c->next->at = &c->next;
	b->clients = c;
	b->n_clients++;
	s->n_fds += CLIENT_FDS;
	note_fd(w, c);
	net_box_hold(b);
	(void)uv_poll_start(&c->poll, UV_READABLE, on_first);
	timer_start(&c->timer, on_late, WEB_FIRST_MS, 0);
	if (!uv_is_active((uv_handle_t *)&w->check))
		timer_start(&w->check, on_check, CHECK_MS, CHECK_MS);
}

void web_hang_up(struct web_client *c)
{
	if (!c->mhd) {
		drop(c);
		return;
	}
	if (c->is_ended)
		return;
	c->is_ended = true;
	(void)shutdown(c->fd, SHUT_RDWR);
	if (c->exchange)
		exchange_abandon(c->exchange);
	web_kick(c);
}

void web_recheck(struct net_box *b)
{
	for (struct web_client *c = b->clients, *next; c; c = next) {
		next = c->next;
		bool is_allowed = rules_are_http(&b->rules, c->name->host, c->port) &&
			(!c->exchange || exchange_is_allowed(c->exchange));
		if (is_allowed || c->is_ended)
			continue;
		net_box_count(b, c->name->host, c->port, GATEWAY_REFUSED, "the rules have changed");
		web_hang_up(c);
	}
	ask_renew(b);
}

void web_end(struct net_box *b)
{
	for (struct web_client *c = b->clients, *next; c; c = next) {
		next = c->next;
		web_hang_up(c);
	}
	ask_renew(b);
}

void web_count(struct net_box *b)
{
	for (struct web_client *c = b->clients; c; c = c->next)
		if (c->exchange)
			ask_count(c->exchange);
}
