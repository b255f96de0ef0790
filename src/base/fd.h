/* File descriptors: owners that close, whole reads and writes, descriptors passed on sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

enum { FD_PASS_MAX = 16 };

void fd_close(int *fd);
#define cleanup_fd cleanup(fd_close)

/* Hand over a descriptor: the owner then closes nothing. */
int fd_take(int *fd);
#define take_fd(fd) fd_take(&(fd))

/*
 * Write all of @data, going on after signals and short writes.
 * Blocks:  as the descriptor does.
 * Returns: 0, or negative errno.
 */
int fd_write_all(int fd, const void *data, size_t bytes);

/*
 * Read at most @max bytes until end of file.
 * Returns: bytes read, -E2BIG when there is more than @max, or negative errno.
 */
ssize_t fd_read_all(int fd, void *out, size_t max_bytes);

/*
 * Open a file to read that somebody else may have put there, or put something else in its place. A
 * FIFO, a terminal, a lease: nothing makes it wait.
 * Returns: an owned descriptor of a regular file, close-on-exec; -EINVAL for what is none, or
 * negative errno.
 */
int fd_open_regular(const char *path);

/* Returns: 0, or negative errno. */
int fd_set_nonblock(int fd, bool on);

/*
 * Messages and descriptors on unix sockets. None of these calls waits, whatever the socket's flags
 * are: O_NONBLOCK belongs to the open file description, which a hostile peer may share. Who may
 * wait calls fd_wait() after -EAGAIN.
 */

/* Wait until poll(2) has something to tell of @events. Returns: 0, or negative errno. */
int fd_wait(int fd, short events);

/*
 * From now on a peer that sends descriptors to @sock is refused by the kernel (Linux 6.16; before,
 * the kernel closes them while we receive, and the syscall filter sees to it that this never
 * waits).
 */
void fd_refuse_passed(int sock);

/*
 * Send one message with up to FD_PASS_MAX descriptors on a unix socket.
 * Owns:    nothing; the caller still owns @fds.
 * Returns: bytes sent, or negative errno (-EAGAIN when the socket is full).
 */
ssize_t fd_send(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/* The same, but waits where that one answers -EAGAIN: for the warden, whose engine never waits for
 * it, and for clients. */
ssize_t fd_send_waiting(int sock, const void *data, size_t bytes, const int *fds, size_t n_fds);

/*
 * Receive one message. Descriptors are close-on-exec and owned by the caller; those beyond
 * @max_fds are closed, and a message cut short by @max is an error. With NULL for @fds descriptors
 * are refused.
 * Returns: bytes received (0 at end of stream), -EAGAIN, -EMSGSIZE, -EMFILE (@out has the message,
 * whose descriptors found no room and are gone), -EPROTO (refused: likewise), or negative errno.
 */
ssize_t fd_recv(int sock, void *out, size_t max_bytes, int *fds, size_t max_fds, size_t *n_fds);
