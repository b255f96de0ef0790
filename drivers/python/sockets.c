/*
 * Recreates pipes and sockets of a process in its branches.
 *
 * Before the clone, sockets_find() looks for pipes and socketpairs with both ends in the process,
 * because only those can be created again in a branch. The ends of a pipe have the same inode
 * number. Of a socketpair, the kernel does not tell which sockets belong together. So each unnamed
 * Unix socket sends one byte. The socket whose queue has grown by one byte is its peer, and the
 * byte is removed again. With datagram sockets that works only while all queues are empty, because
 * FIONREAD gives the size of the first message only.
 *
 * In a branch, sockets_renew() is called for each pipe or socket descriptor. On the first end of
 * a pair it creates both ends and copies the unread bytes: tee() for a pipe, MSG_PEEK for a
 * stream socket, so that the original keeps these bytes for further branches. Sockets that listen
 * or are not connected are created again with the same options and address. All other sockets are
 * connected to other processes and are not replaced here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PAIRS_MAX = 128, UNREAD_MAX = 4 << 20, BACKLOG = 4096 };

/* The two ends of a pipe or socketpair. The first end of a pipe is the one for reading. */
struct pair {
	ino_t ino[2]; /* inode numbers, 0 if unknown */
	int fd[2];    /* descriptors in the process that is branched */
	int now[2];   /* descriptors in a branch, -1 until they are created */
	int type;     /* type of the sockets, 0 for a pipe */
	bool is_tried;
};

static struct pair pairs[PAIRS_MAX];
static size_t n_pairs;
static unsigned n_dropped;

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof value;
	return getsockopt(fd, level, name, &value, &bytes) < 0 ? -1 : value;
}

static int unread(int fd)
{
	int n = 0;
	return ioctl(fd, FIONREAD, &n) < 0 ? -1 : n;
}

bool sockets_is_over(int fd, const struct stat *st)
{
	struct pollfd end = {.fd = fd, .events = POLLIN | POLLRDHUP};
	return (S_ISSOCK(st->st_mode) || S_ISFIFO(st->st_mode)) && poll(&end, 1, 0) == 1 &&
		(end.revents & (POLLHUP | POLLERR)) &&
		(S_ISFIFO(st->st_mode) || (end.revents & POLLRDHUP)) && unread(fd) == 0;
}

/* ---- before the clone ---- */

static bool is_own(const struct stat *st, const int *own, size_t n_own)
{
	struct stat other;
	for (size_t i = 0; i < n_own; i++)
		if (fstat(own[i], &other) == 0 && other.st_dev == st->st_dev &&
			other.st_ino == st->st_ino)
			return true;
	return false;
}

static struct pair *find(ino_t ino, bool is_pipe)
{
	for (size_t i = 0; i < n_pairs; i++)
		if ((pairs[i].type == 0) == is_pipe &&
			(pairs[i].ino[0] == ino || (pairs[i].ino[1] == ino && !is_pipe)))
			return &pairs[i];
	return NULL;
}

static struct pair *add(ino_t ino, int type)
{
	if (n_pairs == PAIRS_MAX)
		return NULL;
	pairs[n_pairs] = (struct pair){.ino = {ino}, .fd = {-1, -1}, .now = {-1, -1}, .type = type};
	return &pairs[n_pairs++];
}

static void take_pipe(int fd, const struct stat *st)
{
	struct statfs fs;
	int flags = fcntl(fd, F_GETFL);
	struct pair *p = find(st->st_ino, true);
	if (fstatfs(fd, &fs) < 0 || fs.f_type != PIPEFS_MAGIC || flags < 0)
		return;
	p = p ? p : add(st->st_ino, 0);
	if (p && (flags & O_ACCMODE) != O_WRONLY)
		p->fd[0] = fd;
	if (p && (flags & O_ACCMODE) != O_RDONLY)
		p->fd[1] = fd;
}

static bool has_no_name(int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_un name;
	socklen_t bytes = sizeof name;
	return get(fd, (struct sockaddr *)&name, &bytes) == 0 && bytes == sizeof name.sun_family;
}

/* Add a Unix socket without a name. Its peer is found later. */
static void take_socket(int fd, const struct stat *st)
{
	if (find(st->st_ino, false) || option(fd, SOL_SOCKET, SO_DOMAIN) != AF_UNIX ||
		!has_no_name(fd, getsockname) || !has_no_name(fd, getpeername))
		return;
	struct pair *p = add(st->st_ino, option(fd, SOL_SOCKET, SO_TYPE));
	if (p)
		p->fd[0] = fd;
}

/*
 * Return whether a probe byte can be recognized in the peer's queue. With datagrams this is
 * possible only while all queues are empty.
 */
static bool can_be_asked(const struct pair *p)
{
	if (p->type == SOCK_STREAM)
		return true;
	for (size_t i = 0; i < n_pairs; i++)
		if (pairs[i].type == p->type && unread(pairs[i].fd[0]) != 0)
			return false;
	return true;
}

/*
 * Remove the probe byte from the queue of @to: read everything, and send everything but the last
 * byte again.
 */
static void take_out(const struct pair *from, const struct pair *to)
{
	int n = unread(to->fd[0]);
	char *data = n > 0 && n <= UNREAD_MAX ? malloc((size_t)n) : NULL;
	if (data && recv(to->fd[0], data, (size_t)n, MSG_DONTWAIT) == n && n > 1)
		(void)send(from->fd[0], data, (size_t)n - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(data);
}

/* Send a probe byte through @p. Returns: the entry of the socket that received it, or NULL. */
static struct pair *ask(const struct pair *p)
{
	int before[PAIRS_MAX];
	for (size_t i = 0; i < n_pairs; i++)
		before[i] = pairs[i].type && pairs[i].fd[0] >= 0 ? unread(pairs[i].fd[0]) : -1;
	if (!can_be_asked(p) || send(p->fd[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return NULL;
	for (size_t i = 0; i < n_pairs; i++) {
		if (&pairs[i] == p || before[i] < 0 || unread(pairs[i].fd[0]) != before[i] + 1)
			continue;
		take_out(p, &pairs[i]);
		return &pairs[i];
	}
	return NULL;
}

/* Make @other, which is the other end of @p, a part of @p. */
static void merge(struct pair *p, struct pair *other)
{
	p->ino[1] = other->ino[0];
	p->fd[1] = other->fd[0];
	other->fd[0] = -1;
	other->ino[0] = 0;
}

static void join(void)
{
	for (size_t i = 0; i < n_pairs; i++) {
		struct pair *p = &pairs[i];
		struct pair *other = p->type && p->fd[0] >= 0 && p->fd[1] < 0 ? ask(p) : NULL;
		if (other && other->fd[1] < 0)
			merge(p, other);
	}
}

/* Return the entry of the unnamed Unix socket @fd, or NULL. */
static struct pair *entry_of(int fd)
{
	struct stat st;
	struct pair *p =
		fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? find(st.st_ino, false) : NULL;
	return p && p->fd[1] < 0 ? p : NULL;
}

static void join_known(const int *known, size_t n_known)
{
	for (size_t i = 0; i + 1 < n_known; i += 2) {
		struct pair *p = entry_of(known[i]), *other = entry_of(known[i + 1]);
		if (p && other && p != other)
			merge(p, other);
	}
}

void sockets_find(const int *own, size_t n_own, const int *known, size_t n_known)
{
	struct stat st;
	n_pairs = n_dropped = 0;
	DIR *dir = opendir("/proc/self/fd");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || fstat(fd, &st) < 0 || is_own(&st, own, n_own))
			continue;
		if (S_ISFIFO(st.st_mode))
			take_pipe(fd, &st);
		else if (S_ISSOCK(st.st_mode))
			take_socket(fd, &st);
	}
	if (dir)
		(void)closedir(dir);
	if (known)
		join_known(known, n_known);
	else
		join();
}

/* ---- in a branch ---- */

static void set_flags(int fd, int old)
{
	int flags = fcntl(old, F_GETFL);
	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags & (O_NONBLOCK | O_DIRECT));
}

/*
 * Create the new pipe of @p. tee() copies the unread bytes, and leaves them in the old pipe for
 * further branches.
 */
static bool make_pipe(struct pair *p)
{
	int n = unread(p->fd[0]), size = fcntl(p->fd[0], F_GETPIPE_SZ);
	if (n < 0 || pipe2(p->now, O_CLOEXEC) < 0)
		return false;
	if (size > 0)
		(void)fcntl(p->now[0], F_SETPIPE_SZ, size);
	set_flags(p->now[0], p->fd[0]);
	set_flags(p->now[1], p->fd[1]);
	return n == 0 || tee(p->fd[0], p->now[1], (size_t)n, SPLICE_F_NONBLOCK) == n;
}

/*
 * Copy the unread bytes of a socket. Returns: whether that succeeded. It fails also if descriptors
 * travel with the bytes.
 */
static bool copy_unread(int from, int to, int type)
{
	int n = unread(from);
	if (n <= 0)
		return n == 0;
	struct iovec iov = {.iov_len = (size_t)n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (type != SOCK_STREAM || n > UNREAD_MAX || !(iov.iov_base = malloc((size_t)n)))
		return false;
	bool is_copied = recvmsg(from, &msg, MSG_PEEK | MSG_DONTWAIT) == n &&
		!(msg.msg_flags & MSG_CTRUNC) &&
		send(to, iov.iov_base, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;
	free(iov.iov_base);
	return is_copied;
}

static bool make_sockets(struct pair *p)
{
	if (socketpair(AF_UNIX, p->type | SOCK_CLOEXEC, 0, p->now) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		int room = option(p->fd[i], SOL_SOCKET, SO_SNDBUF) / 2;
		(void)setsockopt(p->now[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
		set_flags(p->now[i], p->fd[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct pollfd end = {.fd = p->fd[i], .events = POLLRDHUP};
		if (!copy_unread(p->fd[i], p->now[1 - i], p->type))
			return false;
		if (poll(&end, 1, 0) == 1 && (end.revents & POLLRDHUP) &&
			shutdown(p->now[1 - i], SHUT_WR) < 0)
			return false;
	}
	return true;
}

static void close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->now[i] >= 0)
			(void)close(p->now[i]);
		p->now[i] = -1;
	}
}

/*
 * Return a new descriptor for one end of a pair. The first call creates both new ends, because only
 * then do both old ends still exist.
 */
static int renew_pair(struct pair *p, int end)
{
	if (p->fd[0] < 0 || p->fd[1] < 0)
		return -1;
	if (!p->is_tried && !(p->type ? make_sockets(p) : make_pipe(p)))
		close_pair(p);
	p->is_tried = true;
	return p->now[end] < 0 ? -1 : fcntl(p->now[end], F_DUPFD_CLOEXEC, 0);
}

static int renew_pipe(int fd, const struct stat *st)
{
	struct pair *p = find(st->st_ino, true);
	int flags = fcntl(fd, F_GETFL);
	return p && flags >= 0 && (flags & O_ACCMODE) != O_RDWR
		? renew_pair(p, (flags & O_ACCMODE) == O_WRONLY)
		: -1;
}

struct address {
	struct sockaddr_storage name;
	socklen_t bytes;
};

static bool is_set(const struct address *a)
{
	const struct sockaddr_in *in = (const void *)&a->name;
	const struct sockaddr_in6 *in6 = (const void *)&a->name;
	return a->name.ss_family == AF_INET	? in->sin_port != 0
		: a->name.ss_family == AF_INET6 ? in6->sin6_port != 0
						: a->bytes > sizeof a->name.ss_family;
}

static void copy_options(int to, int from)
{
	static const int names[][2] = {{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_REUSEPORT},
		{SOL_SOCKET, SO_BROADCAST}, {SOL_SOCKET, SO_KEEPALIVE}, {IPPROTO_IPV6, IPV6_V6ONLY},
		{IPPROTO_TCP, TCP_NODELAY}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int value = option(from, names[i][0], names[i][1]);
		if (value >= 0)
			(void)setsockopt(to, names[i][0], names[i][1], &value, sizeof value);
	}
}

/*
 * Create again a socket that listens or is not connected. Pending connections of the old socket are
 * lost. Returns: a file descriptor, or -1.
 */
static int renew_alone(int fd)
{
	struct address name = {.bytes = sizeof name.name}, peer = {.bytes = sizeof peer.name};
	int domain = option(fd, SOL_SOCKET, SO_DOMAIN), type = option(fd, SOL_SOCKET, SO_TYPE);
	bool has_peer = getpeername(fd, (struct sockaddr *)&peer.name, &peer.bytes) == 0;
	bool is_datagram = type == SOCK_DGRAM && domain != AF_UNIX;
	if ((has_peer && !is_datagram) || option(fd, SOL_SOCKET, SO_ERROR) != 0 ||
		getsockname(fd, (struct sockaddr *)&name.name, &name.bytes) < 0)
		return -1;
	struct pollfd end = {.fd = fd, .events = POLLRDHUP};
	if (poll(&end, 1, 0) == 1 && (end.revents & POLLRDHUP))
		/* The peer has closed the connection. */
		return -1;
	int now = socket(domain, type | SOCK_CLOEXEC, option(fd, SOL_SOCKET, SO_PROTOCOL));
	if (now < 0)
		return -1;
	copy_options(now, fd);
	set_flags(now, fd);
	bool is_made =
		(!is_set(&name) || bind(now, (struct sockaddr *)&name.name, name.bytes) == 0) &&
		(option(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1 || listen(now, BACKLOG) == 0) &&
		(!has_peer || connect(now, (struct sockaddr *)&peer.name, peer.bytes) == 0);
	struct pollfd datagrams = {.fd = fd, .events = POLLIN};
	if (is_made && type == SOCK_DGRAM && poll(&datagrams, 1, 0) == 1)
		n_dropped++;
	if (is_made)
		return now;
	(void)close(now);
	return -1;
}

int sockets_renew(int fd, const struct stat *st)
{
	if (S_ISFIFO(st->st_mode))
		return renew_pipe(fd, st);
	if (!S_ISSOCK(st->st_mode))
		return -1;
	struct pair *p = find(st->st_ino, false);
	return p ? renew_pair(p, p->ino[0] != st->st_ino) : renew_alone(fd);
}

unsigned sockets_dropped(void)
{
	return n_dropped;
}

bool sockets_has(int fd)
{
	for (size_t i = 0; i < n_pairs; i++)
		if (fd >= 0 && (pairs[i].now[0] == fd || pairs[i].now[1] == fd))
			return true;
	return false;
}

void sockets_done(void)
{
	for (size_t i = 0; i < n_pairs; i++)
		close_pair(&pairs[i]);
	/* Do not write to an empty list, because that would copy a page. */
	if (n_pairs > 0)
		n_pairs = 0;
}
