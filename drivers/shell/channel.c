/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "runtime/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10, FD_MIN = 64 };

int channel_open(struct channel *ch, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_MIN);
	if (high < 0)
		return -errno;
	(void)close(fd);
	*ch = (struct channel){.passed_fd = -1,
		.fd = high,
		.in = BUF_INIT(FRAME_MAX_BYTES + FRAME_HEAD_BYTES + READ_BYTES)};
	return 0;
}

int channel_take_fd(struct channel *ch)
{
	int fd = ch->passed_fd;
	ch->passed_fd = -1;
	return fd;
}

int channel_receive(struct channel *ch, json_t **message)
{
	struct frame frame;
	struct err err = {0};
	ssize_t whole;
	while ((whole = frame_parse(&ch->in, &frame, &err)) == 0) {
		char *at = buf_reserve(&ch->in, READ_BYTES);
		int fd = -1;
		size_t n_fds = 0;
		ssize_t n = at ? fd_recv(ch->fd, at, READ_BYTES, &fd, 1, &n_fds) : -EIO;
		if (n_fds > 0) {
			fd_close(&ch->passed_fd);
			ch->passed_fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_MIN);
			fd_close(&fd);
		}
		if (n == -EAGAIN && fd_wait(ch->fd, POLLIN) == 0)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -EIO;
		buf_grown(&ch->in, (size_t)n);
	}
	if (whole < 0)
		return (int)whole;
	int type = frame.type;
	*message = frame.bytes ? json_loadb(frame.data, frame.bytes, JSON_ALLOW_NUL, NULL) : NULL;
	if (!json_is_object(*message)) {
		json_decref(*message);
		*message = NULL;
	}
	buf_consume(&ch->in, (size_t)whole);
	if (ch->in.bytes == 0)
		/* Release the memory: the message may have been up to 10 MB. */
		buf_done(&ch->in);
	return type;
}

int channel_send(struct channel *ch, enum frame_type type, json_t *message)
{
	cleanup_buf struct buf out = BUF_INIT(FRAME_MAX_BYTES + FRAME_HEAD_BYTES);
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	json_decref(message);
	if (!text)
		return -ENOMEM;
	int r = frame_write(&out, type, text, strlen(text));
	free(text);
	for (size_t at = 0; r == 0 && at < out.bytes;) {
		ssize_t n = send(ch->fd, out.data + at, out.bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			r = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return r;
}

json_t *channel_text(const char *text, size_t bytes)
{
	cleanup_buf struct buf clean = BUF_INIT(3 * bytes + 1);
	return utf8_repair(&clean, text, bytes, NULL) < 0
		? NULL
		: json_stringn(buf_str(&clean), clean.bytes);
}
