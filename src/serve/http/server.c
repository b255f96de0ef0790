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
#include "serve/http/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	RATE_BYTES = 64 << 10,
	BODY_MAX = 1 << 30,
};

void http_count(const struct http_server *s, enum metrics_of what, int64_t by)
{
	metrics_count(s->config.context->metrics, what, by);
}

/* ---- running the library libmicrohttpd from the event loop ---- */

static void on_wake(uv_timer_t *timer);

static void plan(struct http_server *s)
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
	plan(s);
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
	plan(x->server);
}

void http_suspend(struct http_exchange *x)
{
	x->is_suspended = true;
	x->server->lib.suspend_connection(x->connection->mhd);
}

/* ---- the life of a request ---- */

enum MHD_Result http_queue(struct http_exchange *x)
{
	if (x->is_gone)
		return MHD_NO;
	if (!x->response) {
		http_suspend(x);
		return MHD_YES;
	}
	x->connection->phase = HTTP_BUSY;
	enum MHD_Result r =
		x->server->lib.queue_response(x->connection->mhd, x->status, x->response);
	x->server->lib.destroy_response(take_ptr(x->response));
	return r;
}

static void copy_text(char *to, size_t bytes, const char *from)
{
	size_t n = strnlen(from, bytes - 1);
	memcpy(to, from, n);
	to[n] = '\0';
}

static struct http_exchange *begin(struct http_connection *c, const char *method, const char *path)
{
	struct http_exchange *x = xnew(struct http_exchange);
	struct http_server *s = c->server;
	*x = (struct http_exchange){.server = s,
		.connection = c,
		.next = s->exchanges,
		.link = &s->exchanges,
		.since_ms = timer_now(),
		.body = BUF_INIT(BODY_MAX)};
	copy_text(x->method, sizeof x->method, method);
	copy_text(x->path, sizeof x->path, path);
	if (x->next)
		x->next->link = &x->next;
	s->exchanges = x;
	http_count(s, METRICS_REQUESTS, 1);
	c->x = x;
	c->phase = HTTP_READING;
	c->since_ms = timer_now();
	return x;
}

/* Return whether the headers of the request announce a body. */
static bool has_body(const struct http_exchange *x)
{
	const char *length = http_header(x, "Content-Length");
	return http_header(x, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static void on_linger(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	linger_check(&s->lingerers, timer_now());
	if (s->lingerers.n == 0)
		(void)uv_timer_stop(timer);
}

static void linger(struct http_exchange *x)
{
	struct http_server *s = x->server;
	linger_add(&s->lingerers, x->connection->fd, timer_now());
	timer_start(&s->linger, on_linger, LINGER_EACH_MS, LINGER_EACH_MS);
}

/* Send an error while a body that exceeds its limit is being received. The connection is closed
 * afterwards. The library accepts no response at this time, so write to the socket directly. */
static void cut(struct http_exchange *x, unsigned status, const char *text)
{
	char head[256];
	int n = snprintf(head, sizeof head,
		"HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\n",
		status, status == 413 ? "Content Too Large" : "Service Unavailable", strlen(text));
	int fd = x->connection->fd;
	x->status = status;
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) == n)
		(void)send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	linger(x);
}

static enum MHD_Result take_body(struct http_exchange *x, const char *data, size_t bytes)
{
	static const char too_large[] =
		"{\"error\":{\"code\":\"limit\",\"message\":\"the body is too large\","
		"\"hint\":\"send files in parts, or put them into a volume\"}}";
	static const char too_much[] =
		"{\"error\":{\"code\":\"limit\",\"message\":\"too much is on its way to the engine\","
		"\"hint\":\"ask again later\"}}";
	struct http_server *s = x->server;
	if (s->bodies_bytes + bytes > HTTP_BODIES_BYTES) {
		cut(x, 503, too_much);
		return MHD_NO;
	}
	int r = buf_append(&x->body, data, bytes);
	if (r < 0) {
		cut(x, r == -E2BIG ? 413 : 503, r == -E2BIG ? too_large : too_much);
		return MHD_NO;
	}
	s->bodies_bytes += bytes;
	return MHD_YES;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *data, size_t *bytes, void **slot)
{
	struct http_exchange *x = *slot;
	const struct http_server *s = arg;
	(void)version;
	if (!x) {
		const union MHD_ConnectionInfo *info =
			s->lib.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		*slot = x = begin(info->socket_context, method, url);
		if (!x)
			return MHD_NO;
		/* This is the first call for a request. If a response is given now, the library
		 * closes the connection. So give it now only if the beginning of the next request
		 * cannot be found: after status 400, or if the refused request has a body, which is
		 * not read. Otherwise, give the response in the next call, after the body. */
		if (http_check(x) == 0 || (!has_body(x) && x->status != 400))
			return MHD_YES;
		linger(x);
		return http_queue(x);
	}
	if (*bytes > 0) {
		size_t n = *bytes;
		*bytes = 0;
		return take_body(x, data, n);
	}
	if (x->connection->phase == HTTP_READING && !x->response) {
		x->connection->phase = HTTP_BUSY;
		x->connection->is_proven |= !s->config.tokens || x->has_token;
		x->is_held = true;
		http_schedule(x);
	}
	return http_queue(x);
}

static void wait_for_next(struct http_connection *c)
{
	c->x = NULL;
	c->phase = HTTP_WAITING;
	c->has_begun = false;
	c->since_ms = timer_now();
	c->heard_bytes = tcp_heard_bytes(c->fd);
}

static void log_it(const struct http_exchange *x)
{
	const struct http_log_line line = {.caller = x->context && x->context->principal
			? principal_name(x->context->principal)
			: NULL,
		.method = x->method,
		.path = x->path,
		.what = x->note,
		.status = x->status,
		.ms = timer_now() - x->since_ms,
		.bytes_in = x->body.bytes,
		.bytes_out = x->sent_bytes};
	http_log_write(x->server->config.log, &line);
}

static void on_completed(
	void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode how)
{
	struct http_exchange *x = *slot;
	(void)arg;
	(void)mhd;
	if (!x)
		return;
	*slot = NULL;
	if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		http_lose(x);
	log_it(x);
	http_count(x->server, METRICS_REQUESTS, -1);
	if (x->status)
		http_count(x->server, METRICS_ANSWERS, 1);
	wait_for_next(x->connection);
	x->connection = NULL;
	x->is_suspended = false;
	http_release(x);
}

/* ---- accepting connections ---- */

static void on_connection(void *arg, struct MHD_Connection *mhd, void **slot,
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
	cleanup_fd int fd = taken;
	struct http_connection *c = xnew(struct http_connection);
	bool is_surplus = !has_place(s, peer);
	*c = (struct http_connection){.server = s,
		.fd = fd,
		.peer = *peer,
		.next = s->connections,
		.link = &s->connections,
		.since_ms = timer_now(),
		.is_surplus = is_surplus};
	tcp_set_options(fd);
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
		free(c);
	}
}

static bool may_accept(const struct http_server *s)
{
	return s->n_connections < s->config.n_connections_max + HTTP_SURPLUS_MAX;
}

static void on_accept(uv_poll_t *poll, int status, int events)
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
	plan(s);
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

static bool is_late(struct http_connection *c, uint64_t now)
{
	const struct http_config *config = &c->server->config;
	const struct http_exchange *x = c->x;
	if (c->phase == HTTP_WAITING && !c->has_begun && tcp_heard_bytes(c->fd) > c->heard_bytes) {
		c->has_begun = true;
		c->since_ms = now;
	}
	uint64_t age = now - c->since_ms;
	if (c->phase == HTTP_WAITING && c->has_begun)
		return age > config->request_ms;
	if (c->phase == HTTP_WAITING)
		return age > config->idle_ms;
	return c->phase == HTTP_READING &&
		age > config->request_ms * (1 + x->body.bytes / RATE_BYTES);
}

static void on_check(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	uint64_t now = timer_now();
	for (struct http_connection *c = s->connections; c; c = c->next) {
		if (c->phase == HTTP_BUSY && c->x && c->x->is_suspended && tcp_has_left(c->fd)) {
			struct http_exchange *x = c->x;
			http_lose(x);
			http_resume(x);
		} else if (c->phase != HTTP_BUSY && (is_over(c) || is_late(c, now))) {
			hang_up(c);
		} else if (c->x) {
			http_stream_beat(c->x, now);
		}
	}
	for (unsigned i = s->n_closed; i < s->n_listeners && may_accept(s); i++)
		(void)uv_poll_start(&s->listeners[i].poll, UV_READABLE, on_accept);
}

/* ---- opening and closing the server ---- */

/* Leave the path as it is: the paths of our routes contain no percent escapes. */
static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

static struct MHD_Daemon *start(struct http_server *s)
{
	return s->lib.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		on_request, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_escapes, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_BYTES,
		MHD_OPTION_CONNECTION_LIMIT,
		s->config.n_connections_max + HTTP_SURPLUS_MAX + LINGERERS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((s->config.idle_ms + 1999) / 1000),
		MHD_OPTION_END);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct http_server *s = handle->data;
	if (--s->n_handles > 0)
		return;
	void (*closed)(void *) = s->closed;
	void *arg = s->arg;
	free(s);
	if (closed)
		closed(arg);
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
	s->poll.data = s->wake.data = s->check.data = s->linger.data = s->turn.data = s;
	(void)uv_poll_start(&s->poll, UV_READABLE, on_poll);
	timer_start(&s->check, on_check, HTTP_CHECK_MS, HTTP_CHECK_MS);
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
	(void)uv_poll_start(&l->poll, UV_READABLE, on_accept);
	return 0;
}

static void stop_listening(struct http_server *s, unsigned n)
{
	while (s->n_closed < n)
		uv_close((uv_handle_t *)&s->listeners[s->n_closed++].poll, on_listener_closed);
}

void http_server_drain(struct http_server *s)
{
	s->is_draining = true;
	stop_listening(s, s->n_given);
}

unsigned http_server_n_running(const struct http_server *s)
{
	unsigned n = 0;
	for (const struct http_exchange *x = s->exchanges; x; x = x->next)
		n += x->connection != NULL;
	return n;
}

void http_server_interrupt(struct http_server *s)
{
	/* Search from the beginning each time, because stopping one operation may end others. */
	for (;;) {
		struct http_exchange *x = s->exchanges;
		while (x && !x->stop)
			x = x->next;
		if (!x)
			return;
		void (*stop)(void *) = x->stop;
		x->stop = NULL;
		stop(x->stop_arg);
	}
}

void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg)
{
	s->closed = closed;
	s->arg = arg;
	s->is_draining = true;
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (c->x && !c->x->is_gone && c->x->is_suspended)
			http_lose(c->x);
	for (struct http_connection *c = s->connections; c; c = c->next)
		if (c->x)
			http_resume(c->x);
	s->is_closing = true;
	(void)uv_poll_stop(&s->poll);
	s->lib.stop_daemon(s->mhd);
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
