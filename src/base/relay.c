/*
 * Copying bytes both ways between two sockets.
 *
 * A relay has two sides, and each side two tasks: to read what its socket gives, and to write what
 * the other side has read. A side reads only while the other has nothing left to write. What it
 * reads is written at once; only if the other socket does not take all of it, a copy of the rest is
 * kept (`rest`) until the socket takes it. So a side that does not read stops the other from being
 * read, its sender notices in turn, and an idle connection takes no memory.
 *
 * At the end of what a side sends, and when the rest is written, the other socket is shut down for
 * writing. A direction also ends when its receiver has gone; what comes in that direction is then
 * not read any more, but the receiver's last words still arrive. The relay ends with the second of
 * its directions. If a side fails (its peer has reset the connection), the other one is reset as
 * well, so that a message cut off is not taken for a whole one. For the same reason, a relay that
 * is stopped first passes on what has arrived, and then resets each side that has not got the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/relay.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often relay_stop() reads from a side that goes on sending. */
enum { LAST_READS = 8 };

struct side {
	struct relay *relay;
	uv_poll_t poll;
	int fd;
	int events;	   /* what the loop watches for */
	bool is_over;	   /* nothing is read from this side any more */
	bool is_broken;	   /* it takes nothing any more: a write has failed */
	char *rest;	   /* read from the other side and not yet written to this one, or NULL */
	size_t rest_bytes; /* bytes of `rest` that are not written, from rest_at on */
	size_t rest_at;
};

struct relay {
	struct side sides[2];
	char *scratch;
	int n_handles;
	bool is_ending;
	uint64_t *time_ns; /* see relay_note_time(); may be NULL */
	uint64_t *passed;  /* see relay_count(); may be NULL */
	relay_done_fn *done;
	void *arg;
};

static struct side *other(struct side *s)
{
	return s == &s->relay->sides[0] ? &s->relay->sides[1] : &s->relay->sides[0];
}

static void on_closed(uv_handle_t *handle)
{
	struct side *s = handle->data;
	struct relay *r = s->relay;
	fd_close(&s->fd);
	free(s->rest);
	if (--r->n_handles > 0)
		return;
	relay_done_fn *done = r->done;
	void *arg = r->arg;
	free(r);
	done(arg);
}

/* Reset the connection of @s: its peer must not take what it got for the whole. On a unix socket
 * the option does nothing. */
static void reset(struct side *s)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};
	(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* Read no more from @s. When all is written that was read before, its receiver is told. */
static void end_direction(struct side *s)
{
	struct side *to = other(s);
	s->is_over = true;
	if (!to->rest)
		(void)shutdown(to->fd, SHUT_WR);
}

/* Write to @s what the other side has read: @data, or `rest`. Returns: how much was taken, or
 * negative errno when the receiver has gone. */
static ssize_t put(struct side *s, const char *data, size_t bytes)
{
	ssize_t n = send(s->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n < 0 ? -errno : n;
}

static void drop_rest(struct side *s)
{
	free(s->rest);
	s->rest = NULL;
	s->rest_bytes = s->rest_at = 0;
}

/* End both directions, because nothing can be read from @s. */
static void fail(struct side *s)
{
	reset(other(s));
	drop_rest(s);
	s->is_over = other(s)->is_over = true;
}

static void write_rest(struct side *s)
{
	ssize_t n = put(s, s->rest + s->rest_at, s->rest_bytes);
	if (n < 0) {
		drop_rest(s);
		s->is_broken = true;
		end_direction(other(s));
		return;
	}
	s->rest_at += (size_t)n;
	s->rest_bytes -= (size_t)n;
	if (s->rest_bytes > 0)
		return;
	drop_rest(s);
	if (other(s)->is_over)
		(void)shutdown(s->fd, SHUT_WR);
}

/* Write @data to @s. Keep what it does not take at once. Returns: 0, -ENOMEM, or another negative
 * errno when the receiver has gone. */
static int put_all(struct side *s, const char *data, size_t bytes)
{
	ssize_t taken = put(s, data, bytes);
	if (taken < 0 || (size_t)taken == bytes)
		return (int)MIN(taken, 0);
	s->rest = malloc(bytes - (size_t)taken);
	if (!s->rest)
		return -ENOMEM;
	s->rest_bytes = bytes - (size_t)taken;
	s->rest_at = 0;
	memcpy(s->rest, data + taken, s->rest_bytes);
	return 0;
}

/* Returns: whether anything was read. */
static bool read_some(struct side *s)
{
	struct side *to = other(s);
	char *data = s->relay->scratch;
	ssize_t n = recv(s->fd, data, RELAY_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* A write that failed has taken the error of the socket, which then only has an end. */
	if (n < 0 || (n == 0 && s->is_broken)) {
		fail(s);
		return false;
	}
	if (n == 0) {
		end_direction(s);
		return false;
	}
	if (s->relay->time_ns)
		*s->relay->time_ns = uv_hrtime();
	if (s->relay->passed)
		s->relay->passed[s - s->relay->sides] += (uint64_t)n;
	int r = put_all(to, data, (size_t)n);
	if (r == -ENOMEM) {
		fail(s);
	} else if (r < 0) {
		to->is_broken = true;
		end_direction(s);
	}
	return true;
}

/* Pass on what @s has sent so far, as much of it as the other side takes at once. */
static void pass_on(struct side *s)
{
	struct side *to = other(s);
	if (to->rest)
		write_rest(to);
	for (int n = 0; n < LAST_READS && !s->is_over && !to->rest && read_some(s); n++)
		;
	if (!s->is_over || to->rest)
		reset(to);
}

static void end(struct relay *r)
{
	if (r->is_ending)
		return;
	r->is_ending = true;
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&r->sides[i].poll, on_closed);
}

void relay_stop(struct relay *r)
{
	for (int i = 0; i < 2 && !r->is_ending; i++)
		pass_on(&r->sides[i]);
	end(r);
}

static void on_event(uv_poll_t *poll, int status, int events);

static void watch(struct side *s)
{
	int events =
		(!s->is_over && !other(s)->rest ? UV_READABLE : 0) | (s->rest ? UV_WRITABLE : 0);
	if (events == s->events)
		return;
	s->events = events;
	if (events == 0)
		(void)uv_poll_stop(&s->poll);
	else
		(void)uv_poll_start(&s->poll, events, on_event);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct side *s = poll->data;
	struct relay *r = s->relay;
	/* libuv stops watching a socket that has failed. The calls below report what failed. */
	if (status < 0) {
		events = s->events;
		s->events = 0;
	}
	if ((events & UV_WRITABLE) && s->rest)
		write_rest(s);
	if ((events & UV_READABLE) && !s->is_over && !other(s)->rest)
		(void)read_some(s);
	bool is_done = s->is_over && other(s)->is_over;
	if (is_done && !s->rest && !other(s)->rest) {
		end(r);
		return;
	}
	watch(s);
	watch(other(s));
}

void relay_note_time(struct relay *r, uint64_t *time_ns)
{
	r->time_ns = time_ns;
}

void relay_count(struct relay *r, uint64_t passed[2])
{
	r->passed = passed;
}

void relay_set_options(int fd)
{
	const int bytes = RELAY_BYTES, on = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int relay_begin(struct relay *r, int to, const char *data, size_t bytes)
{
	struct side *s = &r->sides[to];
	int failed = put_all(s, data, bytes);
	watch(s);
	watch(other(s));
	/* That the receiver has gone is found again when the next bytes come for it. */
	return failed == -ENOMEM ? failed : 0;
}

/* Close the sides of a relay that the loop cannot watch. */
static struct relay *give_up(struct relay *r)
{
	r->is_ending = true;
	for (int i = 0; i < 2; i++)
		if (!r->sides[i].poll.data)
			fd_close(&r->sides[i].fd);
		else
			uv_close((uv_handle_t *)&r->sides[i].poll, on_closed);
	if (r->n_handles > 0)
		return r;
	free(r);
	return NULL;
}

struct relay *relay_start(
	uv_loop_t *loop, int a, int b, char *scratch, relay_done_fn *done, void *arg)
{
	struct relay *r = xnew(struct relay);
	const int fds[] = {a, b};
	*r = (struct relay){.scratch = scratch, .done = done, .arg = arg};
	for (int i = 0; i < 2; i++) {
		struct side *s = &r->sides[i];
		*s = (struct side){.relay = r, .fd = fds[i]};
		if (uv_poll_init(loop, &s->poll, s->fd) < 0)
			continue;
		s->poll.data = s;
		r->n_handles++;
	}
	for (int i = 0; i < 2 && r->n_handles == 2; i++)
		watch(&r->sides[i]);
	return r->n_handles == 2 ? r : give_up(r);
}
