/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/channel.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MESSAGES_PER_TURN = 64, SEND_BYTES = 1 << 20 };

struct waiting {
	struct waiting *next;
	char *text;
	size_t bytes, sent_bytes;
	int fds[FD_PASS_MAX];
	size_t n_fds;
};

struct channel {
	uv_poll_t poll;
	int fd;
	bool is_closed;
	size_t n_waiting;
	struct waiting *first, **last;
	struct channel_events events;
	struct buf in; /* the message that is coming in */
};

static void close_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static void waiting_free(struct waiting *w)
{
	close_fds(w->fds, w->n_fds);
	free(w->text);
	free(w);
}

static void on_closed(uv_handle_t *handle)
{
	struct channel *c = handle->data;
	buf_done(&c->in);
	free(c);
}

void channel_close(struct channel *c)
{
	if (c->is_closed)
		return;
	c->is_closed = true;
	while (c->first) {
		struct waiting *w = c->first;
		c->first = w->next;
		waiting_free(w);
	}
	uv_close((uv_handle_t *)&c->poll, on_closed);
	fd_close(&c->fd);
}

static void fail(struct channel *c, bool is_fault)
{
	const struct channel_events events = c->events;
	channel_close(c);
	events.ended(events.arg, is_fault);
}

bool channel_is_full(const struct channel *c)
{
	return c->first != NULL;
}

static void on_event(uv_poll_t *poll, int status, int events);

static void watch(struct channel *c)
{
	(void)uv_poll_start(&c->poll, UV_READABLE | (c->first ? UV_WRITABLE : 0), on_event);
}

/* Send what is left of the message. Returns: false if the other side has to read first. */
static bool send_rest(struct channel *c, struct waiting *w)
{
	while (w->sent_bytes < w->bytes) {
		size_t n = MIN(w->bytes - w->sent_bytes, (size_t)CHANNEL_PACKET_BYTES);
		size_t n_fds = n < CHANNEL_PACKET_BYTES ? w->n_fds : 0;
		/* Errors other than EAGAIN mean the end, which reading will find. */
		if (fd_send(c->fd, w->text + w->sent_bytes, n, w->fds, n_fds) == -EAGAIN)
			return false;
		w->sent_bytes += n;
	}
	return true;
}

static void flush(struct channel *c)
{
	while (c->first) {
		struct waiting *w = c->first;
		if (!send_rest(c, w))
			return;
		c->first = w->next;
		c->n_waiting--;
		if (!c->first)
			c->last = &c->first;
		waiting_free(w);
	}
	watch(c);
}

static void keep(struct channel *c, struct waiting *w)
{
	*c->last = w;
	c->last = &w->next;
	c->n_waiting++;
	/* After shutdown() the loop finds the end of the channel. */
	if (c->n_waiting > CHANNEL_WAITING_MAX)
		(void)shutdown(c->fd, SHUT_RDWR);
	watch(c);
}

static void send_text(struct channel *c, char *text, size_t bytes, const int *fds, size_t n_fds)
{
	/* The last packet is shorter. A blank at the end changes nothing. */
	if (bytes % CHANNEL_PACKET_BYTES == 0)
		text[bytes++] = ' ';
	struct waiting *w = xnew(struct waiting);
	*w = (struct waiting){.text = text, .bytes = bytes, .n_fds = n_fds};
	for (size_t i = 0; i < n_fds; i++)
		w->fds[i] = fds[i];
	if (c->first || !send_rest(c, w))
		keep(c, w);
	else
		waiting_free(w);
}

int channel_send(struct channel *c, json_t *message, int *fds, size_t n_fds)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	size_t bytes = text ? strlen(text) : 0;
	bool is_short = bytes < CHANNEL_BYTES && n_fds <= FD_PASS_MAX;
	json_decref(message);
	if (text && is_short) {
		send_text(c, text, bytes, fds, n_fds);
		return 0;
	}
	if (!text)
		(void)shutdown(c->fd, SHUT_RDWR);
	free(text);
	close_fds(fds, n_fds);
	return is_short ? 0 : -E2BIG;
}

/* Take the message that has come in. Owns: takes @fds. */
static int take(struct channel *c, int *fds, size_t n_fds)
{
	json_t *message = json_loadb(c->in.data, c->in.bytes, JSON_REJECT_DUPLICATES, NULL);
	int r = -EPROTO;
	if (c->in.bytes >= CHANNEL_PACKET_BYTES)
		buf_done(&c->in); /* few messages are so long */
	else
		buf_clear(&c->in);
	if (json_is_object(message))
		r = c->events.message(c->events.arg, message, fds, n_fds);
	else
		close_fds(fds, n_fds);
	json_decref(message);
	return r < 0 ? -EPROTO : 1;
}

/* Read one packet. Returns: 1; 0 if none has arrived; negative errno. */
static int read_one(struct channel *c)
{
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	char *at = buf_reserve(&c->in, CHANNEL_PACKET_BYTES);
	if (!at)
		return -EPROTO;
	ssize_t n = fd_recv(c->fd, at, CHANNEL_PACKET_BYTES, c->events.takes_fds ? fds : NULL,
		ARRAY_LEN(fds), &n_fds);
	if (n == -EAGAIN)
		return 0;
	if (n == -EMSGSIZE || n == -EPROTO)
		return -EPROTO;
	if (n <= 0)
		return -EPIPE;
	buf_grown(&c->in, (size_t)n);
	if (n < CHANNEL_PACKET_BYTES)
		return take(c, fds, n_fds);
	close_fds(fds, n_fds);
	return n_fds > 0 ? -EPROTO : 1;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct channel *c = poll->data;
	if (status >= 0 && (events & UV_WRITABLE))
		flush(c);
	int r = 1;
	/* A callback may close the channel. Its memory is valid until the loop's next turn. */
	for (int i = 0; i < MESSAGES_PER_TURN && r == 1 && !c->is_closed; i++)
		r = read_one(c);
	if (r < 0 && !c->is_closed)
		fail(c, r == -EPROTO);
}

struct channel *channel_open(uv_loop_t *loop, int fd, const struct channel_events *events)
{
	const int bytes = SEND_BYTES;
	struct channel *c = xnew(struct channel);
	c->fd = fd;
	c->last = &c->first;
	c->in = BUF_INIT(CHANNEL_BYTES);
	c->events = *events;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	if (!events->takes_fds)
		fd_refuse_passed(fd);
	int r = uv_poll_init(loop, &c->poll, fd);
	if (r < 0) {
		fd_close(&c->fd);
		free(c);
		return NULL;
	}
	c->poll.data = c;
	watch(c);
	return c;
}
