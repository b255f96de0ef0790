/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/socket.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/netns.h"
#include "base/timer.h"
#include "serve/connection.h"
#include "serve/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, ACCEPTS_MAX = 16, CHECK_MS = 500, LOCK_TRIES = 50, LOCK_WAIT_US = 20000 };

struct socket_server {
	uv_loop_t *loop;
	const struct operation_context *context;
	struct sockaddr_un address;
	struct stat made; /* identity of our socket file, to recognize it before unlinking */
	int fd;
	uv_poll_t poll;
	uv_timer_t timer;
	int n_handles;
	struct connection *clients[SOCKET_CLIENTS_MAX];
	size_t n_clients;
	bool is_draining, is_closing;
	void (*closed)(void *arg);
	void *arg;
};

/* ---- creating the listening socket ---- */

static int check_path(const char *path, struct sockaddr_un *address, struct err *err)
{
	size_t bytes = strlen(path);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (bytes == 0 || bytes >= sizeof address->sun_path)
		return err_fail(err, ERR_USAGE,
			"choose a shorter --socket, or a shorter XDG_RUNTIME_DIR",
			"socket path of %zu bytes, limit %zu: %.100s", bytes,
			sizeof address->sun_path - 1, path);
	memcpy(address->sun_path, path, bytes);
	return 0;
}

/* Lock the directory of the socket, so that two engines cannot replace the socket file at the same
 * time. Returns: the descriptor that holds the lock, or negative errno. */
static int lock_directory(const char *path, struct err *err)
{
	char copy[PATH_MAX];
	snprintf(copy, sizeof copy, "%s", path);
	cleanup_fd int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int sys = errno;
		int r = err_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, sys,
			"directory of the socket %s", path);
		return err_hint(err, "make the directory, or choose another --socket"), r;
	}
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(fd);
		(void)usleep(LOCK_WAIT_US);
	}
	return err_fail(err, ERR_LIMIT, "another engine is starting there: try again",
		"the directory of the socket %s is locked", path);
}

/* Remove the socket file at the path, if no process listens on it. Errors: ERR_LIMIT if an engine
 * listens there. */
static int clear_path(const struct sockaddr_un *address, struct err *err)
{
	const char *path = address->sun_path;
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, ERR_ACCESS, errno, "socket %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_fail(err, ERR_USAGE, "remove it, or choose another --socket",
			"%s exists and is not a socket", path);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, ERR_IO, errno, "socket");
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN)
		return err_fail(err, ERR_LIMIT, "use that one, or choose another --socket",
			"an engine listens at %s already", path);
	if (errno != ECONNREFUSED)
		return err_sys(err, ERR_ACCESS, errno, "socket %s", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(err, ERR_ACCESS, errno, "replace the socket %s", path);
	return 0;
}

static int bind_here(struct socket_server *s, struct err *err)
{
	const char *path = s->address.sun_path;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_sys(err, ERR_IO, errno, "socket");
	/* Set the mode before bind(), not after it, so that there is no moment in which other users
	 * can connect. */
	mode_t before = umask(0177);
	int r = bind(s->fd, (const struct sockaddr *)&s->address, sizeof s->address);
	int sys = errno;
	(void)umask(before);
	if (r < 0) {
		r = err_sys(err, ERR_ACCESS, sys, "socket %s", path);
		return err_hint(err, "choose a --socket in a directory that you may write to"), r;
	}
	if (lstat(path, &s->made) < 0 || listen(s->fd, BACKLOG) < 0)
		return err_sys(err, ERR_IO, errno, "socket %s", path);
	return 0;
}

/* ---- accepting clients ---- */

static void watch(struct socket_server *s);

static void on_client_closed(void *arg, struct connection *c)
{
	struct socket_server *s = arg;
	for (size_t i = 0; i < s->n_clients; i++)
		if (s->clients[i] == c) {
			s->clients[i] = s->clients[--s->n_clients];
			break;
		}
	if (!s->is_closing)
		watch(s);
	else if (s->n_clients == 0 && s->n_handles == 0) {
		s->closed(s->arg);
		free(s);
	}
}

/* Return whether the client may call: a process of this user, but not a program of a box, which can
 * see the socket in a directory of the host that the box shows. */
static int check_client(const struct socket_server *s, int fd, struct err *err)
{
	struct ucred peer;
	socklen_t bytes = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return err_sys(err, ERR_ACCESS, errno, "credentials of a client");
	if (peer.uid != geteuid())
		return err_fail(err, ERR_ACCESS, "start an engine of your own: retort serve",
			"this engine serves uid %u, not %u", (unsigned)geteuid(),
			(unsigned)peer.uid);
	/* Every box has a network namespace of its own. A process can be gone, and its number
	 * taken, before we look at it; its network namespace stays known. */
	return netns_is_same(fd, s->fd)
		? 0
		: err_fail(err, ERR_ACCESS,
			  "connect outside of the box or container, or over HTTP: retort serve "
			  "--listen",
			  "this engine serves no client in another network namespace");
}

static void refuse(int fd, const struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(1 << 12);
	if (rpc_put_error(&line, NULL, 0, err) == 0)
		(void)send(fd, line.data, line.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_client(struct socket_server *s, int taken)
{
	cleanup_fd int fd = taken;
	struct err err;
	const struct connection_config config = {
		.loop = s->loop, .context = s->context, .arg = s, .closed = on_client_closed};
	if (check_client(s, fd, &err) < 0) {
		refuse(fd, &err);
		return;
	}
	struct connection *c = connection_open(take_fd(fd), &config);
	if (c)
		s->clients[s->n_clients++] = c;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct socket_server *s = poll->data;
	(void)status;
	(void)events;
	/* Not until none waits: a box that connects without end would keep the loop here. */
	for (int i = 0; i < ACCEPTS_MAX && s->n_clients < SOCKET_CLIENTS_MAX; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
			/* The process may have run out of file descriptors. Stop watching, and let
			 * on_timer() try again. */
			(void)uv_poll_stop(&s->poll);
			return;
		}
		if (fd < 0)
			break;
		take_client(s, fd);
	}
	watch(s);
}

static void watch(struct socket_server *s)
{
	if (s->n_clients < SOCKET_CLIENTS_MAX && !s->is_draining)
		(void)uv_poll_start(&s->poll, UV_READABLE, on_poll);
	else
		(void)uv_poll_stop(&s->poll);
}

static void on_timer(uv_timer_t *timer)
{
	struct socket_server *s = timer->data;
	for (size_t i = 0; i < s->n_clients; i++)
		connection_check(s->clients[i]);
	watch(s);
}

/* ---- opening and closing the server ---- */

static int prepare(struct socket_server *s, const char *path, struct err *err)
{
	int r = check_path(path, &s->address, err);
	if (r < 0)
		return r;
	cleanup_fd int lock = lock_directory(path, err);
	if (lock < 0)
		return lock;
	r = clear_path(&s->address, err);
	return r < 0 ? r : bind_here(s, err);
}

/* Allocate a server that does not listen yet. */
static struct socket_server *make(uv_loop_t *loop, const struct operation_context *context)
{
	struct socket_server *s = xnew(struct socket_server);
	s->loop = loop;
	s->context = context;
	s->fd = -1;
	return s;
}

/* Start to watch the listening socket, and start the timer. */
static int start(struct socket_server *s, struct err *err)
{
	int r = uv_poll_init(s->loop, &s->poll, s->fd);
	if (r < 0)
		return err_sys(err, ERR_INTERNAL, -r, "watch the socket");
	s->n_handles = 2;
	(void)uv_timer_init(s->loop, &s->timer);
	s->poll.data = s->timer.data = s;
	timer_start(&s->timer, on_timer, CHECK_MS, CHECK_MS);
	watch(s);
	return 0;
}

int socket_open(struct socket_server **out, uv_loop_t *loop, const char *path,
	const struct operation_context *context, struct err *err)
{
	*out = NULL;
	struct socket_server *s = make(loop, context);
	int r = prepare(s, path, err);
	if (r == 0)
		r = start(s, err);
	if (r < 0) {
		fd_close(&s->fd);
		free(s);
		return r;
	}
	*out = s;
	return 0;
}

int socket_adopt(struct socket_server **out, uv_loop_t *loop, int taken,
	const struct operation_context *context, struct err *err)
{
	cleanup_fd int fd = taken;
	*out = NULL;
	struct socket_server *s = make(loop, context);
	s->fd = fd;
	int r = start(s, err);
	if (r < 0) {
		free(s);
		return r;
	}
	(void)take_fd(fd);
	*out = s;
	return 0;
}

void socket_drain(struct socket_server *s)
{
	s->is_draining = true;
	watch(s);
	for (size_t i = 0; i < s->n_clients; i++)
		connection_drain(s->clients[i]);
}

unsigned socket_n_running(const struct socket_server *s)
{
	unsigned n = 0;
	for (size_t i = 0; i < s->n_clients; i++)
		n += connection_n_running(s->clients[i]);
	return n;
}

void socket_interrupt(struct socket_server *s)
{
	for (size_t i = 0; i < s->n_clients; i++)
		connection_interrupt(s->clients[i]);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct socket_server *s = handle->data;
	if (--s->n_handles > 0 || s->n_clients > 0)
		return;
	s->closed(s->arg);
	free(s);
}

void socket_close(struct socket_server *s, void (*closed)(void *arg), void *arg)
{
	struct stat now;
	s->is_closing = true;
	s->closed = closed;
	s->arg = arg;
	if (s->address.sun_path[0] && lstat(s->address.sun_path, &now) == 0 &&
		now.st_dev == s->made.st_dev && now.st_ino == s->made.st_ino)
		(void)unlink(s->address.sun_path);
	uv_close((uv_handle_t *)&s->poll, on_handle_closed);
	uv_close((uv_handle_t *)&s->timer, on_handle_closed);
	fd_close(&s->fd);
	for (size_t i = 0; i < s->n_clients; i++)
		connection_close(s->clients[i]);
}
