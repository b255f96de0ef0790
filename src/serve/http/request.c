/*
 * The life of a request: the library reports its head, the pieces of its body, and its end.
 *
 * The body of most requests is collected, and the handler starts when it is complete. The handler
 * of a route with `is_streamed` starts with the first piece, and takes the pieces as they come
 * (http_take_body()). While HTTP_PART_BYTES wait for it, the request is suspended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/timer.h"
#include "serve/http/inside.h"

#include "net/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BODY_MAX = 1 << 30, RATE_BYTES = 64 << 10 };

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
	if (x->connection->tls) /* it reads on by itself */
		return;
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
		status,
		status == 413		? "Content Too Large"
			: status == 502 ? "Bad Gateway"
					: "Service Unavailable",
		strlen(text));
	int fd = x->connection->fd;
	x->status = status;
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) == n)
		(void)send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	linger(x);
}

static void tell_progress(const struct http_exchange *x)
{
	if (x->progress && x->is_held)
		x->progress(x->progress_arg);
}

/* Keep a piece of a streamed body, as much as there is room for. If there is none, suspend the
 * request until the handler has taken some. */
static enum MHD_Result take_piece(struct http_exchange *x, const char *data, size_t *bytes)
{
	size_t n = MIN(HTTP_PART_BYTES - x->body.bytes, *bytes);
	if (x->is_gone)
		return MHD_NO;
	/* The handler has given its whole response, and wants no more of the body. The library
	 * sends the response when it has read the rest. */
	if (!x->is_held) {
		*bytes = 0;
		return MHD_YES;
	}
	if (!http_count_body(x, n))
		return MHD_NO;
	if (buf_append(&x->body, data, n) < 0) {
		http_uncount_body(x, n);
		return MHD_NO;
	}
	x->body_bytes += n;
	*bytes -= n;
	/* The library does not come back by itself with what is left. */
	if (*bytes > 0)
		http_suspend(x);
	if (n > 0)
		tell_progress(x);
	return MHD_YES;
}

bool http_check_stuck(struct http_exchange *x)
{
	static const char stuck[] =
		"{\"error\":{\"code\":\"limit\",\"message\":\"the program answers at length before it "
		"has read the request\",\"hint\":\"a response is sent when the request has been read: "
		"use a WebSocket, or let the program read first\"}}";
	bool is_full = x->response && x->is_held && !x->is_body_over && !x->is_gone &&
		x->body.bytes == HTTP_PART_BYTES && http_stream_is_behind(x);
	if (!is_full || x->stuck_bytes != x->body_bytes) {
		x->stuck_ms = timer_now();
		x->stuck_bytes = x->body_bytes;
		return false;
	}
	if (timer_since(x->stuck_ms) < HTTP_STUCK_MS)
		return false;
	cut(x, 502, stuck);
	return true;
}

ssize_t http_take_body(struct http_exchange *x, char *data, size_t max)
{
	size_t n = MIN(x->body.bytes, max);
	if (n == 0)
		return x->is_body_over ? 0 : -EAGAIN;
	memcpy(data, x->body.data, n);
	buf_consume(&x->body, n);
	http_uncount_body(x, n);
	if (x->connection && !x->is_body_over)
		http_resume(x);
	return (ssize_t)n;
}

static void start(struct http_exchange *x)
{
	x->connection->phase = HTTP_BUSY;
	x->connection->is_proven |= !x->server->config.tokens || x->has_token;
	x->is_held = true;
	http_schedule(x);
}

static enum MHD_Result take_body(struct http_exchange *x, const char *data, size_t bytes)
{
	static const char too_large[] =
		"{\"error\":{\"code\":\"limit\",\"message\":\"the body is too large\","
		"\"hint\":\"send files in parts, or put them into a volume\"}}";
	static const char too_much[] =
		"{\"error\":{\"code\":\"limit\",\"message\":\"too much is on its way to the engine\","
		"\"hint\":\"ask again later\"}}";
	if (!http_count_body(x, bytes)) {
		cut(x, 503, too_much);
		return MHD_NO;
	}
	size_t pieces = x->body.bytes / RATE_BYTES;
	int r = buf_append(&x->body, data, bytes);
	if (r < 0) {
		http_uncount_body(x, bytes);
		cut(x, r == -E2BIG ? 413 : 503, r == -E2BIG ? too_large : too_much);
		return MHD_NO;
	}
	if (x->body.bytes / RATE_BYTES > pieces)
		x->connection->since_ms = timer_now();
	x->body_bytes += bytes;
	return MHD_YES;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
enum MHD_Result http_on_request(void *arg, struct MHD_Connection *mhd, const char *url,
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
	bool is_streamed = x->route && x->route->is_streamed;
	bool is_first = x->connection->phase == HTTP_READING && !x->response;
	if (*bytes == 0)
		x->is_body_over = true;
	if (is_first && (is_streamed || *bytes == 0))
		start(x);
	else if (*bytes == 0)
		tell_progress(x);
	if (*bytes > 0 && is_streamed)
		return take_piece(x, data, bytes);
	if (*bytes > 0) {
		size_t n = *bytes;
		*bytes = 0;
		return take_body(x, data, n);
	}
	return http_queue(x);
}

static void wait_for_next(struct http_connection *c)
{
	c->x = NULL;
	free(take_ptr(c->target));
	c->phase = HTTP_WAITING;
	c->has_begun = false;
	c->since_ms = timer_now();
	c->heard_bytes = http_heard_bytes(c);
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
		.ms = timer_since(x->since_ms),
		.bytes_in = x->body_bytes,
		.bytes_out = x->sent_bytes};
	http_log_write(x->server->config.log, &line);
}

void http_on_completed(
	void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode how)
{
	struct http_exchange *x = *slot;
	(void)arg;
	(void)mhd;
	if (!x)
		return;
	*slot = NULL;
	/* A handler may still be at work on a response that the client has got in full. */
	if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK || x->is_held)
		http_lose(x);
	log_it(x);
	http_count(x->server, METRICS_REQUESTS, -1);
	if (x->status)
		http_count(x->server, METRICS_ANSWERS, 1);
	wait_for_next(x->connection);
	x->connection = NULL;
	x->is_suspended = false;
	x->upgrade = NULL;
	http_release(x);
}
