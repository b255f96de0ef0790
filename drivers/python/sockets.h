/*
 * Recreates pipes and sockets of a process in its branches. A branch gets new ones, with their
 * unread data, for those that have both ends in the process, listen, or are not connected; so event
 * loops continue to work. A connection to another process or to the engine cannot be recreated.
 * libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Before the clone, when no process of the box runs code: find the pairs of connected descriptors.
 * The kernel does not tell which socket is the peer of which, so a probe byte is sent and removed
 * again. @own: descriptors to the engine, which are skipped.
 */
void sockets_find(const int *own, size_t n_own);

/*
 * In a branch: create the replacement of @fd, whose status is @st. Returns: a new descriptor, or -1
 * if @fd cannot be replaced.
 */
int sockets_renew(int fd, const struct stat *st);

/* In a branch: return the number of sockets that were created without their unread datagrams. */
unsigned sockets_dropped(void);

/* Is the pipe or socket @fd without a peer and without unread data? False for other files. */
bool sockets_is_over(int fd, const struct stat *st);

/* Is @fd a new descriptor that sockets_renew() keeps open until sockets_done()? */
bool sockets_has(int fd);

void sockets_done(void);
