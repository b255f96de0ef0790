/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Space for a control message with descriptors, aligned as the kernel requires. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
};

void frame_fds_close(struct frame_fds *fds)
{
	for (int i = 0; i < fds->n; i++)
		(void)close(fds->fds[i]);
	fds->n = 0;
}

uint32_t frame_length(const unsigned char head[FRAME_HEAD_BYTES])
{
	return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

int frame_write(int fd, int type, const char *payload, size_t bytes)
{
	uint32_t length = (uint32_t)bytes + 1;
	unsigned char head[FRAME_HEAD_BYTES] = {
		length >> 24, length >> 16, length >> 8, length, (unsigned char)type};
	struct iovec parts[2] = {{head, sizeof(head)}, {(void *)payload, bytes}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};

	while (parts[0].iov_len + parts[1].iov_len > 0) {
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

static void collect(struct msghdr *msg, struct frame_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (fds->n < FRAME_FDS_MAX)
				fds->fds[fds->n++] = fd;
			else
				(void)close(fd);
		}
	}
}

ssize_t frame_read_some(int fd, void *out, size_t bytes, struct frame_fds *fds)
{
	struct iovec part = {out, bytes};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	union control control;
	ssize_t n;

	if (!fds)
		return recv(fd, out, bytes, 0);
	msg.msg_control = &control;
	msg.msg_controllen = sizeof(control);
	n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (n > 0)
		collect(&msg, fds);
	return n;
}

int frame_read(int fd, void *out, size_t bytes, struct frame_fds *fds)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n = frame_read_some(fd, (char *)out + have, bytes - have, fds);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return 0;
}
