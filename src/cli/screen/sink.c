/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

void sink_init(struct sink *s, int fd, size_t max_bytes)
{
	*s = (struct sink){.fd = fd, .waiting = BUF_INIT(max_bytes)};
}

void sink_done(struct sink *s)
{
	buf_done(&s->waiting);
}

static bool can_write(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, 0) == 1;
}

/*
 * Write some bytes without waiting, as write(2). RWF_NOWAIT says so for this one call: the
 * descriptor may be shared, with the flags of its open file. Terminals do not take that flag, nor
 * do pipes of a kernel before Linux 6.5, and some file systems take it and write nothing. When
 * poll() reports a pipe, terminal or file as writable, a write of up to PIPE_BUF bytes does not
 * block.
 */
static ssize_t write_some(struct sink *s, const char *data, size_t bytes)
{
	struct iovec part = {(void *)(uintptr_t)data, bytes};
	ssize_t n = -1;
	errno = EAGAIN;
	if (!s->is_plain)
		n = pwritev2(s->fd, &part, 1, -1, RWF_NOWAIT);
	if (n >= 0 || errno == EPIPE || errno == EINTR)
		return n;
	s->is_plain = s->is_plain || errno != EAGAIN;
	if (can_write(s->fd))
		return write(s->fd, data, MIN(bytes, (size_t)PIPE_BUF));
	errno = EAGAIN;
	return -1;
}

/* Write as much as possible without waiting. Returns: the number of bytes. */
static size_t write_now(struct sink *s, const char *data, size_t bytes)
{
	size_t at = 0;
	while (at < bytes && !s->is_held) {
		ssize_t n = write_some(s, data + at, bytes - at);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR) {
			s->error = errno;
			return bytes;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	return at;
}

void sink_add(struct sink *s, const void *data, size_t bytes)
{
	size_t done = 0;
	if (s->error)
		return;
	if (s->waiting.bytes > 0)
		buf_consume(&s->waiting, write_now(s, s->waiting.data, s->waiting.bytes));
	if (s->waiting.bytes == 0)
		done = write_now(s, data, bytes);
	if (buf_append(&s->waiting, (const char *)data + done, bytes - done) < 0)
		s->error = ENOBUFS;
}

void sink_hold(struct sink *s, bool is_held)
{
	s->is_held = is_held;
	sink_add(s, "", 0);
}

/* Write what is kept in memory, and block until the reader accepts it. The descriptor may be
 * non-blocking, because we share it with our parent process, so wait with poll(). */
static int write_waiting(struct sink *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};
	for (size_t at = 0; at < s->waiting.bytes;) {
		ssize_t n = write(s->fd, s->waiting.data + at, s->waiting.bytes - at);
		if (n < 0 && errno == EAGAIN)
			(void)poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int sink_flush(struct sink *s)
{
	if (s->error)
		return -s->error;
	int r = write_waiting(s);
	buf_clear(&s->waiting);
	s->error = -r;
	return r;
}
