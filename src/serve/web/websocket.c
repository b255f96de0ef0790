/*
 * A WebSocket on the loop.
 *
 * It goes through these states:
 *
 *     OPENING  the response with status 101 is being sent
 *     OPEN     messages go both ways
 *     CLOSING  a close is sent behind what waits; then the client's is awaited
 *     OVER     the user is told, and all is freed
 *
 * The client's socket is read only while less than WEBSOCKET_BEHIND_BYTES wait to be written to it,
 * so a client that sends pings and reads no pongs stops itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/web/websocket.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { READ_BYTES = 64 << 10, CHECK_MS = 5000 };

enum websocket_state { OPENING, OPEN, CLOSING, OVER };

struct websocket {
	uv_loop_t *loop;
	struct http_exchange *x; /* NULL when the client has gone */
	struct websocket_user user;
	struct frames *frames;
	enum websocket_state state;
	int fd, events;
	uv_poll_t poll;
	uv_timer_t timer; /* checks for silence; after a close, ends the wait */
	int n_handles;
	bool is_paused, is_inside; /* is_inside: a function of the user is being called */
	uint64_t heard_ms;	   /* when the client has sent or taken something */
	bool is_asked;		   /* a ping was sent since then */
	bool is_expecting;	   /* the client's end, until the timer fires */
	bool is_draining; /* all was said; what the client still sends is dropped until its end */
};

/* ---- the handshake ---- */

static int refuse(struct http_exchange *x, unsigned status, const struct err *err)
{
	if (status == 426) {
		(void)http_set_header(x, "Upgrade", "websocket");
		(void)http_set_header(x, "Sec-WebSocket-Version", "13");
	}
	http_refuse(x, status, err);
	return -1;
}

static bool is_header(const struct http_exchange *x, const char *name, const char *value)
{
	const char *given = http_header(x, name);
	return given && strcasecmp(given, value) == 0;
}

int websocket_check(struct http_exchange *x)
{
	char accept[FRAMES_ACCEPT_BYTES];
	struct err err;
	const char *key = http_header(x, "Sec-WebSocket-Key");
	if (!is_header(x, "Upgrade", "websocket") || http_body_length(x) != 0) {
		err_fail(&err, ERR_USAGE, "connect with a WebSocket client: ws://…",
			"this path is for WebSockets");
		return refuse(x, 426, &err);
	}
	if (!is_header(x, "Sec-WebSocket-Version", "13")) {
		err_set(&err, ERR_USAGE, "only version 13 of WebSocket is supported");
		return refuse(x, 426, &err);
	}
	int r = frames_accept(key ? key : "", accept, &err);
	if (r < 0)
		return refuse(x, err.code == ERR_USAGE ? 400 : 501, &err);
	return 0;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct websocket *w = handle->data;
	if (--w->n_handles > 0)
		return;
	fd_close(&w->fd);
	if (w->x)
		http_upgrade_end(w->x);
	if (w->frames)
		frames_free(w->frames);
	free(w);
}

/* End the connection: tell the user, and free what is left. */
static void end(struct websocket *w)
{
	if (w->state == OVER)
		return;
	bool has_poll = w->state != OPENING && w->fd >= 0;
	w->state = OVER;
	w->user.over(w->user.arg);
	uv_close((uv_handle_t *)&w->timer, on_closed);
	if (has_poll)
		uv_close((uv_handle_t *)&w->poll, on_closed);
}

static void on_gone(void *arg)
{
	struct websocket *w = arg;
	w->x = NULL;
	end(w);
}

static void on_stop(void *arg)
{
	websocket_close(arg, FRAMES_GOING_AWAY, "the engine is being stopped");
}

/* ---- reading and writing ---- */

static void on_event(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

/* All was said: now the client has WEBSOCKET_END_MS to close. */
static void expect_end(struct websocket *w)
{
	w->is_expecting = true;
	timer_start(&w->timer, on_timer, WEBSOCKET_END_MS, 0);
}

static void watch(struct websocket *w)
{
	if (w->state == CLOSING && !w->is_expecting && frames_waiting(w->frames) == 0)
		expect_end(w);
	bool is_full = frames_waiting(w->frames) >= WEBSOCKET_BEHIND_BYTES;
	int events = (w->is_paused || is_full ? 0 : UV_READABLE) |
		(frames_out(w->frames)->bytes > 0 ? UV_WRITABLE : 0);
	if (events == w->events)
		return;
	w->events = events;
	if (events == 0)
		(void)uv_poll_stop(&w->poll);
	else
		(void)uv_poll_start(&w->poll, events, on_event);
}

/* Write what the socket takes. Returns: false if the connection is lost. */
static bool write_some(struct websocket *w)
{
	struct buf *out;
	while ((out = frames_out(w->frames))->bytes > 0) {
		ssize_t n = send(w->fd, out->data, out->bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		buf_consume(out, (size_t)n);
		w->heard_ms = timer_now();
	}
	return true;
}

/* All was said to a client that has broken the protocol and may still be sending. If its socket
 * were closed now, the kernel would reset the connection, and the client could lose the reason. */
static void drain(struct websocket *w)
{
	if (w->is_draining)
		return;
	w->is_draining = true;
	w->state = CLOSING;
	w->is_paused = false;
	(void)shutdown(w->fd, SHUT_WR);
	expect_end(w);
	watch(w);
}

/* After something was read or written: write more, or end. */
static void advance(struct websocket *w)
{
	if (w->state == OPENING || w->state == OVER || w->is_inside)
		return;
	bool is_lost = !write_some(w);
	bool is_over = frames_is_over(w->frames) && frames_out(w->frames)->bytes == 0;
	if (is_lost || (is_over && frames_is_answered(w->frames)))
		end(w);
	else if (is_over)
		drain(w);
	else
		watch(w);
}

static void on_due(uv_timer_t *timer)
{
	advance(timer->data);
}

/* As advance(), for functions that the user calls: they must not tell the user of the end, which
 * may free what the user still works with. */
static void advance_later(struct websocket *w)
{
	if (w->state == OPENING || w->state == OVER || w->is_inside)
		return;
	if (!write_some(w) || (frames_is_over(w->frames) && frames_out(w->frames)->bytes == 0))
		timer_start(&w->timer, on_due, 0, 0);
	else
		watch(w);
}

/* Read what the socket has. Returns: false at its end. */
static bool read_some(struct websocket *w)
{
	static char data[READ_BYTES];
	ssize_t n = recv(w->fd, data, sizeof data, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	w->heard_ms = timer_now();
	w->is_asked = false;
	if (w->is_draining)
		return true;
	w->is_inside = true;
	frames_read(w->frames, data, (size_t)n);
	w->is_inside = false;
	return true;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct websocket *w = poll->data;
	if (status < 0 || ((events & UV_READABLE) && !read_some(w)))
		end(w);
	else
		advance(w);
}

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	const struct websocket *w = arg;
	if (w->state == OPEN)
		w->user.message(w->user.arg, is_text, data, bytes);
}

static void on_timer(uv_timer_t *timer)
{
	struct websocket *w = timer->data;
	uint64_t silent_ms = timer_since(w->heard_ms);
	if (w->is_expecting || silent_ms >= WEBSOCKET_LOST_MS) {
		end(w);
		return;
	}
	/* A client that is behind gets no ping: it has enough to read. */
	if (w->state == OPEN && silent_ms >= WEBSOCKET_PING_MS && !w->is_asked &&
		!websocket_is_behind(w)) {
		w->is_asked = true;
		(void)frames_ping(w->frames);
		uint64_t heard_ms = w->heard_ms;
		advance(w);
		if (w->state != OVER)
			w->heard_ms = heard_ms; /* only its answer counts */
	}
}

/* ---- opening and closing ---- */

static void on_opened(void *arg, int taken, const char *early, size_t bytes)
{
	struct websocket *w = arg;
	cleanup_fd int fd = taken;
	struct err err;
	const struct frames_config config = {
		.message = on_message, .arg = w, .message_max_bytes = w->user.message_max_bytes};
	if (w->state == OVER) /* it was closed before the response was sent */
		return;
	if (frames_open(&w->frames, &config, &err) < 0 || uv_poll_init(w->loop, &w->poll, fd) < 0) {
		end(w);
		return;
	}
	w->fd = take_fd(fd);
	w->poll.data = w;
	w->n_handles++;
	w->state = OPEN;
	w->heard_ms = timer_now();
	timer_start(&w->timer, on_timer, CHECK_MS, CHECK_MS);
	w->is_inside = true;
	w->user.opened(w->user.arg);
	frames_read(w->frames, early, bytes);
	w->is_inside = false;
	advance(w);
}

void websocket_open(struct websocket **out, uv_loop_t *loop, struct http_exchange *x,
	const char *protocol, const struct websocket_user *user)
{
	char accept[FRAMES_ACCEPT_BYTES];
	struct err err;
	struct websocket *w = xnew(struct websocket);
	*w = (struct websocket){.loop = loop, .x = x, .user = *user, .fd = -1};
	(void)uv_timer_init(loop, &w->timer);
	w->timer.data = w;
	w->n_handles = 1;
	*out = w;
	/* websocket_check() has found the key valid. */
	(void)frames_accept(http_header(x, "Sec-WebSocket-Key"), accept, &err);
	(void)http_set_header(x, "Upgrade", "websocket");
	(void)http_set_header(x, "Sec-WebSocket-Accept", accept);
	if (protocol)
		(void)http_set_header(x, "Sec-WebSocket-Protocol", protocol);
	http_on_gone(x, on_gone, w);
	http_on_stop(x, on_stop, w);
	http_upgrade(x, on_opened, w);
}

int websocket_send(struct websocket *w, bool is_text, const char *data, size_t bytes)
{
	if (w->state != OPEN)
		return -EPIPE;
	int r = frames_send(w->frames, is_text, data, bytes);
	advance_later(w);
	return r;
}

bool websocket_is_behind(const struct websocket *w)
{
	return w->state == OPEN && frames_waiting(w->frames) >= WEBSOCKET_BEHIND_BYTES;
}

size_t websocket_waiting(const struct websocket *w)
{
	return w->state == OPEN ? frames_waiting(w->frames) : 0;
}

void websocket_pause(struct websocket *w, bool is_paused)
{
	w->is_paused = is_paused;
	advance_later(w);
}

static void on_dropped(uv_timer_t *timer)
{
	end(timer->data);
}

void websocket_drop(struct websocket *w)
{
	if (w->state != OPEN)
		return;
	w->state = CLOSING;
	w->is_expecting = true;
	timer_start(&w->timer, on_dropped, 0, 0);
}

void websocket_close(struct websocket *w, enum frames_close code, const char *reason)
{
	if (w->state == OPENING)
		end(w);
	if (w->state != OPEN)
		return;
	w->state = CLOSING;
	w->is_paused = false;
	(void)frames_close(w->frames, code, reason);
	advance_later(w);
}
