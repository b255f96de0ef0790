/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16; the same on all architectures that retort runs on */
#endif

/* The maximum number of attempts of a call that a signal interrupts (EINTR). Such interrupts are
 * rare, because the call does not sleep. */
enum { TRIES_MAX = 8 };

void fd_close(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_take(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

static int close_span(unsigned first, unsigned last)
{
	/* musl 1.2 does not declare close_range() */
	return first <= last && syscall(SYS_close_range, first, last, 0) < 0 ? -errno : 0;
}

int fd_close_others(int *kept, size_t n)
{
	unsigned from = STDERR_FILENO + 1;
	int r = 0;
	for (size_t i = 1; i < n; i++) /* sort */
		for (size_t at = i; at > 0 && kept[at - 1] > kept[at]; at--) {
			int greater = kept[at - 1];
			kept[at - 1] = kept[at];
			kept[at] = greater;
		}
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (kept[i] < (int)from)
			continue;
		r = close_span(from, (unsigned)kept[i] - 1);
		from = (unsigned)kept[i] + 1;
	}
	return r < 0 ? r : close_span(from, ~0u);
}

void fd_vacate(int fd)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup3(null, fd, O_CLOEXEC) < 0)
		(void)close(fd);
}

int fd_write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;
	while (bytes > 0) {
		ssize_t n = write(fd, at, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_all(int fd, void *out, size_t max_bytes)
{
	size_t got = 0;
	for (;;) {
		char extra;
		bool full = got == max_bytes;
		ssize_t n = read(fd, full ? &extra : (char *)out + got, full ? 1 : max_bytes - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)got;
		if (full)
			return -E2BIG;
		got += (size_t)n;
	}
}

int fd_open_regular(const char *path)
{
	struct stat st;
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* ENXIO means that @path is a socket */
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(fd) : -EINVAL;
}

bool fd_is_own_peer(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t n_own = sizeof own, n_peer = sizeof peer;
	return getsockname(fd, (struct sockaddr *)&own, &n_own) == 0 &&
		getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0 && n_own == n_peer &&
		memcmp(&own, &peer, n_own) == 0;
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int fd_wait(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

void fd_refuse_passed(int sock)
{
	int off = 0;
	(void)setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

union fd_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

ssize_t fd_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds)
{
	union fd_control control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (n_fds > FD_PASS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * n_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	ssize_t n = -1;
	for (int i = 0; n < 0 && i < TRIES_MAX; i++) {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			break;
	}
	return n < 0 ? -errno : n;
}

ssize_t fd_send_waiting(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds)
{
	ssize_t n;
	do
		n = fd_send(sock, data, bytes, fds, n_fds);
	while (n == -EAGAIN && fd_wait(sock, POLLOUT) == 0);
	return n;
}

static size_t take_fds(struct msghdr *msg, int *fds, size_t max_fds)
{
	size_t n_taken = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
			if (n_taken < max_fds)
				fds[n_taken++] = fd;
			else
				(void)close(fd);
		}
	}
	return n_taken;
}

static ssize_t receive(int sock, struct msghdr *msg)
{
	ssize_t n = -1;
	for (int i = 0; n < 0 && i < TRIES_MAX; i++) {
		n = recvmsg(sock, msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			break;
	}
	return n < 0 ? -errno : n;
}

/* Receive a message without its descriptors. If the message has descriptors, the kernel closes
 * them and sets MSG_CTRUNC. */
static ssize_t receive_without(int sock, struct msghdr *msg)
{
	ssize_t n = receive(sock, msg);
	if (n >= 0 && msg->msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	return n >= 0 && msg->msg_flags & MSG_CTRUNC ? -EPROTO : n;
}

ssize_t fd_recv(int sock, void *out, size_t max_bytes, int *fds, size_t max_fds, size_t *n_fds)
{
	union fd_control control;
	struct iovec iov = {.iov_base = out, .iov_len = max_bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (!fds)
		return receive_without(sock, &msg);
	msg.msg_control = control.bytes;
	msg.msg_controllen = sizeof control.bytes;
	ssize_t n = receive(sock, &msg);
	if (n < 0)
		return n;
	size_t got = take_fds(&msg, fds, max_fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < got; i++)
			(void)close(fds[i]);
		return msg.msg_flags & MSG_TRUNC || got == FD_PASS_MAX ? -EMSGSIZE : -EMFILE;
	}
	*n_fds = got;
	return n;
}
