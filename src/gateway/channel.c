/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/channel.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MESSAGES_PER_TURN = 64, SEND_BYTES = 1 << 20 };

struct waiting {
	struct waiting *next;
	char *text;
	size_t bytes;
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
	char in[CHANNEL_BYTES];
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
	free(handle->data);
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

static void flush(struct channel *c)
{
	while (c->first) {
		struct waiting *w = c->first;
		/* Errors other than EAGAIN mean the end, which reading will find. */
		if (fd_send(c->fd, w->text, w->bytes, w->fds, w->n_fds) == -EAGAIN)
			return;
		c->first = w->next;
		c->n_waiting--;
		if (!c->first)
			c->last = &c->first;
		waiting_free(w);
	}
	watch(c);
}

static void keep(struct channel *c, char *text, size_t bytes, int *fds, size_t n_fds)
{
	struct waiting *w = xnew(struct waiting);
	*w = (struct waiting){.text = text, .bytes = bytes, .n_fds = n_fds};
	memcpy(w->fds, fds, n_fds * sizeof *fds);
	*c->last = w;
	c->last = &w->next;
	c->n_waiting++;
	/* After shutdown() the loop finds the end of the channel. */
	if (c->n_waiting > CHANNEL_WAITING_MAX)
		(void)shutdown(c->fd, SHUT_RDWR);
	watch(c);
}

void channel_send(struct channel *c, json_t *message, int *fds, size_t n_fds)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	size_t bytes = text ? strlen(text) : 0;
	json_decref(message);
	if (!text || bytes > CHANNEL_BYTES || n_fds > FD_PASS_MAX) {
		(void)shutdown(c->fd, SHUT_RDWR);
	} else if (c->first || fd_send(c->fd, text, bytes, fds, n_fds) == -EAGAIN) {
		keep(c, text, bytes, fds, n_fds);
		return;
	}
	free(text);
	close_fds(fds, n_fds);
}

/* Read one message. Returns: 1; 0 if no message has arrived; negative errno. */
static int read_one(struct channel *c)
{
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t n = fd_recv(c->fd, c->in, sizeof c->in, c->events.takes_fds ? fds : NULL,
		ARRAY_LEN(fds), &n_fds);
	if (n == -EAGAIN)
		return 0;
	if (n == -EMSGSIZE || n == -EPROTO)
		return -EPROTO;
	if (n <= 0)
		return -EPIPE;
	json_t *message = json_loadb(c->in, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	int r = json_is_object(message) ? c->events.message(c->events.arg, message, fds, n_fds)
					: -EPROTO;
	if (!json_is_object(message))
		close_fds(fds, n_fds);
	json_decref(message);
	return r < 0 ? -EPROTO : 1;
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
