/*
 * Pipes and sockets of a process that is branched. Each branch gets new ones for those that have
 * both ends in the process, listen, or are not connected, including the data not read yet; so
 * event loops continue to work. A connection to another process or to the engine cannot be
 * copied. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Before the clone, when no process of the box runs code: find which descriptors belong together.
 * The kernel does not tell which socket is the peer of which, so a probe byte is sent and taken
 * out again. @own: descriptors that lead to the engine, which are left alone.
 */
void sockets_find(const int *own, size_t n_own);

/*
 * In a branch: create the replacement of @fd, whose status is @st. Returns: a new descriptor, or
 * -1 when it has no counterpart here.
 */
int sockets_renew(int fd, const struct stat *st);

/* In a branch: the number of sockets that were created without their unread datagrams. */
unsigned sockets_dropped(void);

/* Is the pipe or socket @fd without a peer and without unread data? For other files: false. */
bool sockets_is_over(int fd, const struct stat *st);

/* Is @fd one of those that sockets_renew() keeps open until sockets_done()? */
bool sockets_has(int fd);

void sockets_done(void);
