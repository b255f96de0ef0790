/* SPDX-License-Identifier: Apache-2.0 */
#include "session/process/stream.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	PIPE_BYTES = 1 << 20, /* size of a pipe, the kernel's default maximum for users */
	/* Reads of one stream_drain(): more than a pipe holds, so that a program that goes on
	 * writing does not keep the loop busy. */
	DRAINS_MAX = 64,
};

static void on_readable(uv_poll_t *poll, int status, int events);

static void watch(struct stream *s, bool is_wanted)
{
	if (!s->is_open || s->is_watched == is_wanted)
		return;
	s->is_watched = is_wanted;
	if (is_wanted)
		(void)uv_poll_start(&s->poll, UV_READABLE, on_readable);
	else
		(void)uv_poll_stop(&s->poll);
}

/* Return how many bytes may be read now. In a held stream, output that nobody has taken yet must
 * not be dropped. It is kept in the head or, as far as it is not there, in the tail. */
static size_t room_of(const struct stream *s)
{
	const struct capture *c = &s->kept;
	if (!s->is_held)
		return s->chunk_bytes;
	uint64_t seen = MAX(s->taken, (uint64_t)c->head.max_bytes);
	uint64_t untaken = c->total_bytes > seen ? c->total_bytes - seen : 0;
	uint64_t room = c->tail.max_bytes - untaken;
	if (c->total_bytes < c->head.max_bytes)
		room += c->head.max_bytes - c->total_bytes;
	return (size_t)MIN(room, (uint64_t)s->chunk_bytes);
}

/* Nothing more will come. Give back what the descriptor holds, for example one of the box's few
 * terminals: the process may be remembered for long. */
static void end(struct stream *s)
{
	watch(s, false);
	if (!s->is_over && s->is_open)
		fd_vacate(s->fd);
	s->is_over = true;
}

/* Return whether the descriptor has no more bytes now, and somebody has the other side open. Unlike
 * FIONREAD, poll(2) waits for what is on its way through a terminal. */
static bool look_dry(const struct stream *s)
{
	struct pollfd look = {.fd = s->fd, .events = POLLIN};
	int n;
	do
		n = poll(&look, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 0;
}

/* Read once. Returns: the number of bytes; 0 if nothing can be read now, or nothing may be. At the
 * end of the stream, and if the host has no memory for the output, the stream is over. */
static ssize_t read_some(struct stream *s)
{
	size_t room = room_of(s);
	ssize_t n;
	if (s->is_over || !s->is_open || room == 0) {
		s->is_dry = false; /* nobody has looked */
		watch(s, false);
		return 0;
	}
	do
		n = read(s->fd, s->chunk, room);
	while (n < 0 && errno == EINTR);
	s->is_dry = n < 0 && errno == EAGAIN;
	if (s->is_dry)
		return 0;
	/* EIO: no process has the other side of the terminal open any more. */
	if (n <= 0 || capture_add(&s->kept, s->chunk, (size_t)n) < 0)
		end(s);
	/* A program that has ended may have left the other end to another one. Then no event tells
	 * that this was the last of its output. */
	s->is_dry = n > 0 && look_dry(s);
	return MAX(n, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct stream *s = container_of(poll, struct stream, poll);
	(void)events;
	bool was_over = s->is_over;
	if (status < 0)
		end(s);
	if (read_some(s) > 0 || s->is_over != was_over)
		s->changed(s);
}

int stream_open(struct stream *s, uv_loop_t *loop, int fd, uint64_t limit_bytes, struct err *err)
{
	capture_init(&s->kept, limit_bytes);
	s->fd = fd;
	(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* a terminal has no size */
	int r = uv_poll_init(loop, &s->poll, fd);  /* this sets O_NONBLOCK, too */
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "watch the output of a program");
	s->is_open = true;
	watch(s, true);
	return 0;
}

void stream_drain(struct stream *s)
{
	ssize_t n = 1;
	for (int i = 0; i < DRAINS_MAX && n > 0; i++)
		n = read_some(s);
}

void stream_hold(struct stream *s)
{
	s->is_held = true;
}

/* Read again if there is room again. No event will tell that the descriptor has no more bytes, so
 * look. */
static void resume(struct stream *s)
{
	if (s->is_over || !s->is_open || s->is_watched || room_of(s) == 0)
		return;
	watch(s, true);
	s->is_dry = look_dry(s);
}

void stream_take(struct stream *s, uint64_t offset)
{
	s->taken = MAX(s->taken, offset);
	resume(s);
}

void stream_release(struct stream *s)
{
	s->is_held = false;
	resume(s);
}

void stream_stop(struct stream *s)
{
	end(s);
}

bool stream_close(struct stream *s, void *data, uv_close_cb closed)
{
	bool is_open = s->is_open;
	watch(s, false);
	s->is_open = false;
	if (is_open) {
		s->poll.data = data;
		uv_close((uv_handle_t *)&s->poll, closed);
	}
	return is_open;
}

void stream_done(struct stream *s)
{
	fd_close(&s->fd);
	capture_done(&s->kept);
}
