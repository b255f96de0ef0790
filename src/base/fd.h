/* File descriptors: automatic closing, complete reads and writes, passing of descriptors over
 * sockets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

enum { FD_PASS_MAX = 16 };

void fd_close(int *fd);
#define cleanup_fd cleanup(fd_close)

/* Return the descriptor in *@fd and set *@fd to -1, so that its cleanup attribute closes
 * nothing. */
int fd_take(int *fd);
#define take_fd(fd) fd_take(&(fd))

/* Close the open file of @fd, but keep the number taken, by opening /dev/null in its place. While a
 * uv_poll_t exists for @fd, the number must not be used for another file: when libuv closes the
 * poll, it would stop watching that file. Source: uv__poll_stop() of libuv. */
void fd_vacate(int fd);

/*
 * Close every descriptor of this process except 0, 1, 2 and the @n in @kept, which may contain -1.
 * The order of @kept changes.
 * Returns: 0, or negative errno.
 */
int fd_close_others(int *kept, size_t n);

/*
 * Write all of @data. After a signal or a short write, go on with the rest.
 * Blocks: unless @fd is non-blocking.
 * Returns: 0, or negative errno.
 */
int fd_write_all(int fd, const void *data, size_t bytes);

/*
 * Read until end of file, at most @max_bytes.
 * Returns: the number of bytes read; -E2BIG when there is more; or negative errno.
 */
ssize_t fd_read_all(int fd, void *out, size_t max_bytes);

/*
 * Open @path for reading. An outsider may have made or replaced the file. Never blocks, even if the
 * file is a FIFO or a terminal, or has a lease.
 * Returns: an owned, close-on-exec descriptor of a regular file; -EINVAL for another kind of file;
 * or another negative errno.
 */
int fd_open_regular(const char *path);

/* Returns: 0, or negative errno. */
int fd_set_nonblock(int fd, bool on);

/* Return whether the socket @fd is connected to itself. Within one host this can happen if nothing
 * listens, and the kernel gives the socket the very port that it connects to. */
bool fd_is_own_peer(int fd);

/* Messages and descriptors on unix sockets. fd_send() and fd_recv() never block. They do not
 * rely on O_NONBLOCK: the flag belongs to the open file description, so a hostile process that
 * shares the description could clear it. A caller that wants to wait calls fd_wait() after
 * -EAGAIN. */

/* Wait until poll(2) reports one of @events, or until a signal. Returns: 0, or negative errno. */
int fd_wait(int fd, short events);

/*
 * Make the kernel refuse descriptors that a peer sends to @sock. A kernel before Linux 6.16 cannot
 * refuse them; it discards them when the caller of fd_recv() passes no @fds.
 * Discarding descriptors does not block. It could block only if one of them were a socket with
 * SO_LINGER, and the syscall filter of a box does not let programs set that option.
 */
void fd_refuse_passed(int sock);

/*
 * Send one message with up to FD_PASS_MAX descriptors on a unix socket.
 * Owns:    nothing; the caller still owns @fds.
 * Returns: the number of bytes sent; or negative errno, -EAGAIN when the socket is full.
 */
ssize_t fd_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/* Send like fd_send(), but wait while the socket is full. Clients and the warden may call this,
 * since the engine never waits for them: no two processes can wait for each other. */
ssize_t fd_send_waiting(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/*
 * Receive one message and up to @max_fds descriptors. The caller owns the descriptors, which are
 * close-on-exec. Descriptors beyond @max_fds are closed. If @fds is NULL, a message must not have
 * descriptors.
 * Returns: the number of bytes received, 0 at the end of the stream;
 * -EAGAIN if no message has arrived;
 * -EMSGSIZE if the message is longer than @max_bytes, or has more than FD_PASS_MAX descriptors;
 * -EMFILE if this process has too many descriptors (@out has the message, but its descriptors are
 * lost);
 * -EPROTO if @fds is NULL and the message had descriptors (@out has the message);
 * or another negative errno.
 */
ssize_t fd_recv(int sock, void *out, size_t max_bytes, int *fds, size_t max_fds, size_t *n_fds);
