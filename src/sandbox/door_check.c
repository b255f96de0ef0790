/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/door_check.h"

#include "base/fd.h"
#include "base/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <netinet/in.h>

/* The device number of every /dev/ptmx. Source: the kernel's admin-guide/devices.txt. */
enum { PTMX_MAJOR = 5, PTMX_MINOR = 2 };

static bool has_flags(int fd, int wanted)
{
	const int mask = O_ACCMODE | O_NONBLOCK | O_PATH;
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && (flags & mask) == wanted;
}

/* A master of a pseudo-terminal, of another devpts than the one at our own /dev/pts. */
static bool is_terminal(int fd)
{
	struct stat st, own;
	struct statfs fs;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		st.st_rdev == makedev(PTMX_MAJOR, PTMX_MINOR) && fstatfs(fd, &fs) == 0 &&
		fs.f_type == DEVPTS_SUPER_MAGIC && has_flags(fd, O_RDWR | O_NONBLOCK) &&
		(stat("/dev/pts", &own) < 0 || own.st_dev != st.st_dev);
}

static bool has_option(int fd, int option, int wanted)
{
	int value = -1;
	socklen_t bytes = sizeof value;
	return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 && value == wanted;
}

static bool is_of_this_network(int fd)
{
	cleanup_fd int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return own >= 0 && netns_is_same(fd, own);
}

/* A socket that is not connected, of another network namespace. */
static bool is_socket(int fd, int family, int type, int protocol)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof peer;
	return has_option(fd, SO_DOMAIN, family) && has_option(fd, SO_TYPE, type) &&
		has_option(fd, SO_PROTOCOL, protocol) &&
		getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 && errno == ENOTCONN &&
		has_flags(fd, O_RDWR | O_NONBLOCK) && !is_of_this_network(fd);
}

/* A TCP socket that was never bound. */
static bool is_unused(int fd, int family)
{
	return is_socket(fd, family, SOCK_STREAM, IPPROTO_TCP) && has_option(fd, SO_ACCEPTCONN, 0);
}

/* A socket bound to just this address, which no program of the box can share. (That a listener has
 * SO_REUSEADDR lets nobody in.) */
static bool is_bound(int fd, uint32_t ip, uint32_t port)
{
	struct sockaddr_in at = {0};
	socklen_t bytes = sizeof at;
	return has_option(fd, SO_REUSEPORT, 0) &&
		getsockname(fd, (struct sockaddr *)&at, &bytes) == 0 && bytes == sizeof at &&
		ntohl(at.sin_addr.s_addr) == ip && ntohs(at.sin_port) == port;
}

static bool is_resolver(int fd)
{
	return is_socket(fd, AF_INET, SOCK_DGRAM, IPPROTO_UDP) && has_option(fd, SO_REUSEADDR, 0) &&
		is_bound(fd, WARDEN_RESOLVER_IP, WARDEN_RESOLVER_PORT);
}

static bool is_listener(int fd, const struct warden_listener *asked)
{
	return is_socket(fd, AF_INET, SOCK_STREAM, IPPROTO_TCP) &&
		has_option(fd, SO_ACCEPTCONN, 1) && is_bound(fd, asked->ip, asked->port);
}

static bool is_proc_file(int fd)
{
	struct stat st;
	struct statfs fs;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fstatfs(fd, &fs) == 0 &&
		fs.f_type == PROC_SUPER_MAGIC && has_flags(fd, O_RDONLY);
}

static bool is_door(enum warden_door what, int fd)
{
	switch (what) {
	case WARDEN_DOOR_TERMINAL:
		return is_terminal(fd);
	case WARDEN_DOOR_SOCKET:
		return is_unused(fd, AF_INET);
	case WARDEN_DOOR_SOCKET6:
		return is_unused(fd, AF_INET6);
	case WARDEN_DOOR_LISTENERS:
	case WARDEN_DOOR_LISTENERS6:
		return is_proc_file(fd);
	case WARDEN_DOOR_NET: /* not of one descriptor; see is_network() */
	case WARDEN_DOOR_END_:
		break;
	}
	return false;
}

/* Return whether @fds from @n on are -1. */
static bool are_none(const int fds[WARDEN_FDS_MAX], size_t n)
{
	for (; n < WARDEN_FDS_MAX; n++)
		if (fds[n] >= 0)
			return false;
	return true;
}

static bool is_network(const struct warden_net *net, const int fds[WARDEN_FDS_MAX])
{
	size_t n = 0;
	if (net->has_resolver) {
		if (fds[n] >= 0 && !is_resolver(fds[n]))
			return false;
		n++;
	}
	for (size_t i = 0; i < MIN(net->n_listeners, (uint32_t)WARDEN_LISTENERS_MAX); i++, n++)
		if (fds[n] >= 0 && !is_listener(fds[n], &net->listeners[i]))
			return false;
	return are_none(fds, n);
}

bool door_spread(int fds[WARDEN_FDS_MAX], size_t n, uint32_t opened)
{
	if (opened >> WARDEN_FDS_MAX != 0 || (size_t)__builtin_popcount(opened) != n)
		return false;
	for (size_t i = WARDEN_FDS_MAX; i-- > 0;)
		fds[i] = opened & UINT32_C(1) << i ? fds[--n] : -1;
	return true;
}

int door_check(enum warden_door what, const struct warden_net *net, const int fds[WARDEN_FDS_MAX],
	struct err *err)
{
	bool is_good = what == WARDEN_DOOR_NET ? is_network(net, fds)
					       : is_door(what, fds[0]) && are_none(fds, 1);
	return is_good ? 0
		       : err_set(err, ERR_PROTOCOL, "door %d: the descriptor is of another kind",
				 (int)what);
}
