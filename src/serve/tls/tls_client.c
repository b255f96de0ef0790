/*
 * The end of TLS, in front of a server that knows only plain bytes.
 *
 * Each client has two sockets: `outer` is the client's, with TLS; `inner` is one end of a pair, of
 * which the server has the other one. So the server can read, peek at, shut down and pass on its
 * socket as if there were no TLS. A connection goes through these states:
 *
 *     WAITING  for the first byte. No memory of GnuTLS is taken before it.
 *     SHAKING  the handshake is under way
 *     OPEN     bytes go both ways
 *     REFUSED  the client speaks another protocol, and was told so in plain HTTP
 *     OVER     all is being closed
 *
 * In each direction, a side is read only while nothing waits to be written to the other one; so
 * whoever does not read stops the other side, and at most a record waits in each direction. A
 * client's end (close_notify) shuts down the server's socket for reading, and the other way round.
 * If the client's socket ends without close_notify, somebody may have cut its data off, so the
 * server sees a client that has left, and nothing as complete.
 *
 * When the server has closed its socket, the client still has to read what was sent to it, and must
 * not get a reset while it is still sending. The timer, which serves the handshake first, then
 * looks whether it does so in time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/tls/tls_client.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* RECORD_BYTES: the most that a record of TLS holds. ROUNDS: how many are moved in a turn of the
 * loop. HANDSHAKE: the first byte of a record that begins a connection (RFC 8446, 5.1). */
enum { RECORD_BYTES = 16 << 10, ROUNDS = 16, HANDSHAKE = 22, CHECK_MS = 250 };

enum tls_state { WAITING, SHAKING, OPEN, REFUSED, OVER };

struct tls_end {
	uv_poll_t poll;
	int fd;
	int events; /* what the loop watches for */
};

/* Bytes that a side has not taken yet. */
struct tls_rest {
	char *data; /* NULL if there are none */
	size_t at, bytes;
};

struct tls_client {
	struct tls_client *next, **link;
	struct tls_clients *all;
	struct tls_end outer, inner;
	uv_timer_t timer;
	int n_handles;
	enum tls_state state;
	gnutls_session_t session;
	struct tls_credentials *credentials; /* NULL: there is no session yet */
	struct tls_rest to_inner, to_outer;
	bool is_released;      /* the server has closed its connection */
	bool has_client_ended; /* nothing more comes from the client */
	bool has_server_ended; /* nothing more comes from the server */
	bool is_end_sent;      /* the client knows that */
	bool is_server_deaf;   /* the server takes nothing any more: what comes is dropped */
	uint64_t heard_bytes, dropped_bytes;
	uint64_t moved_ms;     /* when the client has last taken something */
	uint64_t orphan_since; /* order of the orphans; 0: it is none */
};

struct tls_clients {
	struct tls_clients_config config;
	const struct tls_library *lib;
	struct tls_client *first;
	unsigned n_orphans;
	uint64_t n_orphans_ever;
	bool is_closing;
	void (*closed)(void *arg);
	void *arg;
};

/* ---- the end ---- */

static void free_if_closed(struct tls_clients *all)
{
	if (!all->is_closing || all->first)
		return;
	void (*closed)(void *) = all->closed;
	void *arg = all->arg;
	free(all);
	closed(arg);
}

/* Free the client when its handles are closed and the server has released it. */
static void free_if_unused(struct tls_client *t)
{
	struct tls_clients *all = t->all;
	if (t->n_handles > 0 || !t->is_released)
		return;
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	free(t);
	free_if_closed(all);
}

static void on_closed(uv_handle_t *handle)
{
	struct tls_client *t = handle->data;
	if (--t->n_handles > 0)
		return;
	fd_close(&t->outer.fd);
	fd_close(&t->inner.fd);
	free_if_unused(t);
}

static void drop(struct tls_rest *rest)
{
	free(rest->data);
	*rest = (struct tls_rest){0};
}

static void end(struct tls_client *t)
{
	if (t->state == OVER)
		return;
	t->state = OVER;
	if (t->orphan_since)
		t->all->n_orphans--;
	t->orphan_since = 0;
	if (t->credentials) {
		t->all->lib->deinit(t->session);
		tls_identity_give_back(t->all->config.identity, t->credentials);
	}
	drop(&t->to_inner);
	drop(&t->to_outer);
	/* The server sees the end at once; the descriptors are closed with the handles. */
	(void)shutdown(t->inner.fd, SHUT_RDWR);
	uv_close((uv_handle_t *)&t->outer.poll, on_closed);
	uv_close((uv_handle_t *)&t->inner.poll, on_closed);
	uv_close((uv_handle_t *)&t->timer, on_closed);
}

/* ---- from the server to the client ---- */

static bool is_transient(int code)
{
	return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED;
}

/* Send @bytes of @data, or what is left of them in `to_outer`. GnuTLS keeps a record that the
 * socket did not take, and finishes it when it is called without data. Returns: 1 if all was sent;
 * 0 if the client has to read first; -1 if the connection is lost. */
static int send_some(struct tls_client *t, const char *data, size_t bytes)
{
	struct tls_rest *rest = &t->to_outer;
	bool is_rest = rest->data != NULL;
	size_t at = is_rest ? rest->at : 0;
	const char *all = is_rest ? rest->data : data;
	ssize_t n = is_rest ? t->all->lib->record_send(t->session, NULL, 0) : 0;
	bytes = is_rest ? rest->bytes : bytes;
	while (n >= 0 && (at += (size_t)n) < bytes) {
		t->moved_ms = timer_now();
		n = t->all->lib->record_send(t->session, all + at, bytes - at);
	}
	if (n < 0 && !is_transient((int)n))
		return -1;
	if (n >= 0) {
		t->moved_ms = timer_now();
		drop(rest);
		return 1;
	}
	if (!is_rest) {
		rest->data = malloc(bytes);
		if (!rest->data)
			return -1;
		memcpy(rest->data, data, bytes);
		rest->bytes = bytes;
	}
	rest->at = at;
	return 0;
}

static void note_server_end(struct tls_client *t)
{
	t->has_server_ended = true;
	t->moved_ms = timer_now();
}

/* Tell the client that nothing more comes. Returns: 0, or -1 if the connection is lost. */
static int send_end(struct tls_client *t)
{
	int r = t->all->lib->bye(t->session, GNUTLS_SHUT_WR);
	if (r < 0)
		return is_transient(r) ? 0 : -1;
	(void)shutdown(t->outer.fd, SHUT_WR);
	t->is_end_sent = true;
	t->moved_ms = timer_now();
	return 0;
}

/* Returns: 0, or -1 if the connection is lost. */
static int move_to_client(struct tls_client *t)
{
	static char data[RECORD_BYTES];
	int r = t->to_outer.data ? send_some(t, NULL, 0) : 1;
	for (int i = 0; i < ROUNDS && r == 1 && !t->has_server_ended; i++) {
		ssize_t n = recv(t->inner.fd, data, sizeof data, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n > 0)
			r = send_some(t, data, (size_t)n);
		else
			note_server_end(t);
	}
	if (r == 1 && t->has_server_ended && !t->is_end_sent)
		r = send_end(t);
	return r < 0 ? -1 : 0;
}

/* ---- from the client to the server ---- */

/* Give the server @data, or what is left of it in `to_inner`. */
static void give(struct tls_client *t, const char *data, size_t bytes)
{
	struct tls_rest *rest = &t->to_inner;
	if (rest->data) {
		data = rest->data + rest->at;
		bytes = rest->bytes - rest->at;
	}
	ssize_t n = t->is_server_deaf ? (ssize_t)bytes
				      : send(t->inner.fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		t->is_server_deaf = true;
		n = (ssize_t)bytes;
	}
	n = MAX(n, 0);
	t->dropped_bytes += t->is_server_deaf ? bytes : 0;
	if ((size_t)n == bytes) {
		drop(rest);
	} else if (rest->data) {
		rest->at += (size_t)n;
	} else {
		*rest = (struct tls_rest){
			.data = xcalloc(bytes - (size_t)n, 1), .bytes = bytes - (size_t)n};
		memcpy(rest->data, data + n, rest->bytes);
	}
}

/* Returns: 0, or -1 if the connection is lost. */
static int move_to_server(struct tls_client *t)
{
	/* A whole record fits, so that nothing is left in GnuTLS of which the loop knows nothing.
	 */
	static char data[RECORD_BYTES];
	if (t->to_inner.data)
		give(t, NULL, 0);
	for (int i = 0; i < ROUNDS && !t->to_inner.data && !t->has_client_ended; i++) {
		ssize_t n = t->all->lib->record_recv(t->session, data, sizeof data);
		if (n == 0)
			t->has_client_ended = true;
		else if (n > 0)
			give(t, data, (size_t)n);
		else if (is_transient((int)n))
			break;
		else if (n == GNUTLS_E_REHANDSHAKE || t->all->lib->error_is_fatal((int)n))
			return -1;
		t->heard_bytes += n > 0 ? (uint64_t)n : 0;
	}
	if (t->has_client_ended && !t->to_inner.data)
		(void)shutdown(t->inner.fd, SHUT_WR);
	return 0;
}

/* ---- the beginning ---- */

/* Tell a client that does not speak TLS what to do, in case it speaks HTTP. */
static void refuse(struct tls_client *t)
{
	static const char body[] =
		"{\"error\":{\"code\":\"usage\",\"message\":\"this port is for HTTPS "
		"only\",\"hint\":\"https:// in the place of http://\"}}";
	char text[512];
	int n = snprintf(text, sizeof text,
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: "
		"%zu\r\nConnection: close\r\n\r\n%s",
		sizeof body - 1, body);
	(void)send(t->outer.fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(t->outer.fd, SHUT_WR);
	(void)shutdown(t->inner.fd, SHUT_RDWR);
	t->state = REFUSED;
	t->has_server_ended = t->is_end_sent = t->is_server_deaf = true;
	t->moved_ms = timer_now();
}

/* Look at the first byte of the client. Returns: 0, or -1 if the connection is lost. */
static int begin(struct tls_client *t)
{
	unsigned char first;
	ssize_t n = recv(t->outer.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	if (first != HANDSHAKE) {
		refuse(t);
		return 0;
	}
	if (tls_identity_begin(t->all->config.identity, &t->session, &t->credentials) < 0)
		return -1;
	t->all->lib->transport_set_int2(t->session, t->outer.fd, t->outer.fd);
	t->state = SHAKING;
	return 0;
}

/* Returns: 0, or -1 if the connection is lost. */
static int shake(struct tls_client *t)
{
	int r = -1;
	for (int i = 0; i < ROUNDS && r < 0; i++) {
		r = t->all->lib->handshake(t->session);
		if (r < 0 && is_transient(r))
			return 0;
		if (r < 0 && t->all->lib->error_is_fatal(r))
			break;
	}
	if (r < 0) {
		(void)t->all->lib->alert_send_appropriate(t->session, r);
		return -1;
	}
	t->state = OPEN;
	return 0;
}

/* Drop what a client sends that was refused. Returns: 0, or -1 at its end. */
static int read_nowhere(struct tls_client *t)
{
	static char nowhere[RECORD_BYTES];
	ssize_t n = 1;
	for (int i = 0; i < ROUNDS && n > 0; i++) {
		n = recv(t->outer.fd, nowhere, sizeof nowhere, MSG_DONTWAIT | MSG_TRUNC);
		t->dropped_bytes += n > 0 ? (uint64_t)n : 0;
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -1;
}

/* ---- watching the sockets ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void watch(struct tls_end *e, int events)
{
	if (events == e->events)
		return;
	e->events = events;
	if (events == 0)
		(void)uv_poll_stop(&e->poll);
	else
		(void)uv_poll_start(&e->poll, events, on_event);
}

static void watch_both(struct tls_client *t)
{
	bool is_open = t->state == OPEN, is_sending = t->to_outer.data != NULL;
	bool has_to_end = is_open && t->has_server_ended && !t->is_end_sent;
	bool is_shaking_out =
		t->state == SHAKING && t->all->lib->record_get_direction(t->session) == 1;
	bool takes = !t->to_inner.data && !t->has_client_ended;
	watch(&t->outer,
		(takes ? UV_READABLE : 0) |
			(is_sending || has_to_end || is_shaking_out ? UV_WRITABLE : 0));
	if (is_open)
		watch(&t->inner,
			(!is_sending && !t->has_server_ended ? UV_READABLE : 0) |
				(t->to_inner.data ? UV_WRITABLE : 0));
	else
		/* The server may give up a client that has not begun. */
		watch(&t->inner, t->state == REFUSED ? 0 : UV_DISCONNECT);
}

/* Do all that can be done now. */
static void advance(struct tls_client *t)
{
	int r = 0;
	if (t->state == WAITING)
		r = begin(t);
	if (r == 0 && t->state == SHAKING)
		r = shake(t);
	if (r == 0 && t->state == OPEN)
		r = move_to_server(t);
	if (r == 0 && t->state == OPEN)
		r = move_to_client(t);
	if (r == 0 && t->state == REFUSED)
		r = read_nowhere(t);
	bool is_done = t->state == OPEN && t->is_end_sent && t->has_client_ended;
	bool is_flood = t->dropped_bytes > TLS_LINGER_BYTES;
	if (r < 0 || is_flood || (is_done && !t->to_inner.data))
		end(t);
	else
		watch_both(t);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct tls_client *t = poll->data;
	struct tls_end *e = poll == &t->outer.poll ? &t->outer : &t->inner;
	/* libuv stops watching a socket that has failed. The calls report what failed. */
	if (status < 0)
		e->events = 0;
	if (e == &t->inner && t->state != OPEN && (status < 0 || (events & UV_DISCONNECT)))
		end(t);
	else
		advance(t);
}

/* Return whether the server has closed its socket, or given it up. */
static bool is_inner_closed(const struct tls_client *t)
{
	struct pollfd p = {.fd = t->inner.fd};
	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

static void on_timer(uv_timer_t *timer)
{
	struct tls_client *t = timer->data;
	const struct tls_clients_config *config = &t->all->config;
	if (t->state == WAITING || t->state == SHAKING) {
		end(t);
		return;
	}
	timer_start(timer, on_timer, CHECK_MS, CHECK_MS);
	if (t->state != REFUSED && !is_inner_closed(t))
		return;
	uint64_t limit_ms = t->is_end_sent ? TLS_LINGER_MS : config->idle_ms;
	if (timer_since(t->moved_ms) >= limit_ms)
		end(t);
}

/* ---- opening and closing ---- */

struct tls_clients *tls_clients_open(const struct tls_clients_config *config)
{
	struct tls_clients *all = xnew(struct tls_clients);
	*all = (struct tls_clients){
		.config = *config, .lib = tls_identity_library(config->identity)};
	return all;
}

static int watch_first(struct tls_client *t, struct tls_end *e, int fd)
{
	int r = uv_poll_init(t->all->config.loop, &e->poll, fd);
	if (r < 0)
		return r;
	e->fd = fd;
	e->poll.data = t;
	t->n_handles++;
	return 0;
}

int tls_client_open(struct tls_clients *all, int taken, struct tls_client **out)
{
	cleanup_fd int fd = taken;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	cleanup_fd int inner = pair[0], server = pair[1];
	struct tls_client *t = xnew(struct tls_client);
	*t = (struct tls_client){.all = all, .outer.fd = -1, .inner.fd = -1};
	*out = t;
	t->next = all->first;
	t->link = &all->first;
	if (t->next)
		t->next->link = &t->next;
	all->first = t;
	(void)uv_timer_init(all->config.loop, &t->timer);
	t->timer.data = t;
	t->n_handles = 1;
	int r = watch_first(t, &t->outer, fd);
	if (r == 0)
		(void)take_fd(fd);
	if (r == 0)
		r = watch_first(t, &t->inner, inner);
	if (r < 0) {
		t->state = OVER;
		t->is_released = true;
		if (t->n_handles > 1)
			uv_close((uv_handle_t *)&t->outer.poll, on_closed);
		uv_close((uv_handle_t *)&t->timer, on_closed);
		return r;
	}
	(void)take_fd(inner);
	timer_start(&t->timer, on_timer, all->config.handshake_ms, 0);
	watch_both(t);
	return take_fd(server);
}

uint64_t tls_client_heard_bytes(const struct tls_client *t)
{
	return t->heard_bytes;
}

/* Cut off the client that the server has released first. */
static void end_oldest_orphan(struct tls_clients *all)
{
	struct tls_client *oldest = NULL;
	for (struct tls_client *t = all->first; t; t = t->next)
		if (t->orphan_since && (!oldest || t->orphan_since < oldest->orphan_since))
			oldest = t;
	if (oldest)
		end(oldest);
}

void tls_client_release(struct tls_client *t)
{
	struct tls_clients *all = t->all;
	t->is_released = true;
	if (t->state == OVER) {
		free_if_unused(t);
		return;
	}
	t->orphan_since = ++all->n_orphans_ever;
	if (++all->n_orphans > TLS_ORPHANS_MAX)
		end_oldest_orphan(all);
}

void tls_clients_close(struct tls_clients *all, void (*closed)(void *arg), void *arg)
{
	all->is_closing = true;
	all->closed = closed;
	all->arg = arg;
	for (struct tls_client *t = all->first; t; t = t->next) {
		if (t->state == OPEN)
			(void)move_to_client(t);
		end(t);
	}
	free_if_closed(all);
}
