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

/* A TCP socket that was never bound or connected, of another network namespace. */
static bool is_socket(int fd, int family)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof peer;
	return has_option(fd, SO_DOMAIN, family) && has_option(fd, SO_TYPE, SOCK_STREAM) &&
		has_option(fd, SO_PROTOCOL, IPPROTO_TCP) && has_option(fd, SO_ACCEPTCONN, 0) &&
		getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 && errno == ENOTCONN &&
		has_flags(fd, O_RDWR | O_NONBLOCK) && !is_of_this_network(fd);
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
		return is_socket(fd, AF_INET);
	case WARDEN_DOOR_SOCKET6:
		return is_socket(fd, AF_INET6);
	case WARDEN_DOOR_LISTENERS:
	case WARDEN_DOOR_LISTENERS6:
		return is_proc_file(fd);
	case WARDEN_DOOR_END_:
		break;
	}
	return false;
}

int door_check(enum warden_door what, int fd, struct err *err)
{
	return is_door(what, fd) ? 0
				 : err_set(err, ERR_PROTOCOL,
					   "door %d: the descriptor is of another kind", (int)what);
}
