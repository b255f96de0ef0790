/* File descriptors: automatic closing, whole reads and writes, descriptors passed on sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

enum { FD_PASS_MAX = 16 };

void fd_close(int *fd);
#define cleanup_fd cleanup(fd_close)

/* Move a descriptor out of its variable, whose cleanup then closes nothing. */
int fd_take(int *fd);
#define take_fd(fd) fd_take(&(fd))

/*
 * Write all of @data; continue after signals and short writes.
 * Blocks: as the descriptor does.
 * Returns: 0, or negative errno.
 */
int fd_write_all(int fd, const void *data, size_t bytes);

/*
 * Read until end of file, at most @max_bytes.
 * Returns: bytes read, -E2BIG when there is more, or negative errno.
 */
ssize_t fd_read_all(int fd, void *out, size_t max_bytes);

/*
 * Open for reading a file that an outsider may have made or replaced. Never blocks, even on a FIFO,
 * a terminal or a lease.
 * Returns: an owned, close-on-exec descriptor of a regular file; -EINVAL for another kind of file;
 * or another negative errno.
 */
int fd_open_regular(const char *path);

/* Returns: 0, or negative errno. */
int fd_set_nonblock(int fd, bool on);

/* Messages and descriptors on unix sockets. fd_send() and fd_recv() never block, even without
 * O_NONBLOCK: that flag belongs to the open file description, which a hostile peer may share. A
 * caller that may wait calls fd_wait() after -EAGAIN. */

/* Wait until poll(2) reports one of @events. Returns: 0, or negative errno. */
int fd_wait(int fd, short events);

/* Make the kernel refuse descriptors that a peer sends to @sock (Linux 6.16). An older kernel
 * closes these descriptors while we receive; the syscall filter ensures that this never blocks. */
void fd_refuse_passed(int sock);

/*
 * Send one message with up to FD_PASS_MAX descriptors on a unix socket.
 * Owns:    nothing; the caller still owns @fds.
 * Returns: bytes sent, or negative errno (-EAGAIN when the socket is full).
 */
ssize_t fd_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/* Send like fd_send(), but wait instead of returning -EAGAIN: for clients, and for the warden,
 * since the engine never waits for the warden. */
ssize_t fd_send_waiting(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/*
 * Receive one message. Descriptors are close-on-exec and owned by the caller. Descriptors beyond
 * @max_fds are closed; a message longer than @max_bytes is an error. With NULL for @fds descriptors
 * are refused.
 * Returns: bytes received (0 at end of stream), -EAGAIN, -EMSGSIZE, -EMFILE (@out has the message,
 * but its descriptors are lost because our limit is reached), -EPROTO (descriptors were refused,
 * @out has the message), or another negative errno.
 */
ssize_t fd_recv(int sock, void *out, size_t max_bytes, int *fds, size_t max_fds, size_t *n_fds);
