/*
 * The HTTP server. The library libmicrohttpd parses requests and writes responses. Our event loop
 * watches the epoll descriptor of the library. We accept connections ourselves and pass the sockets
 * to the library. A request is suspended in the library while its handler works; a stream is
 * suspended while it has no data to send. The library does not watch the socket of a suspended
 * request, so on_check() looks periodically whether the client is still connected.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "base/alloc.h"
#include "serve/http/inside.h"

#include "base/fd.h"
#include "net/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void http_count(const struct http_server *s, enum metrics_of what, int64_t by)
{
	metrics_count(s->config.context->metrics, what, by);
}

/* ---- running the library libmicrohttpd from the event loop ---- */

static void on_wake(uv_timer_t *timer);

void http_plan(struct http_server *s)
{
	unsigned long long ms;
	if (s->is_closing)
		return;
	/* Run the library again at once: get_timeout() does not report resumed requests. */
	if (s->is_due)
		timer_start(&s->wake, on_wake, 0, 0);
	else if (s->lib.get_timeout(s->mhd, &ms) == MHD_YES)
		timer_start(&s->wake, on_wake, ms, 0);
}

static void run(struct http_server *s)
{
	s->is_due = false;
	http_schedule_begin(s);
	(void)s->lib.run(s->mhd);
	http_plan(s);
}

static void on_wake(uv_timer_t *timer)
{
	run(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	run(poll->data);
}

void http_resume(struct http_exchange *x)
{
	if (!x->is_suspended)
		return;
	x->is_suspended = false;
	x->server->lib.resume_connection(x->connection->mhd);
	x->server->is_due = true;
	http_plan(x->server);
}

void http_suspend(struct http_exchange *x)
{
	x->is_suspended = true;
	x->server->lib.suspend_connection(x->connection->mhd);
}

/* ---- opening and closing the server ---- */

/* Leave the path as it is: the paths of our routes contain no percent escapes. */
static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

/* Keep the target of a request as the client sent it: the library splits it afterwards. */
static void *keep_target(void *arg, const char *target, struct MHD_Connection *mhd)
{
	const struct http_server *s = arg;
	const union MHD_ConnectionInfo *info =
		s->lib.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_connection *c = info->socket_context;
	free(c->target);
	c->target = strdup(target);
	return NULL;
}

static struct MHD_Daemon *start(struct http_server *s)
{
	return s->lib.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_UPGRADE,
		0, NULL, NULL, http_on_request, s, MHD_OPTION_NOTIFY_COMPLETED, http_on_completed,
		s, MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, s,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK,
		keep_target, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_HEAD_BYTES, MHD_OPTION_CONNECTION_LIMIT,
		s->config.n_connections_max + HTTP_SURPLUS_MAX + LINGERERS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((s->config.idle_ms + 1999) / 1000),
		MHD_OPTION_END);
}

static void note_closed(void *arg)
{
	struct http_server *s = arg;
	if (--s->n_handles > 0)
		return;
	void (*closed)(void *) = s->closed;
	void *closed_arg = s->arg;
	free(s);
	if (closed)
		closed(closed_arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
	note_closed(handle->data);
}

int http_server_open(struct http_server **out, const struct http_config *config, struct err *err)
{
	*out = NULL;
	struct http_server *s = xnew(struct http_server);
	s->config = *config;
	int r = microhttpd_load(&s->lib, err);
	if (r < 0) {
		free(s);
		return r;
	}
	s->mhd = start(s);
	const union MHD_DaemonInfo *info =
		s->mhd ? s->lib.get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	r = info ? uv_poll_init(config->loop, &s->poll, info->epoll_fd) : -ENOMEM;
	if (r < 0) {
		if (s->mhd)
			s->lib.stop_daemon(s->mhd);
		free(s);
		return err_sys(err, ERR_INTERNAL, -r, "start the HTTP server");
	}
	(void)uv_timer_init(config->loop, &s->wake);
	(void)uv_timer_init(config->loop, &s->check);
	(void)uv_timer_init(config->loop, &s->linger);
	(void)uv_timer_init(config->loop, &s->turn);
	s->n_handles = 5;
	if (config->tls)
		s->tls = tls_clients_open(&(struct tls_clients_config){.loop = config->loop,
			.identity = config->tls,
			.handshake_ms = config->request_ms,
			.idle_ms = config->idle_ms});
	s->poll.data = s->wake.data = s->check.data = s->linger.data = s->turn.data = s;
	(void)uv_poll_start(&s->poll, UV_READABLE, on_poll);
	timer_start(&s->check, http_on_check, HTTP_CHECK_MS, HTTP_CHECK_MS);
	*out = s;
	return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct http_listener *l = handle->data;
	fd_close(&l->fd);
	handle->data = l->server;
	on_handle_closed(handle);
}

int http_server_listen(struct http_server *s, int taken, bool is_given, struct err *err)
{
	cleanup_fd int fd = taken;
	if (s->n_listeners == HTTP_LISTENERS_MAX)
		return err_set(
			err, ERR_LIMIT, "more than %d addresses to listen at", HTTP_LISTENERS_MAX);
	struct http_listener *l = &s->listeners[s->n_listeners];
	*l = (struct http_listener){.server = s, .fd = fd};
	int r = uv_poll_init(s->config.loop, &l->poll, fd);
	if (r < 0)
		return err_sys(err, ERR_INTERNAL, -r, "watch a socket");
	l->poll.data = l;
	l->fd = take_fd(fd);
	s->n_listeners++;
	s->n_given += is_given;
	s->n_handles++;
	(void)uv_poll_start(&l->poll, UV_READABLE, http_on_accept);
	return 0;
}

static void stop_listening(struct http_server *s, unsigned n)
{
	while (s->n_closed < n)
		uv_close((uv_handle_t *)&s->listeners[s->n_closed++].poll, on_listener_closed);
}

/* Stop what handlers have set with http_on_stop(): of all requests, or of upgraded connections. */
static void stop_all(struct http_server *s, bool is_upgraded)
{
	/* Search from the beginning each time, because stopping one operation may end others. */
	for (;;) {
		struct http_exchange *x = s->exchanges;
		while (x && (!x->stop || (is_upgraded && !x->upgrade)))
			x = x->next;
		if (!x)
			return;
		void (*stop)(void *) = x->stop;
		x->stop = NULL;
		stop(x->stop_arg);
	}
}

void http_server_drain(struct http_server *s)
{
	s->is_draining = true;
	stop_all(s, true);
	stop_listening(s, s->n_given);
}

unsigned http_server_n_running(const struct http_server *s)
{
	unsigned n = 0;
	for (const struct http_exchange *x = s->exchanges; x; x = x->next)
		n += x->connection && !x->upgrade;
	return n;
}

void http_server_interrupt(struct http_server *s)
{
	stop_all(s, false);
}

void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg)
{
	s->closed = closed;
	s->arg = arg;
	s->is_draining = true;
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (c->x && !c->x->is_gone && (c->x->is_suspended || c->x->upgrade))
			http_lose(c->x);
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (c->x)
			http_resume(c->x);
	s->is_closing = true;
	(void)uv_poll_stop(&s->poll);
	s->lib.stop_daemon(s->mhd);
	if (s->tls) {
		s->n_handles++;
		tls_clients_close(s->tls, note_closed, s);
	}
	for (struct http_exchange *x = s->exchanges; x; x = x->next) {
		if (x->response)
			s->lib.destroy_response(take_ptr(x->response));
		x->server = NULL;
	}
	s->exchanges = NULL;
	linger_done(&s->lingerers);
	stop_listening(s, s->n_listeners);
	uv_close((uv_handle_t *)&s->poll, on_handle_closed);
	uv_close((uv_handle_t *)&s->wake, on_handle_closed);
	uv_close((uv_handle_t *)&s->check, on_handle_closed);
	uv_close((uv_handle_t *)&s->linger, on_handle_closed);
	uv_close((uv_handle_t *)&s->turn, on_handle_closed);
}
