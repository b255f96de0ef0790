/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/notify.h"

#include "base/fd.h"
#include "base/num.h"
#include "base/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, SOCKETS_MAX = 64 };

/* Parse an environment variable as a number. Returns: the number; 0 if it is unset or invalid. */
static uint64_t number(const char *name)
{
	uint64_t n = 0;
	struct err err;
	const char *text = getenv(name);
	return text && num_parse_count(text, NUM_ANY, &n, &err) == 0 ? n : 0;
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t bytes = sizeof value;
	return getsockopt(fd, SOL_SOCKET, name, &value, &bytes) < 0 ? -1 : value;
}

static int take(struct notify_sockets *out, int fd, struct err *err)
{
	int family = option(fd, SO_DOMAIN);
	bool is_listening = option(fd, SO_TYPE) == SOCK_STREAM && option(fd, SO_ACCEPTCONN) == 1;
	bool is_inet = family == AF_INET || family == AF_INET6;
	if (is_listening && is_inet && out->n_inet < NOTIFY_SOCKETS_MAX) {
		out->inet_fd[out->n_inet++] = fd;
	} else if (is_listening && family == AF_UNIX && out->unix_fd < 0) {
		out->unix_fd = fd;
	} else {
		return err_fail(err, ERR_USAGE,
			"one unix socket, and TCP sockets: ListenStream=, Accept=no",
			"descriptor %d of LISTEN_FDS", fd);
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)fd_set_nonblock(fd, true);
	return 0;
}

int notify_take_sockets(struct notify_sockets *out, struct err *err)
{
	int r = 0;
	*out = (struct notify_sockets){.unix_fd = -1};
	uint64_t n = number("LISTEN_PID") == (uint64_t)getpid() ? number("LISTEN_FDS") : 0;
	for (uint64_t i = 0; r == 0 && i < MIN(n, (uint64_t)SOCKETS_MAX); i++)
		r = take(out, FIRST_FD + (int)i, err);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return r;
}

void notify_send(const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t bytes = path ? strlen(path) : 0;
	if (bytes < 2 || bytes >= sizeof address.sun_path || !strchr("/@", path[0]))
		return;
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path, path, bytes);
	/* A leading "@" stands for the NUL byte of an abstract address. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes));
}

static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	notify_send("WATCHDOG=1");
}

void notify_watchdog_start(struct notify_watchdog *w, uv_loop_t *loop)
{
	uint64_t each_ms = number("WATCHDOG_USEC") / 2000;
	const char *pid = getenv("WATCHDOG_PID");
	if (each_ms == 0 || (pid && number("WATCHDOG_PID") != (uint64_t)getpid()))
		return;
	(void)uv_timer_init(loop, &w->timer);
	timer_start(&w->timer, on_watchdog, 0, each_ms);
	w->is_on = true;
}

void notify_watchdog_stop(struct notify_watchdog *w)
{
	if (w->is_on)
		uv_close((uv_handle_t *)&w->timer, NULL);
	w->is_on = false;
}
